"""The daemon's process: the supervisor over Unix sockets, and a process for each worker.

One daemon serves a home: it holds a lock that dies with it, so a socket that is there when the lock is free was left
behind, and is replaced, and so are those of workers. Sockets are made with mode 0600. A termination signal ends it
cleanly: no new clients and no new requests, the workers' inputs are closed, each does what it was asked and ends, or is
killed after `STOP_S` seconds; what was answered is sent, and the sockets are removed.

This file moves bytes: what is done with them the `Supervisor` says.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from eukhe.daemon import chores
from eukhe.daemon.background import Jobs, keep_archive, tell
from eukhe.daemon.errors import DaemonRunning
from eukhe.daemon.places import (
    check_socket,
    exists,
    lock_of,
    private_sockets,
    socket_of,
    worker_socket_of,
    workers_of,
)
from eukhe.daemon.protocol import (
    MESSAGE_BYTES_MAX,
    REPLY_BYTES_MAX,
    Refused,
    Reply,
    decode_reply,
    decode_request,
    encode,
    fault,
)
from eukhe.daemon.supervisor import (
    REQUESTS_MAX,
    Effect,
    EndWorker,
    Housework,
    StartWorker,
    Supervisor,
    ToClient,
    ToWorker,
)

STOP_S = 10.0
LAST_WORDS_S = 1.0
"""How long a client may take to read what was answered before the end."""


class _Client:
    """One connection's way out: what waits to be sent, and a task that sends it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        writer.transport.set_write_buffer_limits(high=0)
        self.waiting: list[bytes] = []
        self.more = asyncio.Event()
        self.sent = asyncio.Event()

    def send(self, line: bytes) -> None:
        """Put a line behind the others; never waits."""
        self.waiting.append(line)
        self.sent.clear()
        self.more.set()


