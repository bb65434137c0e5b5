"""Turning a litmus program into a story that a person can check: the program in words, the outcomes in a table."""

from __future__ import annotations

from textwrap import wrap

from simfs.explore.outcomes import Outcome, outcomes
from tests.litmus_calls import shown
from tests.litmus_programs import Litmus

Shape = tuple[tuple[str, str], ...]


def shape_of(outcome: Outcome) -> Shape:
    """A tree as it is printed: path -> content in words."""
    return tuple((path, what if isinstance(what, str) else shown(what)) for path, what in sorted(outcome.tree.items()))


def outcome_sets(program: Litmus) -> dict[str, dict[Shape, list[int]]]:
    """Model -> tree -> after how many steps it is possible."""
    found: dict[str, dict[Shape, list[int]]] = {}
    for model in program.models:
        mine = found.setdefault(model, {})
        for outcome in outcomes(list(program.steps), setup=program.prepare, disk=model):
            mine.setdefault(shape_of(outcome), []).append(outcome.after)
    return found


def story(program: Litmus) -> str:
    """The whole text of a golden file."""
    lines = [f"{program.name}: {program.asks}", ""]
    for step in program.setup:
        lines.append(f"   durable: {step.words}")
    lines += [f"   {number}. {step.words}" for number, step in enumerate(program.steps, 1)]
    lines.append("")
    lines += wrap(
        "What a power loss may leave, and after how many returned steps it may (a step under way counts as not "
        "returned; '.' means never).",
        100,
    )
    lines.append("")
    sets = outcome_sets(program)
    rows: dict[Shape, None] = {}
    for mine in sets.values():
        rows.update(dict.fromkeys(sorted(mine, key=lambda shape: (mine[shape], shape))))
    trees = {row: ", ".join(f"{path}: {what}" for path, what in row) or "(nothing)" for row in rows}
    width = max(len(text) for text in trees.values()) + 2
    heads = [model.replace("ext4:dioread=", "e4:").replace("ext4:tear=", "e4:") for model in sets]
    lines.append("   " + "left".ljust(width) + "  ".join(heads))
    for row, text in trees.items():
        cells = [_steps(mine.get(row, [])).ljust(len(head)) for head, mine in zip(heads, sets.values(), strict=True)]
        lines.append(("   " + text.ljust(width) + "  ".join(cells)).rstrip())
    lines.append(
        "   "
        + "trees".ljust(width)
        + "  ".join(str(len(mine)).ljust(len(head)) for head, mine in zip(heads, sets.values(), strict=True)).rstrip()
    )
    return "\n".join(lines) + "\n"


def _steps(after: list[int]) -> str:
    """[0, 1, 2, 4] -> "0-2,4"; nothing -> "."."""
    if not after:
        return "."
    runs: list[list[int]] = []
    for number in after:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
