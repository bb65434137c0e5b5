"""Kill -9 of real processes at random moments, on a real disk, judged by the laws that judge the simulated ones.

    python -m tests.kill9 DIR [--kills 200] [--seed N]

In each round three writers run at once: one commits to a storage, long bodies in sidecars among them; two hold one
session open, append to it and compact it. Each tells through a pipe what was acknowledged. Each is killed, in a random
order and at a random moment; then the storage and the session are opened for real and compared with the models: what
was acknowledged is there, and nothing that nobody tried. The next round goes on with what the killed ones left.

The moments are the seed's as far as they can be: after so many acknowledgements of its victim, and so many
microseconds. What the disk and the other processes make of that is not.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eukhe.epochs import Session, Torn, User, repair
from eukhe.storage import Storage
from scenarios.histories import Broken
from scenarios.laws import epochs, log
from scenarios.suites import epoch_model, log_model
from scenarios.suites.log_model import Changes
from scenarios.suites.storage_histories import Expected

ROUNDS_IN_ONE_PLACE = 12
LONG = 20_000
ACKS_MAX = 2
PAUSE_US = 3_000


def changes_of(number: int) -> Changes:
    """What commit `number` holds: each third has a body for a sidecar, of one of two conversations; each fifth a long
    line, which a kill may cut."""
    if number % 5 == 0:
        return [{"put": {"type": "task", "id": number, "conversation": 1, "body": f"{number}:" + "t" * 100_000}}]
    size = LONG + number % 97 if number % 3 == 0 else 40 + number % 200
    return log_model.entry(number, f"{number}:" + "é" * (size // 2), 1 + number % 2)


def commit_for_ever(place: str, tell: Callable[[str], None]) -> None:
    """A writer of the storage."""
    with Storage.open(f"{place}/sessions/one", home=place) as storage:
        tell(f"{storage.last_commit}")
        while True:
            number = storage.commit(changes_of(storage.last_commit + 1))
            tell(f"{number}")


def say_for_ever(place: str, tell: Callable[[str], None], name: str) -> None:
    """A writer of the session: some texts are long, and now and then it compacts. Where the other one was killed in
    the middle of a line it is told so, has written nothing, and opens again."""
    number = 0
    while True:
        with open_session(place) as session:
            try:
                while True:
                    text = f"{name}.{number + 1}." + "x" * (12_000 if number % 4 == 3 else 20)
                    session.append(User(text))
                    number += 1
                    tell(text.rstrip("x"))
                    if number % 5 == 3:
                        session.compact(f"by {name}", {"by": name})
            except Torn:
                continue


def open_session(place: str) -> Session:
    """A real open; a torn last line is cut first, and a compaction that stopped half-way is ended. Another writer may
    be killed in the middle of a line between the two: as often as that happens."""
    while True:
        try:
            session = Session.open(place, "one")
        except Torn:
            repair(f"{place}/epochs/one")
            continue
        try:
            session.resume_compaction()
        except Torn:
            session.close()
            continue
        return session


@dataclass
class Writer:
    """A forked process, and the end of the pipe on which it tells what was acknowledged."""

    pid: int
    pipe: int
    told: bytes = b""

    @property
    def acks(self) -> list[str]:
        """What was acknowledged so far, as far as it has been read."""
        return self.told.decode().split("\n")[:-1]

    def listen(self, count: int) -> None:
        """Until it has told so many acknowledgements or has ended."""
        while self.told.count(b"\n") < count and (piece := os.read(self.pipe, 1 << 16)):
            self.told += piece

    def kill(self) -> None:
        """Kill -9, and read what it had told. Raises `AssertionError` where it ended by itself."""
        os.kill(self.pid, signal.SIGKILL)
        _, status = os.waitpid(self.pid, 0)
        while piece := os.read(self.pipe, 1 << 16):
            self.told += piece
        os.close(self.pipe)
        assert os.WIFSIGNALED(status), f"a writer ended by itself: {self.acks[-1:]}"


def start(run: Callable[[Callable[[str], None]], None]) -> Writer:
    """Fork a writer."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(reading)
            run(lambda text: _write_all(writing, f"{text}\n".encode()))
        except BaseException as error:
            print(f"a writer: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        finally:
            os._exit(1)
    os.close(writing)
    return Writer(pid, reading)


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


@dataclass
class Experiment:
    """The rounds in one directory."""

    place: str
    draw: random.Random
    promised: int = 0
    said: list[str] = field(default_factory=list)
    kills: int = 0
    tails: int = 0

    def begin(self) -> None:
        """A new session, and no storage yet."""
        os.makedirs(self.place)
        Session.create(self.place, "one", {"by": "nobody"}).close()

    def round(self, number: int) -> None:
        """Three writers, three kills, and the laws."""
        writers = [
            start(lambda tell: commit_for_ever(self.place, tell)),
            start(lambda tell: say_for_ever(self.place, tell, f"a{number}")),
            start(lambda tell: say_for_ever(self.place, tell, f"b{number}")),
        ]
        order = self.draw.sample(writers, len(writers))
        for victim in order:
            victim.listen(self.draw.randrange(ACKS_MAX + 1))
            time.sleep(self.draw.randrange(PAUSE_US) / 1e6)
            victim.kill()
            self.kills += 1
        committed = [int(ack) for ack in writers[0].acks]
        self.promised = max([self.promised, *committed])
        self.said += [ack for writer in writers[1:] for ack in writer.acks]
        self.judge_log()
        self.judge_session()

    def judge_log(self) -> None:
        """What the storage holds, by the bytes and by a real open."""
        path = Path(self.place, "sessions", "one")
        raw = (path / "main.jsonl").read_bytes() if path.exists() and (path / "main.jsonl").exists() else b""
        self.tails += raw != log_model.complete(raw)
        sidecars = {file.name: file.read_bytes() for file in path.glob("c*.entries.jsonl")}
        lines = log_model.with_bodies(log_model.lines_of(raw), sidecars)
        try:
            with Storage.open(path, home=self.place) as storage:
                found = [commit.changes for commit in storage.commits]
        except Exception as error:
            raise Broken(log.LOG_OPENS_AFTER_CRASH, f"{type(error).__name__}: {error}") from error
        if found != lines:
            raise Broken(log.LOG_READS_LINES, log_model.differs_at(found, lines))
        Expected([changes_of(n + 1) for n in range(self.promised)], [changes_of(self.promised + 1)]).judge(found)
        for name, length in log_model.confirmed(raw).items():
            if (path / name).stat().st_size != length:
                raise Broken(log.LOG_OPEN_CUTS_THE_TORN_TAIL, f"{name} is not cut to the {length} bytes confirmed")
        self.promised = len(found)

    def judge_session(self) -> None:
        """What the session holds, by the bytes and by a real open."""
        files = self.files()
        self.tails += bool(epoch_model.torn(files))
        there = [text.rstrip("x") for text in epoch_model.texts(files)]
        lost = [text for text in self.said if text not in set(there)]
        if lost or len(set(there)) != len(there):
            raise Broken(epochs.EPOCH_ACKED_SURVIVE, f"lost {lost}, and {len(there)} of {len(set(there))} are there")
        try:
            session = open_session(self.place)
        except Exception as error:
            raise Broken(epochs.EPOCH_HALF_COMPACTION, f"{type(error).__name__}: {error}") from error
        with session:
            model = epoch_model.read(self.files())
            found = session.epoch, session.carry, session.baseline, session.turns, len(session.records)
            if found != (model.epoch, model.carry, model.baseline, model.turns, len(model.lines)):
                raise Broken(epochs.EPOCH_COUNTS_SPAN, f"opened as {found}, and the files say {model}")

    def files(self) -> epoch_model.Files:
        """The session's files."""
        return {file.name: file.read_bytes() for file in Path(self.place, "epochs", "one").iterdir()}


def run(directory: str, kills: int, seed: int) -> Experiment:
    """Kill so many or a few more. Raises `Broken` and `AssertionError`; the last experiment has all counts."""
    draw = random.Random(seed)
    done, tails, number = 0, 0, 0
    while True:
        experiment = Experiment(f"{directory}/{number}", draw)
        experiment.begin()
        for _ in range(ROUNDS_IN_ONE_PLACE):
            number += 1
            experiment.round(number)
            if done + experiment.kills >= kills:
                experiment.kills, experiment.tails = done + experiment.kills, tails + experiment.tails
                return experiment
        done, tails = done + experiment.kills, tails + experiment.tails


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4)))
    asked = parser.parse_args()
    print(f"seed {asked.seed}", flush=True)
    started = time.monotonic()
    last = run(asked.directory, asked.kills, asked.seed)
    took = time.monotonic() - started
    print(f"{last.kills} kills, {last.tails} torn tails, {took:.1f} s: what was acknowledged is there")


if __name__ == "__main__":
    main()
