"""The bridge between the real cron store and its model: after every step the file is the model's, byte for byte.

Three simulated processes, each with a store, an identity and a clock of its own, share one file. A step is one call by
one process: add, claim, finish, recover, pause, resume, cancel, put off, run by hand; or a process forgets a run, is
killed and started again, or a clock moves, forwards or back.

| entry | what is tried |
|---|---|
| `cron_bridge` | every interleaving of three processes that add, recover, claim and finish |
| `cron_bridge_histories` (in `cron_histories`) | generated histories |
| `cron_bridge_calls` (in `cron_adversity`) | inside of calls: the file is the model's at every instant |
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from eukhe.cron import CronError, CronStore, Outcome, Owner
from scenarios.checks import Case, Check, Question
from scenarios.histories import Broken
from scenarios.laws import cron
from scenarios.mutants.mutant import Wrapped
from scenarios.suites.cron import HOME, PATH
from scenarios.suites.cron_model import Model, No
from scenarios.suites.storage import Wrap, as_it_is
from simfs.machine import running
from simfs.machine.machine import Machine
from simfs.machine.process import Process

JOBS = (("once", "in 20s", 20_000), ("interval", "every 10s", 10_000), ("cron", "* * * * *", 60_000))
"""(kind and id, expression, its length in the model)."""


class Skewed(Wrapped):
    """A process's own view: its wall clock is off by so much, and the ids that it draws are noted."""

    def __init__(self, system: Any, skew_ms: int) -> None:
        super().__init__(system)
        self.skew_ms = skew_ms
        self.drawn: list[str] = []

    def time_ns(self) -> int:
        """The wall clock of this process."""
        now: int = self.system.time_ns()
        return now + self.skew_ms * 1_000_000

    def urandom(self, n: int) -> bytes:
        """Random bytes; those that become ids of claims are noted."""
        drawn: bytes = self.system.urandom(n)
        if n == 16:
            self.drawn.append(drawn.hex())
        return drawn


class Party:
    """One process: its store, and the runs that it knows of."""

    def __init__(self, name: str, process: Process, system: Any, skew_ms: int, wrap: Wrap) -> None:
        self.process = process
        self.own = Skewed(system, skew_ms)
        self.store = CronStore(PATH, system=wrap(self.own, name), lock_wait_s=0)
        self.live: list[str] = []
        self.owner: Owner | None = None


