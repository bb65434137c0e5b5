"""The answer of `simfs outcomes`: what may be left, by how far the program had come.

Trees that may be left at several points are listed once each, with the steps after which they may be. A path that is
in no tree of the list is not in the list either: "(nothing)" is the empty directory.
"""

from __future__ import annotations

from collections.abc import Sequence

from reports.treediff import content
from simfs.explore.outcomes import Outcome


def outcome_lines(outcomes: Sequence[Outcome], disk: str, width: int = 80) -> list[str]:
    """The whole answer."""
    trees: dict[tuple[tuple[str, str | bytes], ...], list[int]] = {}
    for outcome in outcomes:
        trees.setdefault(tuple(sorted(outcome.tree.items())), []).append(outcome.after)
    steps = max((outcome.after for outcome in outcomes), default=0)
    lines = [f"On {disk} a power loss may leave {len(trees)} tree{'s' * (len(trees) != 1)}:"]
    for number, (tree, afters) in enumerate(sorted(trees.items(), key=lambda item: (item[1], repr(item[0]))), 1):
        lines += ["", f"{number}. {when(sorted(set(afters)), steps)}"]
        if not tree:
            lines.append("     (nothing)")
        room = max((len(path) for path, _ in tree), default=0)
        lines += [f"     {path:<{room}}  {content(value, width - room - 8)}" for path, value in tree]
    return lines


def when(afters: list[int], steps: int) -> str:
    """At which points of the program: in words."""
    words = [_point(after, steps) for after in afters]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _point(after: int, steps: int) -> str:
    if after == steps:
        return "after it returned" if steps == 1 else f"after all {steps} steps"
    if after == 0:
        return "while it runs" if steps == 1 else "during step 1"
    return f"during step {after + 1}"
