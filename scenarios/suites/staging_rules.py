"""The check `staging_rules`: the rules of staging, every small case of each.

Bounds: names made of every part a name can have; trees of a leftover and its lock file, of every kind, hold and age
around a day, in every kind of directory up to three deep.
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from itertools import product

from eukhe.staging import rules
from eukhe.staging.rules import EntryKind, JudgeFacts, RuleRefused
from scenarios.checks import Case, Check, Question
from scenarios.laws import staging
from scenarios.suites import staging_model as model
from scenarios.suites.staging_model import DAY, HEX, NOW_NS, Path, Tree

KINDS: tuple[EntryKind, ...] = ("directory", "storage", "file", "symlink", "other")
NAMES = (
    "one", "a b", "é", "雪" * 85, "x" * 255, "🙂" * 63 + "abc", "a.import-" + HEX, "one.lock", "-", "\udcff\udcfe",
    "x" + "\udcff" * 254, "new\nline",
)  # fmt: skip
"""Names that a session can have: of every width, with bytes that are not UTF-8, as long as can be."""
NO_NAMES = ("", ".", "..", ".hidden", "a/b", "nul\0", "x" * 256, "é" * 128, f".a.import-{HEX}")


def names() -> Iterator[str]:
    """Names in every way near to a leftover's."""
    yield from NAMES
    yield from ("..", ".a", f".import-{HEX}", f"..import-{HEX}", f".a.import-{HEX}x", f".a.import-{HEX}.lock.lock")
    for stem, purpose, digits, end in product(
        ("", "a", ".", ".a", "..a", ".a.b", ".é", ".\udcff"),
        (*rules.PURPOSES, "export", ""),
        (HEX, HEX[:-1], HEX.upper(), HEX[:-1] + "g", ""),
        ("", ".lock", ".locks"),
    ):
        yield f"{stem}.{purpose}-{digits}{end}"


def meetings() -> Iterator[Case]:
    """What a sweep does with a name and a kind, against the same said in another way."""
    for name, kind in product(names(), KINDS):
        left = model.looks_left_over(name)
        if kind in ("directory", "storage") and left:
            wanted = "judge_leftover"
        elif kind == "file" and name.endswith(".lock") and model.looks_left_over(name[:-5]):
            wanted = "judge_lock"
        else:
            wanted = "enter" if kind == "directory" else "keep"
        found = rules.meet(name, kind)
        yield f"{kind} {name!r}", None if found == wanted else f"the rule says {found}, and it is to {wanted}"


def minted() -> Iterator[Case]:
    """Names that are made up are met as leftovers, their locks as locks, and fit; no session's name is either."""
    for name, purpose in product(NAMES, rules.PURPOSES):
        leftover = rules.mint(name, purpose, HEX)
        lock = leftover + rules.LOCK_SUFFIX
        wrong = None
        if (rules.meet(leftover, "directory"), rules.meet(lock, "file")) != ("judge_leftover", "judge_lock"):
            wrong = f"{leftover!r} is not met as a leftover"
        elif rules.leftover_of_lock(lock) != leftover:
            wrong = f"{lock!r} does not belong to {leftover!r}"
        elif len(lock.encode("utf-8", "surrogateescape")) > 255:
            wrong = f"{lock!r} is too long"
        elif rules.is_session_name(leftover):
            wrong = f"{leftover!r} could be a session's name"
        yield f"{purpose} of {name!r}", wrong
    for name, kind in product(NAMES, KINDS):
        found = rules.meet(name, kind)
        yield f"session {name!r}", "it is met as a leftover" if found.startswith("judge") else None
    for name in NO_NAMES:
        try:
            wrong = f"it is taken: {rules.mint(name, 'import', HEX)!r}"
        except RuleRefused:
            wrong = None
        yield f"{name!r} as a session's name", wrong