class Bridge:
    """Three parties on one machine, and the model beside them. `story` tells the steps."""

    def __init__(self, wrap: Wrap = as_it_is) -> None:
        self.wrap = wrap
        self.machine = Machine(record_sites=False)
        self.model = Model()
        self.story: list[str] = []
        self.gone: list[Owner] = []
        self.lost: list[str] = []
        with self.inside(self.machine.spawn("setup")):
            for path in ("/home", "/home/me", HOME):
                self.machine.system.mkdir(path)
        self.looker = self.machine.spawn("looker")
        self.parties = [self._party(number) for number in range(3)]

    def _party(self, number: int) -> Party:
        process = self.machine.spawn(f"P{number}")
        party = Party(f"P{number}", process, self.machine.system, 300 * number, self.wrap)
        with self.inside(process):
            party.owner = party.store.owner()
        return party

    @contextmanager
    def inside(self, process: Process) -> Iterator[None]:
        """Inside the block, calls are those of the process."""
        outer = running.active
        running.active, self.machine.current = self.machine, process
        try:
            yield
        finally:
            running.active, self.machine.current = outer, None

    def do(self, who: int, what: str, *arguments: Any) -> None:
        """One step, in the store and in the model. Raises `Broken` where they differ."""
        self.story.append(f"P{who} {what} {', '.join(map(str, arguments))}".rstrip())
        getattr(self, f"do_{what}")(self.parties[who], *arguments)
        found, wanted = self.found(), self.model.bytes()
        if found != wanted:
            raise Broken(cron.CRON_MODEL_BRIDGE, f"after step {len(self.story)}: {differs(found, wanted)}")

    def found(self) -> bytes | None:
        """The bytes of the file, read behind the stores' backs."""
        system = self.machine.system
        with self.inside(self.looker):
            try:
                fd = system.open(PATH, 0)
            except FileNotFoundError:
                return None
            data: bytes = system.read(fd, 1 << 20)
            system.close(fd)
            return data

    def now(self, party: Party) -> int:
        """The time as the party's clock shows it."""
        return self.machine.wall_ns // 1_000_000 + party.own.skew_ms

    def do_create(self, party: Party, which: int) -> None:
        """Add a job of a kind."""
        kind, expression, length = JOBS[which]
        self._both(
            party,
            lambda: party.store.create(expression, "run", job_id=kind),
            lambda: self.model.create(self.now(party), kind, kind, expression, length),
        )

    def do_claim(self, party: Party, limit: int | None = None) -> None:
        """Claim what is due."""
        party.own.drawn.clear()
        now = self.now(party)
        with self.inside(party.process):
            claims = party.store.claim_due(now, now, limit)
        self.model.claim(_named(party.owner), now, now, party.own.drawn, limit)
        party.live += [claim.dispatch.id for claim in claims]

    def do_finish(self, party: Party, at: int, error: str | None) -> None:
        """Record the result of a run that the party knows of."""
        if not party.live:
            return
        name = party.live.pop(at % len(party.live))
        with self.inside(party.process):
            taken = party.store.record_dispatch_result(name, Outcome(error))
        if taken != self.model.finish(name, error, self.now(party)):
            raise Broken(cron.CRON_MODEL_BRIDGE, f"the end of a run was answered with {taken}")

    def do_recover(self, party: Party) -> None:
        """Put on record what was interrupted."""
        with self.inside(party.process):
            party.store.recover_interrupted(party.live)
        self.model.recover(_named(party.owner), set(party.live), [_named(o) for o in self.gone], self.now(party))

    def do_pause(self, party: Party, job: str) -> None:
        """A person stops a job."""
        self._both(party, lambda: party.store.pause(job), lambda: self.model.pause(self.now(party), job))

    def do_resume(self, party: Party, job: str) -> None:
        """A person lets it go on."""
        self._both(party, lambda: party.store.resume(job), lambda: self.model.resume(self.now(party), job))

    def do_cancel(self, party: Party, job: str) -> None:
        """A person ends it."""
        self._both(party, lambda: party.store.cancel(job), lambda: self.model.cancel(self.now(party), job))

    def do_defer(self, party: Party, job: str, by_s: int) -> None:
        """Its next run is put off."""
        until = self.now(party) + by_s * 1000
        self._both(
            party,
            lambda: party.store.defer_next_run(job, until),
            lambda: self.model.defer(self.now(party), job, until),
        )

    def do_run_now(self, party: Party, job: str) -> None:
        """A person runs it."""
        party.own.drawn.clear()
        gone = [_named(owner) for owner in self.gone]

        def real() -> None:
            party.live.append(party.store.claim_now(job).dispatch.id)

        def modelled() -> None:
            drawn = party.own.drawn[0] if party.own.drawn else ""
            self.model.claim_now(_named(party.owner), gone, self.now(party), job, drawn)

        self._both(party, real, modelled)

    def do_forget(self, party: Party) -> None:
        """A run is given up without a word; the next recovery finds it."""
        if party.live:
            self.lost.append(party.live.pop())

    def do_late(self, party: Party) -> None:
        """A run that was given up ends after all: whoever asks, the claim may be gone."""
        if self.lost:
            party.live.append(self.lost.pop())
            self.do_finish(party, len(party.live) - 1, None)

    def do_die(self, party: Party) -> None:
        """The process is killed, and another takes its place."""
        assert party.owner is not None
        self.gone.append(party.owner)
        self.machine.kill(party.process)
        at = self.parties.index(party)
        self.parties[at] = self._party(at)

    def do_wait(self, party: Party, seconds: int) -> None:
        """The time moves, or is set back."""
        self.machine.wall_ns += seconds * 1_000_000_000

    def _both(self, party: Party, real: Any, modelled: Any) -> None:
        refused = [False, False]
        with self.inside(party.process):
            try:
                real()
            except CronError:
                refused[0] = True
        try:
            modelled()
        except No:
            refused[1] = True
        if refused[0] != refused[1]:
            raise Broken(cron.CRON_MODEL_BRIDGE, f"store and model: refused {refused}")


SCRIPT = (("recover",), ("claim", None), ("finish", 0, None), ("finish", 0, "it failed"))
"""What each process does in `cron_bridge`; the first also adds the jobs."""


def every_interleaving(wrap: Wrap = as_it_is) -> Iterator[Case]:
    """Three processes with three steps each, in every order, on three due jobs; each is judged after each step."""
    for order in _orders((3, 3, 3)):
        bridge = Bridge(wrap)
        done = [0, 0, 0]
        wrong = None
        try:
            for which in range(3):
                bridge.do(0, "create", which)
            bridge.do(0, "wait", 70)
            for who in order:
                step = SCRIPT[(done[who] + who) % 4]
                done[who] += 1
                bridge.do(who, *step)
                bridge.do(who, "wait", 1)
        except Broken as broken:
            wrong = str(broken)
        yield " ".join(f"P{who}" for who in order), wrong


def _orders(left: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Every order of so many steps of each process."""
    if not any(left):
        yield ()
        return
    for who, count in enumerate(left):
        if count:
            fewer = tuple(count - (at == who) for at, count in enumerate(left))
            for others in _orders(fewer):
                yield (who, *others)


def differs(found: bytes | None, wanted: bytes | None) -> str:
    """Where two files differ, in words."""
    if found is None or wanted is None:
        return (
            f"there is {'no' if found is None else 'a'} file, and the model has {'none' if wanted is None else 'one'}"
        )
    for number, (one, other) in enumerate(itertools.zip_longest(found.split(b"\n"), wanted.split(b"\n")), 1):
        if one != other:
            return f"line {number} is {_line(one)}, and the model has {_line(other)}"
    return "they do not differ"


def _line(line: bytes | None) -> str:
    return "missing" if line is None else repr(line.decode(errors="replace").strip())


def _named(owner: Owner | None) -> dict[str, Any]:
    assert owner is not None
    return {"pid": owner.pid, "start": owner.start}


def bridge_check(wrap: Wrap = as_it_is) -> Check:
    """The check `cron_bridge`."""
    return Check(
        "cron_bridge",
        "Three processes that recover, claim and finish leave the model's bytes after each step, in every order.",
        (Question(cron.CRON_MODEL_BRIDGE, lambda: every_interleaving(wrap)),),
    )
