"""The model of a sweep: directories on paper, swept by the rules, and the same said in another way.

A tree is a dictionary of names. `swept` walks it as the shell walks a real one, asking the rules at each step, and
answers what goes. `should_go` says it without any rule: by what stands on the way to an entry, who holds it, and how
old it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eukhe.staging import rules
from eukhe.staging.rules import EntryKind, JudgeFacts, Probe

DAY = 86_400 * 10**9
"""A day in nanoseconds, not taken from the rules."""
NOW_NS = 10 * DAY
HEX = "0123456789abcdef" * 2
IMPORT, FORK, TOMBSTONE = f".a.import-{HEX}", f".a.fork-{HEX}", f".a.deleted-{HEX}"


class Node(NamedTuple):
    """An entry on paper. `age_ns` is how long ago its newest time is, `held` whether somebody holds it as a lock."""

    kind: EntryKind
    age_ns: int = 0
    held: bool = False
    below: tuple[tuple[str, Node], ...] = ()


Tree = tuple[tuple[str, Node], ...]
Path = tuple[str, ...]


def swept(tree: Tree, at: Path = ()) -> Iterator[Path]:
    """What a sweep removes, by the rules: a leftover with its lock file, or a lock file by itself."""
    there = dict(tree)
    for name, node in tree:
        meeting = rules.meet(name, node.kind)
        if meeting == "enter":
            yield from swept(node.below, (*at, name))
        elif meeting == "judge_leftover":
            lock = there.get(name + rules.LOCK_SUFFIX)
            age = min(node.age_ns, lock.age_ns) if lock is not None and lock.kind == "file" else node.age_ns
            steps = rules.judge_leftover(JudgeFacts(probe(lock), True, NOW_NS - age, NOW_NS)).steps
            if "remove_tree" in steps:
                yield (*at, name)
            if "remove_lock" in steps:
                yield (*at, name + rules.LOCK_SUFFIX)
        elif meeting == "judge_lock":
            leftover = rules.leftover_of_lock(name)
            facts = JudgeFacts(probe(node), leftover in there, NOW_NS - node.age_ns, NOW_NS)
            if leftover not in there and rules.judge_lock(facts).steps == ("remove_lock",):
                yield (*at, name)


def should_go(tree: Tree, path: Path) -> bool:
    """Whether a sweep has to remove an entry: nothing but plain directories on the way, free, and a day old."""
    *way, name = path
    for piece in way:
        node = dict(tree)[piece]
        if node.kind != "directory" or looks_left_over(piece):
            return False
        tree = node.below
    there = dict(tree)
    node = there[name]
    if name.endswith(".lock") and looks_left_over(name[:-5]):
        owner = there.get(name[:-5])
        if node.kind != "file" or node.held or node.age_ns < DAY:
            return False
        return owner is None or (owner.kind in ("directory", "storage") and owner.age_ns >= DAY)
    if not looks_left_over(name) or node.kind not in ("directory", "storage") or node.age_ns < DAY:
        return False
    lock = there.get(f"{name}.lock")
    return lock is None or (lock.kind == "file" and not lock.held and lock.age_ns >= DAY)


def looks_left_over(name: str) -> bool:
    """Whether a name is `.<name>.<purpose>-<32 hex>`, taken apart by hand."""
    front, dash, digits = name.rpartition("-")
    stem, dot, purpose = front.rpartition(".")
    hexadecimal = len(digits) == 32 and set(digits) <= set("0123456789abcdef")
    return bool(dash and dot) and hexadecimal and purpose in rules.PURPOSES and len(stem) > 1 and stem[0] == "."


def probe(lock: Node | None) -> Probe:
    """What trying to lock an entry shows."""
    if lock is None:
        return "missing"
    if lock.kind != "file":
        return "unknown"
    return "held" if lock.held else "free"


def paths(tree: Tree, at: Path = ()) -> Iterator[Path]:
    """Every entry, those inside of directories too."""
    for name, node in tree:
        yield (*at, name)
        yield from paths(node.below, (*at, name))


def at(tree: Tree, path: Path) -> Node:
    """The entry at a path."""
    node = dict(tree)[path[0]]
    return node if len(path) == 1 else at(node.below, path[1:])


def small_trees() -> Iterator[Tree]:
    """Leftovers and locks of every kind, age and hold, at every depth up to three, in every kind of place."""
    for level in leaves():
        yield level
        for name, kind in (("d", "directory"), (".d", "directory"), ("s", "storage"), (TOMBSTONE, "directory")):
            one: Tree = ((name, Node(kind, 3 * DAY, False, level)),)  # type: ignore[arg-type]
            yield one
            yield (("up", Node("directory", 0, False, one)), *level)


def leaves() -> Iterator[Tree]:
    """A leftover, its lock file, both, or neither."""
    ages = (-1, 0, DAY - 1, DAY, DAY + 1)
    kinds: tuple[EntryKind, ...] = ("directory", "storage", "file", "symlink", "other")
    locks = [
        Node(kind, age, held) for kind in kinds for age in ages for held in (False, True) if kind == "file" or not held
    ]
    owners = [Node(kind, age) for kind in kinds for age in ages]
    for name in (IMPORT, FORK, TOMBSTONE):
        for owner in owners:
            yield ((name, owner),)
        for lock in locks:
            yield ((f"{name}.lock", lock),)
    for owner in owners:
        for lock in locks:
            yield ((IMPORT, owner), (f"{IMPORT}.lock", lock))
