"""The daemon's process: the supervisor over Unix sockets, and a process for each worker.

One daemon serves a home: it holds a lock that dies with it, so a socket that is there when the lock is free was left
behind, and is replaced. The socket is made with mode 0600. A termination signal ends it cleanly: no new clients, the
workers' inputs are closed, each ends by itself or is killed after `STOP_S` seconds, and the socket is removed.

This file moves bytes: what is done with them the `Supervisor` says.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import Callable
from functools import partial

from eukhe.daemon.errors import DaemonRunning
from eukhe.daemon.places import exists, lock_of, socket_of
from eukhe.daemon.protocol import MESSAGE_BYTES_MAX, Refused, Reply, decode_reply, decode_request, encode, fault
from eukhe.daemon.supervisor import Effect, StartWorker, Supervisor, ToClient

STOP_S = 10.0


class _Client:
    """One connection's way out: what waits to be sent, and a task that sends it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.waiting: list[Reply] = []
        self.more = asyncio.Event()

    def send(self, message: Reply) -> None:
        """Put a message behind the others; never waits."""
        self.waiting.append(message)
        self.more.set()


class Daemon:
    """The running daemon of a home."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._supervisor = Supervisor(partial(exists, home))
        self._clients: dict[int, _Client] = {}
        self._workers: dict[int, asyncio.subprocess.Process] = {}
        self._unsent: dict[int, list[bytes]] = {}
        """Requests to workers whose processes are being started."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._next_client = 1
        self._stopping = asyncio.Event()

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serve until a signal comes. `ready` is called once clients can connect."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        path = socket_of(self.home)
        if os.path.lexists(path):
            os.unlink(path)
        before = os.umask(0o177)
        try:
            server = await asyncio.start_unix_server(self._serve_client, path, limit=MESSAGE_BYTES_MAX)
        finally:
            os.umask(before)
        try:
            ready()
            await self._stopping.wait()
        finally:
            server.close()
            await self._stop()
            os.unlink(path)

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._next_client = self._next_client, self._next_client + 1
        client = self._clients[number] = _Client(writer)
        self._supervisor.connected(number)
        sender = asyncio.create_task(self._send_to(number, client))
        try:
            while line := await reader.readline():
                try:
                    if not line.endswith(b"\n"):
                        break
                    self._carry_out(self._supervisor.received(number, decode_request(line)))
                except Refused as refused:
                    client.send(fault(None, refused))
        except (ConnectionError, ValueError, asyncio.CancelledError):
            pass
        finally:
            del self._clients[number]
            self._supervisor.closed(number)
            sender.cancel()
            writer.close()

    async def _send_to(self, number: int, client: _Client) -> None:
        try:
            while True:
                await client.more.wait()
                client.more.clear()
                while client.waiting:
                    sending, client.waiting = client.waiting, []
                    for message in sending:
                        client.writer.write(encode(message))
                        await client.writer.drain()
                self._carry_out(self._supervisor.drained(number))
        except ConnectionError:
            pass

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, ToClient):
                if effect.connection in self._clients:
                    self._clients[effect.connection].send(effect.message)
            elif isinstance(effect, StartWorker):
                self._unsent[effect.worker] = []
                self._keep(asyncio.create_task(self._run_worker(effect.worker, effect.session)))
            else:
                self._tell(effect.worker, encode(effect.message))

    def _tell(self, worker: int, line: bytes) -> None:
        if worker in self._unsent:
            self._unsent[worker].append(line)
        elif worker in self._workers:
            stdin = self._workers[worker].stdin
            assert stdin is not None
            stdin.write(line)

    async def _run_worker(self, worker: int, session: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "eukhe.daemon.working", self.home, session,
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=MESSAGE_BYTES_MAX,
            )  # fmt: skip
        except OSError as error:
            print(f"eukhe: {session}: no worker could be started: {error}", file=sys.stderr, flush=True)
            self._unsent.pop(worker)
            self._carry_out(self._supervisor.worker_exited(worker))
            return
        assert process.stdin is not None and process.stdout is not None
        self._workers[worker] = process
        for line in self._unsent.pop(worker):
            process.stdin.write(line)
        if self._stopping.is_set():
            process.stdin.close()
        try:
            while line := await process.stdout.readline():
                if line.endswith(b"\n"):
                    self._carry_out(self._supervisor.worker_said(worker, decode_reply(line)))
        except (Refused, ValueError, ConnectionError) as error:
            print(f"eukhe: {session}: its worker said what cannot be read: {error}", file=sys.stderr, flush=True)
            process.kill()
        process.stdin.close()
        code = await process.wait()
        del self._workers[worker]
        if code and not self._stopping.is_set():
            print(f"eukhe: {session}: its worker ended with {code}", file=sys.stderr, flush=True)
        self._carry_out(self._supervisor.worker_exited(worker))

    async def _stop(self) -> None:
        for process in self._workers.values():
            assert process.stdin is not None
            process.stdin.close()
        if self._tasks:
            _, late = await asyncio.wait(self._tasks, timeout=STOP_S)
            for process in self._workers.values():
                process.kill()
            if late:
                await asyncio.wait(late)
        for client in self._clients.values():
            client.writer.close()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def serve(home: str, ready: Callable[[], None]) -> None:
    """Be the daemon of a home until a termination signal. Raises `DaemonRunning`, and `OSError` of the socket."""
    os.makedirs(home, mode=0o700, exist_ok=True)
    lock = os.open(lock_of(home), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise DaemonRunning(lock_of(home)) from None
        asyncio.run(_serve(home, ready))
    finally:
        os.close(lock)


async def _serve(home: str, ready: Callable[[], None]) -> None:
    await Daemon(home).serve(ready)
