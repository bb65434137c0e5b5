"""Generated histories of one storage: opens, commits of 1 byte to 12 KiB, kills, power losses, and on from there.

A history draws everything from one `Choices`: what each writer commits and how it ends (it closes, it is killed at
one of its calls, or the power goes at some point of all that was done since the last boot, with some of the
survivors that the disk model allows). After each end the next writer opens what is left, and the laws are judged: by
the bytes that stood on the disk, by what was promised, and by what was tried. Nothing is run twice.

The model of what must be there is `Expected`: commits promised, and commits tried behind them. It knows no store.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from eukhe.storage import Storage
from scenarios.histories import Broken, Histories
from scenarios.laws import log
from scenarios.suites import log_model
from scenarios.suites.log_model import Changes
from scenarios.suites.storage import CLAIMED, HOME, MAIN, PATH, Wrap, as_it_is
from simfs.disk.model import DiskModel
from simfs.explore.choices import Choices
from simfs.machine import running
from simfs.machine.inode import EPOCH_NS, Image
from simfs.machine.machine import Machine
from simfs.machine.ops import Ack
from simfs.machine.process import Process, ProcessKilled

WRITERS_MAX = 5
COMMITS_MAX = 4
SIZES = (1, 40, 700, 4096, 12 * 1024)
"""Bytes of text in a commit: drawn up to one of these."""
LETTERS = ("a", "é", "雪", "🙂")
"""One, two, three and four bytes in UTF-8."""
CALLS_MAX = 40
"""A kill strikes before one of so many calls, or when the writer has made all of its own."""


@dataclass(slots=True)
class Expected:
    """What must be there: `promised` for certain, then a first part of `tried`."""

    promised: list[Changes] = field(default_factory=list)
    tried: list[Changes] = field(default_factory=list)

    def judge(self, found: list[Changes]) -> None:
        """Raises `Broken`."""
        count = len(self.promised)
        if found[:count] != self.promised:
            raise Broken(
                log.LOG_ACK_DURABLE,
                f"{log_model.commits(count)} promised, but {log_model.differs_at(found, self.promised)}",
            )
        if not log_model.is_first_part(found[count:], self.tried):
            whole = self.promised + self.tried
            raise Broken(log.LOG_ONLY_COMMITS, f"what was tried is not found: {log_model.differs_at(found, whole)}")


class StorageHistory:
    """One history on one disk model. `story` tells it line by line, `crashes` counts its power losses and kills."""

    def __init__(self, model: DiskModel, choices: Choices, wrap: Wrap = as_it_is) -> None:
        self.model = model
        self.choices = choices
        self.wrap = wrap
        self.story: list[str] = []
        self.crashes = 0
        self.opens = 0
        self.number = 0
        self.expected = Expected()
        self.durable: list[Changes] = []
        """What had been promised when this boot began: it is safe from every later power loss."""
        self.acked: list[tuple[int, list[Changes]]] = []
        """(position in the op journal of this boot, everything promised by then)."""
        self.machine = Machine(Image.empty(), record_sites=False)
        with inside(self.machine, self.machine.spawn("setup")):
            self.machine.system.mkdir("/home")
            self.machine.system.mkdir("/home/me")
        self.boot(self.machine.freeze())

    def run(self) -> None:
        """Two writers or more, then a last look. Raises `Broken`."""
        for _ in range(2 + self.choices.draw(WRITERS_MAX - 1, "further writers")):
            self.writer()
        self.look()

    def boot(self, image: Image) -> None:
        """The machine starts from a disk."""
        self.image = image
        self.machine = Machine(image, boot=self.machine.boot + 1, wall_ns=EPOCH_NS, record_sites=False)
        self.durable = list(self.expected.promised)
        self.acked = []

    def writer(self) -> None:
        """A process that opens, commits, and ends in one of three ways."""
        process = self.machine.spawn(f"writer {self.opens + 1}")
        ending = self.choices.draw(3, "how the writer ends: closes, is killed, the power goes")
        if ending == 1:
            self.arm(process, self.choices.draw(CALLS_MAX, "calls before the kill"))
        try:
            storage = self.open(process)
            for _ in range(self.choices.draw(COMMITS_MAX + 1, "commits")):
                self.commit(process, storage)
            if ending == 0:
                with inside(self.machine, process):
                    storage.close()
        except ProcessKilled:
            self.story.append("  killed")
        self.machine.gate = None
        if ending == 0:
            self.machine.exit(process)
            self.story.append("  closed")
        else:
            self.crashes += 1
            self.machine.kill(process)
        if ending == 2:
            self.power_loss()

    def arm(self, process: Process, calls: int) -> None:
        """Kill the process before its call number `calls`, counted from 0."""
        left = calls

        def gate(caller: Process, call: str) -> None:
            nonlocal left
            if caller is process:
                left -= 1
                if left < 0:
                    self.machine.kill(process)

        self.machine.gate = gate

    def open(self, process: Process) -> Storage:
        """Open for real, judge what was found, and take it as promised."""
        raw = self.raw()
        self.opens += 1
        try:
            with inside(self.machine, process):
                storage = self.storage()
                found = [commit.changes for commit in storage.commits]
        except Exception as error:
            raise Broken(log.LOG_OPENS_AFTER_CRASH, f"{type(error).__name__}: {error}") from error
        self.story.append(f"open {self.opens}: {log_model.commits(len(found))} in {len(raw)} bytes")
        lines = self.lines(raw)
        if found != lines:
            raise Broken(log.LOG_READS_LINES, log_model.differs_at(found, lines))
        if self.raw() != log_model.complete(raw):
            law = log.LOG_OPEN_KEEPS_THE_COMPLETE_LINES if raw.endswith(b"\n") else log.LOG_OPEN_CUTS_THE_TORN_TAIL
            raise Broken(law, f"{len(raw)} bytes became {len(self.raw())}")
        self.expected.judge(found)
        with inside(self.machine, process):
            self.promise(found)
        return storage

    def storage(self) -> Storage:
        """The real open."""
        return Storage.open(PATH, system=self.wrap(self.machine.system, "writer"), home=HOME)

    def lines(self, raw: bytes) -> list[Changes]:
        """What the files on the machine say by the model, given the bytes of main.jsonl."""
        return log_model.lines_of(raw)

    def promise(self, commits: list[Changes]) -> None:
        """From here on these are promised, and nothing else was tried."""
        self.expected = Expected(commits)
        if commits:
            self.machine.promise(Ack("", "log", len(commits)))
            self.acked.append((len(self.machine.journal), commits))

    def commit(self, process: Process, storage: Storage) -> None:
        """One commit of a drawn size and script; what is drawn is drawn outside of the process."""
        most = SIZES[self.choices.draw(len(SIZES), "size of the commit")]
        size = most - self.choices.draw(min(most, 64), "less")
        letter = LETTERS[self.choices.draw(len(LETTERS), "script")]
        self.number += 1
        width = len(letter.encode())
        changes = log_model.entry(self.number, letter * (size // width) + "." * (size % width))
        self.expected.tried = [changes]
        self.story.append(f"  commit of {size} bytes of {letter}")
        with inside(self.machine, process):
            storage.commit(changes)
            self.promise([*self.expected.promised, changes])

    def power_loss(self) -> None:
        """The power goes at a drawn point since the boot, with drawn survivors."""
        ops = self.machine.journal.ops
        point = len(ops) - self.choices.draw(len(ops) + 1, "ops before the power loss")
        disk = self.model.start(self.image)
        for op in ops[:point]:
            disk.add(op)
        following = ops[point] if point < len(ops) else None
        _, pick = disk.sample(lambda n: self.choices.draw(n, "survivors"), following)
        self.story.append(f"  POWER LOSS after op {point} of {len(ops)}, survivors {pick}")
        self.expected = self.expected_at(point)
        self.boot(disk.image(pick, following))

    def expected_at(self, point: int) -> Expected:
        """What must be there after a power loss that comes when so many ops of this boot are done."""
        whole = [*self.expected.promised, *self.expected.tried]
        promised = self.durable
        for position, commits in self.acked:
            if position <= point:
                promised = commits
        return Expected(promised, whole[len(promised) :])

    def look(self) -> None:
        """A last open, and nothing after it."""
        process = self.machine.spawn("reader")
        storage = self.open(process)
        with inside(self.machine, process):
            storage.close()

    def raw(self) -> bytes:
        """The bytes of main.jsonl as they stand on the machine, read behind the store's back."""
        for path, node in self.machine.freeze().walk():
            if path == MAIN:
                return bytes(node.data)
        return b""


@contextmanager
def inside(machine: Machine, process: Process) -> Iterator[None]:
    """Inside the block, calls are those of `process` on `machine`."""
    outer = running.active
    running.active, machine.current = machine, process
    try:
        yield
    finally:
        running.active, machine.current = outer, None


def histories(wrap: Wrap = as_it_is) -> Histories:
    """The entry of the catalogue; `wrap` is what a mutant puts between the machine and the store."""
    return Histories(
        name="storage_histories",
        statement="Generated histories: opens, commits of 1 byte to 12 KiB, kills and power losses, and on from there.",
        make=lambda model, choices: StorageHistory(model, choices, wrap),
        laws_judged=(
            log.LOG_ACK_DURABLE,
            log.LOG_ONLY_COMMITS,
            log.LOG_READS_LINES,
            log.LOG_OPEN_CUTS_THE_TORN_TAIL,
            log.LOG_OPEN_KEEPS_THE_COMPLETE_LINES,
            log.LOG_OPENS_AFTER_CRASH,
        ),
        disk=CLAIMED,
    )
