"""The rules of the commit log: facts in, a decision or a list of steps out. No I/O, no clock.

A power loss may come at any step. It keeps what was flushed, any prefix of the unflushed bytes of a file, and any
of the unflushed directory entries. A kill keeps everything that was written, and so a later open may see bytes and
entries that no flush has covered yet, whoever made them. From this follow the rules:

1. *What is read.* A commit is a complete line. The bytes after the last newline are a torn tail: cut, never read. A
   sidecar holds what is confirmed by the last commit that names it, the rest is cut; shorter than confirmed is
   damage.
2. *Open.* Read; cut main.jsonl; then, if commits were found, make them durable (flush the sidecars, rewrite the last
   line, flush main.jsonl); cut the sidecars; flush the storage directory and every ancestor from the home down to
   the parent; only then return. So what an open returns is as safe as what a commit acknowledges. A sidecar is cut
   only when the length of main.jsonl is durable: a line that somebody took back may otherwise come back after a
   power loss, and would confirm bodies that the cut has destroyed. And no line of main.jsonl is made durable before
   the bodies that it confirms are.
3. *Why the last line is rewritten.* A flush that failed leaves bytes which can still be read, yet which no later
   flush covers. Every line but the last was acknowledged, so only the last can be such a one. Written again, a
   flush covers it.
4. *Commit.* Sidecar records; their flushes; one directory flush while one of these entries is new; the marker line
   in main.jsonl; its flush; a directory flush while main.jsonl's entry is new; acknowledgement. An entry is *new*
   until a directory flush of this open covers it, whoever made it.
5. *Failure.* After a failed step nothing more is promised: the files are put back to their acknowledged lengths as
   well as can be, and the storage takes no call until it is opened again. A flush is never tried again on the same
   bytes; nor, where a directory flush failed, on the same entries: those that hold nothing acknowledged are removed,
   so that the next open makes them anew. (A process that is killed between such a failure and the removal leaves an
   entry that no rule here can tell from a good one.)
6. *Directories.* How the path to a storage is made and kept is the business of `eukhe.directories`; the ancestors
   whose flush is owed come in as facts here.

Without flushing (`fsync=False`) the plans are the same minus the flushes and the rewriting that serves them.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

MAIN_NAME = "main.jsonl"

_SIDECAR_NAME = re.compile(r"c[1-9][0-9]{0,18}\.entries\.jsonl")

StepKind = Literal[
    "flush_ancestor",
    "cut_main",
    "cut_sidecar",
    "rewrite_last_line",
    "write_sidecar",
    "write_marker",
    "flush_sidecar",
    "flush_main",
    "flush_directory",
    "remove_entry",
    "acknowledge",
]


class Step(NamedTuple):
    """One thing to do.

    `name` is a path for ancestors and a file name for sidecars; `length` is in bytes, for cuts.
    """

    kind: StepKind
    name: str = ""
    length: int = 0


class SidecarFacts(NamedTuple):
    """A sidecar as found: its length and the length that the log confirms, in bytes."""

    name: str
    length: int
    confirmed: int


class OpenFacts(NamedTuple):
    """What an open has found. `last_newline` is the offset of the last newline in main.jsonl, None without one;
    `ancestors` are the directories whose flush is still owed, from the top."""

    length: int
    last_newline: int | None
    sidecars: tuple[SidecarFacts, ...] = ()
    ancestors: tuple[str, ...] = ()


class LogState(NamedTuple):
    """What the rules remember of an open storage: which entries exist, and which a directory flush has covered."""

    fsync: bool
    present: frozenset[str]
    covered: frozenset[str]


class RuleRefused(Exception):
    """The facts cannot be, or the request is out of place. The state stays as it was."""


class SidecarShort(Exception):
    """A sidecar holds fewer bytes than the log confirms."""

    def __init__(self, facts: SidecarFacts) -> None:
        super().__init__(f"{facts.length} bytes, but the log confirms {facts.confirmed}")
        self.facts = facts


def is_sidecar_name(name: str) -> bool:
    """Whether a file name is one that a sidecar can have. Nothing else in a storage is ever written or cut."""
    return _SIDECAR_NAME.fullmatch(name) is not None


def sidecar_name(conversation: int) -> str:
    """The file that holds the long entry bodies of a conversation."""
    return f"c{conversation}.entries.jsonl"


def complete_length(length: int, last_newline: int | None) -> int:
    """How many bytes of a file stand in complete lines: what an open keeps. Refuses facts that no file can have."""
    if length < 0:
        raise RuleRefused("a file is not shorter than 0 bytes")
    if last_newline is None:
        return 0
    if not 0 <= last_newline < length:
        raise RuleRefused("the last newline lies outside the file")
    return last_newline + 1


def plan_open(fsync: bool, facts: OpenFacts) -> tuple[tuple[Step, ...], LogState]:
    """The steps of an open that has read its files, and the state after the last of them. Raises `SidecarShort`
    (damage: no step may be taken) and `RuleRefused`."""
    kept = complete_length(facts.length, facts.last_newline)
    steps: list[Step] = []
    cuts: list[Step] = []
    if kept < facts.length:
        steps.append(Step("cut_main", MAIN_NAME, kept))
    for sidecar in facts.sidecars:
        if sidecar.length < 0 or sidecar.confirmed < 0 or not is_sidecar_name(sidecar.name):
            raise RuleRefused("a sidecar has the name of one and no length below 0")
        if sidecar.confirmed and not kept:
            raise RuleRefused("a sidecar is confirmed by a commit, and there is none")
        if sidecar.length < sidecar.confirmed:
            raise SidecarShort(sidecar)
        if sidecar.length > sidecar.confirmed:
            cuts.append(Step("cut_sidecar", sidecar.name, sidecar.confirmed))
    present = frozenset([MAIN_NAME, *(sidecar.name for sidecar in facts.sidecars)])
    if len(present) != len(facts.sidecars) + 1:
        raise RuleRefused("a sidecar is named twice")
    covered: frozenset[str] = frozenset()
    if fsync and kept:
        steps.extend(Step("flush_sidecar", sidecar.name) for sidecar in facts.sidecars if sidecar.confirmed)
        steps.append(Step("rewrite_last_line"))
    if fsync and (kept or cuts):
        steps.append(Step("flush_main"))
    steps.extend(cuts)
    if fsync:
        if kept:
            steps.append(Step("flush_directory"))
            covered = present
        steps.extend(Step("flush_ancestor", path) for path in facts.ancestors)
    steps.append(Step("acknowledge"))
    return tuple(steps), LogState(fsync, present, covered)


def plan_commit(state: LogState, sidecars: tuple[str, ...]) -> tuple[tuple[Step, ...], LogState]:
    """The steps of a commit that adds to these sidecars, and the state after the last of them.

    Raises `RuleRefused`.
    """
    fsync, present, covered = state
    steps: list[Step] = []
    if sidecars:
        _check_names(sidecars)
        present = present.union(sidecars)
        steps.extend(Step("write_sidecar", name) for name in sidecars)
        if fsync:
            steps.extend(Step("flush_sidecar", name) for name in sidecars)
            if not covered.issuperset(sidecars):
                steps.append(Step("flush_directory"))
                covered = present
    steps.append(Step("write_marker"))
    if fsync:
        steps.append(Step("flush_main"))
        if MAIN_NAME not in covered:
            steps.append(Step("flush_directory"))
            covered = present
    steps.append(Step("acknowledge"))
    return tuple(steps), LogState(fsync, present, covered)


def plan_flush(state: LogState, sidecars: tuple[str, ...]) -> tuple[tuple[Step, ...], LogState]:
    """The steps that make everything in the storage durable at once, for a build that ran without flushing."""
    _check_names(sidecars)
    steps = [Step("flush_sidecar", name) for name in sidecars]
    steps += [Step("flush_main"), Step("flush_directory"), Step("acknowledge")]
    return tuple(steps), LogState(state.fsync, state.present, state.present)


def _check_names(sidecars: tuple[str, ...]) -> None:
    if len(set(sidecars)) != len(sidecars) or not all(map(is_sidecar_name, sidecars)):
        raise RuleRefused("the sidecars are different files, each with the name of one")


def plan_put_back(
    state: LogState, begun: tuple[Step, ...], main_length: int, sidecar_lengths: dict[str, int]
) -> tuple[Step, ...]:
    """The steps after a failure, given those that were begun, of which the last failed, and the acknowledged lengths.

    They are tried in order up to the first that fails, and none is relied upon: the flush keeps a half-kept line from
    coming back after a power loss, without which no sidecar may be cut, and acknowledges nothing.
    """
    steps: list[Step] = []
    if any(step.kind == "write_marker" for step in begun):
        steps.append(Step("cut_main", MAIN_NAME, main_length))
        if state.fsync:
            steps.append(Step("flush_main"))
    written = [step.name for step in begun if step.kind == "write_sidecar"]
    steps.extend(Step("cut_sidecar", name, sidecar_lengths.get(name, 0)) for name in written)
    if begun and begun[-1].kind == "flush_directory":
        lengths = {MAIN_NAME: main_length, **sidecar_lengths}
        for name in sorted(state.present.union(written) - state.covered):
            if not lengths.get(name, 0):
                steps.append(Step("remove_entry", name))
    return tuple(steps)
