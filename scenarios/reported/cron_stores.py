"""C6 and C7: job stores that cannot be read. celery/celery#4777 (PRs #8806, #2985); openJiuwen-ai/jiuwenswarm#4293,
QwenLM/qwen-code#5308, NousResearch/hermes-agent#6797.

What happened. C6: a scheduler keeps its times in a database file. After an unclean stop the file cannot be opened.
There is a repair, but it knows some errors only, and the back-end has others of its own; so the scheduler refuses to
start. People remove the file by hand, and with it all times. C7: a job file has an entry that cannot be parsed. It is
left out without a word, and the next save writes the list without it. Where the file as a whole cannot be parsed it
counts as empty, and the next job that is added takes the place of all.

What is right. Whatever goes wrong in opening a store: keep what is there under another name, begin anew, say so, and
begin so that not everything fires at once. What cannot be understood is carried along as it is.

The store of C6 is `dbm.dumb` of the standard library, which writes a directory of its records in the middle of a
rewrite: the code under test is not ours.
"""

from __future__ import annotations

import dbm.dumb
import json
import os
import pickle
import time
from typing import Any

import simfs
from scenarios.reported.durable import replace_durably
from scenarios.reported.laws import CLM3, CLM5, DUR4, DUR8
from scenarios.reported.registry import ATOMIC_RENAMES, Case

SCHEDULE = "/beat/schedule"
PARTS = (".dat", ".dir", ".bak")
JOBS = "/jobs.json"
DAY_S = 86_400


class _Beat(simfs.Scenario):
    """A scheduler notes in a database file that the daily job has just run; the power goes; it starts again."""

    def setup(self, m: Any) -> None:
        os.mkdir("/beat")
        note(time.time() - DAY_S)

    @simfs.process
    def beat(self, m: Any) -> None:
        m.effect("run", "today")
        note(time.time())

    def last_run(self) -> float:
        """When the job ran last, as far as the file says."""
        raise NotImplementedError

    @simfs.law(CLM5)
    def it_starts_again(self, m: Any) -> None:
        self.last_run()

    @simfs.law(DUR8)
    def what_cannot_be_read_is_kept(self, m: Any) -> None:
        before = held()
        self.last_run()
        gone = [part for part in before if part not in held()]
        assert not gone, "what was in the file is gone"


class KnowsSomeErrors(_Beat):
    """The repair knows the errors of unpickling."""

    def last_run(self) -> float:
        try:
            return noted()
        except (EOFError, pickle.UnpicklingError):
            return begin_anew()


class KnowsNoErrorByName(_Beat):
    """Any error of opening or reading: keep the files, begin anew. Whatever ran before counts as run now."""

    def last_run(self) -> float:
        try:
            return noted()
        except Exception:
            return begin_anew()

    @simfs.law(CLM3)
    def not_everything_fires_at_once(self, m: Any) -> None:
        try:
            noted()
        except Exception:
            assert time.time() - begin_anew() < DAY_S, "the job is due again, because the file could not be read"


def note(at: float) -> None:
    """As `shelve` does: a pickle in a dbm file."""
    with dbm.dumb.open(SCHEDULE, "c") as file:
        file[b"daily"] = pickle.dumps(at)


def noted() -> float:
    """Raises whatever the back-end raises."""
    with dbm.dumb.open(SCHEDULE, "r") as file:
        at = pickle.loads(file[b"daily"])
    if not isinstance(at, float):
        raise ValueError(f"{at!r} is no time")
    return at


def begin_anew() -> float:
    """The files get other names, and the time is now."""
    for part in PARTS:
        if os.path.exists(SCHEDULE + part):
            os.replace(SCHEDULE + part, f"{SCHEDULE}{part}.corrupt-{os.getpid()}")
    note(time.time())
    return time.time()


def held() -> list[bytes]:
    """What is in all files of the scheduler."""
    found = []
    for name in sorted(os.listdir("/beat")):
        with open(f"/beat/{name}", "rb") as file:
            found.append(file.read())
    return [content for content in found if content]


class _Jobs(simfs.Scenario):
    """A file of jobs; somebody changes one job or adds another."""

    before = '[{"id": "a", "runs": 0}, {"id": "b", "when": "in a future version"}, {"id": "c", "runs": 0}]'

    def setup(self, m: Any) -> None:
        replace_durably(JOBS, self.before.encode())

    def change(self) -> None:
        raise NotImplementedError

    @simfs.process
    def user(self, m: Any) -> None:
        self.change()


class LeavesOut(_Jobs):
    """What does not parse as a job is not in the list that is saved."""

    def change(self) -> None:
        jobs = [job for job in json.loads(read()) if "runs" in job]
        jobs[0]["runs"] += 1
        replace_durably(JOBS, json.dumps(jobs).encode())

    @simfs.law(DUR4)
    def the_strange_one_is_there(self, m: Any) -> None:
        assert "in a future version" in read(), "the entry that could not be parsed is gone"


class CarriesAlong(LeavesOut):
    """What does not parse stays where it is."""

    disk = ATOMIC_RENAMES

    def change(self) -> None:
        jobs = json.loads(read())
        next(job for job in jobs if "runs" in job)["runs"] += 1
        replace_durably(JOBS, json.dumps(jobs).encode())


class ReadsAsEmpty(_Jobs):
    """What is no list of jobs is an empty one."""

    before = '[{"id": "a", "runs": 0}, {"id'

    def change(self) -> None:
        try:
            jobs = json.loads(read())
        except ValueError:
            jobs = []
        replace_durably(JOBS, json.dumps([*jobs, {"id": "new", "runs": 0}]).encode())

    @simfs.law(DUR8)
    def the_bytes_are_somewhere(self, m: Any) -> None:
        for name in os.listdir("/"):
            with open(f"/{name}") as file:
                if file.read() == self.before:
                    return
        raise AssertionError("the file that could not be read was written over")


class KeepsAside(ReadsAsEmpty):
    """What is no list of jobs gets a second name before its own is given to another file."""

    disk = ATOMIC_RENAMES

    def change(self) -> None:
        try:
            json.loads(read())
        except ValueError:
            os.link(JOBS, f"{JOBS}.corrupt")
            fd = os.open("/", os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)
        replace_durably(JOBS, json.dumps([{"id": "new", "runs": 0}]).encode())


def read() -> str:
    """The file of the jobs."""
    with open(JOBS) as file:
        return file.read()


CASES = (
    Case("C6", "a schedule file that cannot be opened, and a repair that knows some errors only",
         "celery/celery#4777", KnowsSomeErrors, KnowsNoErrorByName, (CLM5,)),
    Case("C7", "an entry that does not parse is left out, and the next save forgets it",
         "openJiuwen-ai/jiuwenswarm#4293", LeavesOut, CarriesAlong, (DUR4,)),
    Case("C7-empty", "a file that does not parse counts as empty, and the next save takes its place",
         "NousResearch/hermes-agent#6797", ReadsAsEmpty, KeepsAside, (DUR8,)),
)  # fmt: skip