class Daemon:
    """The running daemon of a home."""

    def __init__(self, home: str) -> None:
        self.home = home
        self._supervisor = Supervisor(partial(exists, home))
        self._clients: dict[int, _Client] = {}
        self._workers: dict[int, asyncio.subprocess.Process] = {}
        self._ending: set[int] = set()
        """Workers that are to end when they have done what they were asked."""
        self._unsent: dict[int, list[bytes]] = {}
        """Requests to workers, which go out together at the end of the loop's turn, or once the process is there."""
        self._tasks: set[asyncio.Task[None]] = set()
        """Workers and housework, which an end waits for."""
        self._encoded: tuple[Reply, bytes] | None = None
        """The last frame and its line: it may go to many."""
        self._next_client = 1
        self._stopping = asyncio.Event()

    async def serve(self, ready: Callable[[], None]) -> None:
        """Serve until a signal comes. `ready` is called once clients can connect."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stopping.set)
        path = socket_of(self.home)
        _remove_left_behind(self.home)
        with private_sockets():
            server = await asyncio.start_unix_server(self._serve_client, path, limit=MESSAGE_BYTES_MAX)
        archive = asyncio.create_task(keep_archive(self.home, self._stopping))
        jobs = Jobs(self.home)
        jobs.start()
        try:
            ready()
            await self._stopping.wait()
        finally:
            server.close()
            ending = asyncio.create_task(asyncio.to_thread(jobs.end, STOP_S))
            await self._stop()
            await ending
            await archive
            _remove_left_behind(self.home)

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        number, self._next_client = self._next_client, self._next_client + 1
        client = self._clients[number] = _Client(writer)
        self._supervisor.connected(number)
        sender = asyncio.create_task(self._send_to(number, client))
        try:
            while line := await reader.readline():
                if len(client.waiting) > REQUESTS_MAX:
                    # Who reads no answers is not listened to.
                    await client.sent.wait()
                try:
                    if not line.endswith(b"\n"):
                        break
                    self._carry_out(self._supervisor.received(number, decode_request(line)))
                except Refused as refused:
                    client.send(encode(fault(None, refused)))
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
                    client.writer.writelines(sending)
                    await client.writer.drain()
                client.sent.set()
                self._carry_out(self._supervisor.drained(number))
        except ConnectionError:
            pass

    def _carry_out(self, effects: list[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, ToClient):
                if effect.connection in self._clients:
                    self._clients[effect.connection].send(self._line(effect.message))
            elif isinstance(effect, ToWorker):
                self._tell(effect.worker, encode(effect.message))
            elif isinstance(effect, StartWorker):
                self._unsent[effect.worker] = []
                self._keep(asyncio.create_task(self._run_worker(effect.worker, effect.session)))
            elif isinstance(effect, EndWorker):
                self._ending.add(effect.worker)
                self._end_input(effect.worker)
            else:
                self._keep(asyncio.create_task(self._keep_house(effect)))

    def _line(self, message: Reply) -> bytes:
        if self._encoded is None or self._encoded[0] is not message:
            self._encoded = (message, encode(message))
        return self._encoded[1]

    async def _keep_house(self, work: Housework) -> None:
        answer = await asyncio.to_thread(chores.do, self.home, work.request, tell)
        self._carry_out(self._supervisor.done(answer))

    def _end_input(self, worker: int) -> None:
        self._pass_on(worker)
        if worker in self._workers:
            stdin = self._workers[worker].stdin
            assert stdin is not None
            stdin.close()

    def _tell(self, worker: int, line: bytes) -> None:
        waiting = self._unsent[worker]
        waiting.append(line)
        if len(waiting) == 1:
            asyncio.get_running_loop().call_soon(self._pass_on, worker)

    def _pass_on(self, worker: int) -> None:
        if worker in self._workers:
            stdin = self._workers[worker].stdin
            assert stdin is not None
            stdin.writelines(self._unsent[worker])
            self._unsent[worker].clear()

    async def _run_worker(self, worker: int, session: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "eukhe.daemon.working", self.home, session, str(worker),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=REPLY_BYTES_MAX,
            )  # fmt: skip
        except OSError as error:
            tell(f"{session}: no worker could be started: {error}")
            self._unsent.pop(worker)
            self._carry_out(self._supervisor.worker_exited(worker))
            return
        assert process.stdin is not None and process.stdout is not None
        self._workers[worker] = process
        self._pass_on(worker)
        if worker in self._ending or self._stopping.is_set():
            process.stdin.close()
        try:
            while line := await process.stdout.readline():
                if line.endswith(b"\n"):
                    self._carry_out(self._supervisor.worker_said(worker, decode_reply(line)))
        except (Refused, ValueError, ConnectionError) as error:
            tell(f"{session}: its worker said what cannot be read: {error}")
            process.kill()
        process.stdin.close()
        code = await process.wait()
        del self._workers[worker], self._unsent[worker]
        if code and not self._stopping.is_set():
            tell(f"{session}: its worker ended with {code}")
        self._ending.discard(worker)
        with suppress(FileNotFoundError):
            os.unlink(worker_socket_of(self.home, worker))
        self._carry_out(self._supervisor.worker_exited(worker))

    async def _stop(self) -> None:
        self._supervisor.stop()
        for worker in self._workers:
            self._end_input(worker)
        deadline = asyncio.get_running_loop().time() + STOP_S
        while self._tasks:
            left = deadline - asyncio.get_running_loop().time()
            _, late = await asyncio.wait(self._tasks, timeout=max(0.0, left))
            if late and left <= 0:
                for process in self._workers.values():
                    process.kill()
                await asyncio.wait(late)
        sent = [asyncio.create_task(client.sent.wait()) for client in self._clients.values() if client.waiting]
        if sent:
            _, late_words = await asyncio.wait(sent, timeout=LAST_WORDS_S)
            for task in late_words:
                task.cancel()
        for client in self._clients.values():
            client.writer.close()

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def serve(home: str, ready: Callable[[], None]) -> None:
    """Be the daemon of a home until a termination signal. Raises `DaemonRunning`, `HomeTooLong`, and `OSError` of the
    home and its sockets."""
    check_socket(socket_of(home))
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


def _remove_left_behind(home: str) -> None:
    """Sockets of a daemon that is no more, and of its workers. Called by who holds the lock."""
    os.makedirs(workers_of(home), mode=0o700, exist_ok=True)
    left = [entry.path for entry in os.scandir(workers_of(home)) if entry.name.endswith(".sock")]
    for path in (socket_of(home), *left):
        with suppress(FileNotFoundError):
            os.unlink(path)