def judgements() -> Iterator[Case]:
    """What is planned, from every probe and every age around a day, to the nanosecond."""
    ages = (None, -DAY, -1, 0, 1, DAY - 1, DAY, DAY + 1, 5 * DAY)
    probes: tuple[rules.Probe, ...] = ("free", "held", "missing", "unknown")
    for lock, there, age in product(probes, (True, False), ages):
        facts = JudgeFacts(lock, there, None if age is None else NOW_NS - age, NOW_NS)
        stale = age is not None and age >= DAY
        leftover: tuple[str, ...] = ()
        if stale and there and lock in ("free", "missing"):
            leftover = ("remove_tree", "remove_lock") if lock == "free" else ("remove_tree",)
        orphan = ("remove_lock",) if stale and not there and lock == "free" else ()
        for what, judge, wanted in (
            ("leftover", rules.judge_leftover, leftover), ("lock file", rules.judge_lock, orphan),
        ):  # fmt: skip
            found = judge(facts)
            wrong = None if found.steps == wanted else f"the plan is {found.steps}, not {wanted}"
            yield f"{what}: lock {lock}, there={there}, age {age}", wrong or (None if found.why else "no reason")


def settlements() -> Iterator[Case]:
    """Each errno that a rename can have, and none."""
    for code in (None, *sorted(errno.errorcode), 9999):
        wanted = "published" if code is None else "exists" if code == errno.EEXIST else "failed"
        if code in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
            wanted = "unsupported"
        found = rules.settle(code)
        name = "success" if code is None else errno.errorcode.get(code, str(code))
        yield name, None if found == wanted else f"it is settled as {found}, not {wanted}"


def on_trees(wrong: Callable[[Tree, set[Path]], str | None]) -> Callable[[], Iterator[Case]]:
    """A law about what a sweep removes, asked of every small tree."""

    def cases() -> Iterator[Case]:
        for tree in model.small_trees():
            yield str(tree), wrong(tree, set(model.swept(tree)))

    return cases


def takes_live(tree: Tree, gone: set[Path]) -> str | None:
    """Something that goes is held, itself or by its lock file."""
    for path in gone:
        holder = _beside(tree, path, f"{path[-1]}.lock") or model.at(tree, path)
        if holder.held:
            return f"{path} is held and goes"
    return None


def takes_young(tree: Tree, gone: set[Path]) -> str | None:
    """Something that goes was touched within the day, or in the future."""
    young = [path for path in gone if model.at(tree, path).age_ns < DAY]
    return f"{young} is young and goes" if young else None


def goes_in(tree: Tree, gone: set[Path]) -> str | None:
    """Something goes that is no leftover, or lies in what a sweep does not enter."""
    for path in gone:
        kinds = [model.at(tree, path[: depth + 1]).kind for depth in range(len(path) - 1)]
        if any(kind != "directory" for kind in kinds) or any(map(model.looks_left_over, path[:-1])):
            return f"{path} lies where a sweep does not go"
        kind = model.at(tree, path).kind
        lock = path[-1].endswith(".lock")
        if not model.looks_left_over(path[-1].removesuffix(".lock")) or kind not in (
            ("file",) if lock else ("directory", "storage")
        ):
            return f"{path}, a {kind}, is no leftover"
    return None


def leaves_some(tree: Tree, gone: set[Path]) -> str | None:
    """Something stays that is free, a day old and within reach."""
    left = [path for path in model.paths(tree) if model.should_go(tree, path) and path not in gone]
    return f"{left} stays" if left else None


def differs(tree: Tree, gone: set[Path]) -> str | None:
    """What goes is not exactly what the model removes."""
    wanted = {path for path in model.paths(tree) if model.should_go(tree, path)}
    return None if gone == wanted else f"{sorted(gone)} goes, and {sorted(wanted)} should"


def _beside(tree: Tree, path: Path, name: str) -> model.Node | None:
    try:
        return model.at(tree, (*path[:-1], name))
    except KeyError:
        return None


RULES = Check(
    "staging_rules",
    "The rules of staging decide as their laws say, in every small case.",
    (
        Question(staging.MEET_EXACT, meetings),
        Question(staging.MEET_MINTED, minted),
        Question(staging.JUDGE_EXACT, judgements),
        Question(staging.PUBLISH_SETTLES, settlements),
        Question(staging.SWEEP_NEVER_LIVE, on_trees(takes_live)),
        Question(staging.SWEEP_NEVER_YOUNG, on_trees(takes_young)),
        Question(staging.SWEEP_STAYS_OUT, on_trees(goes_in)),
        Question(staging.SWEEP_REACHES_EVERY_DEPTH, on_trees(leaves_some)),
        Question(staging.JUDGE_REFINES, on_trees(differs)),
    ),
)
