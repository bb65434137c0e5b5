"""Commands of `simfs` about a directory that somebody has: check-image and explain-image.

check-image says what the real code and the laws make of a copy. It ends with 0 when the store is read and with 1 when
it is refused. explain-image looks for a crash that leaves the same damage, on the weakest assumptions that suffice:
first one power loss, then two, then a call that fails, then two processes at once; each on the disk models from the
kindest to the harshest. It ends with 0 when it has found one, with 3 when there is none within the bounds that it
names.
"""

from __future__ import annotations

import os
import sys
import textwrap
from collections.abc import Callable
from itertools import product
from typing import Annotated, Any

import typer

from scenarios.image_laws import laws_say
from scenarios.image_stories import STAGES, WORKLOADS, Stage, story
from scenarios.images import STORES, Damage, examine, store_in
from simfs.errors import UsageError
from simfs.explore.explorer import explore
from simfs.explore.verdict import Searched, Verdict

MODELS = ("scc", "synced-only", "prefix", "ext4", "posix-weakest", "hostile+prefix", "hostile+ext4")
"""From the kindest to the harshest."""
Directory = Annotated[str, typer.Argument(help="The directory of the store. It is only read.", metavar="DIR")]
Store = Annotated[str | None, typer.Option(help="Which store it is; looked for when not given.", metavar="STORE")]


def check_image(directory: Directory, store: Store = None) -> None:
    """Open a copy of a damaged directory with the real code, and say what each law says of it."""
    kind = _store(directory, store)
    damage = examine(kind, directory)
    print(f"{directory}: a store of kind {kind}; {damage}")
    for said in laws_say(kind, directory):
        text = f"{said.word:<9} {said.law.id}" + (f": {said.why}" if said.why else "")
        print("\n".join(textwrap.wrap(text, 80, initial_indent="  ", subsequent_indent=" " * 12)))
    print("  Laws that speak of promises cannot be judged: who was promised what is not here.")
    raise typer.Exit(1 if damage.error else 0)


def explain_image(
    directory: Directory,
    store: Store = None,
    budget: Annotated[float, typer.Option(help="Seconds for each disk model in each step of the search.")] = 10.0,
) -> None:
    """Look for a crash that leaves the same damage: the shortest story, the kindest disk model, and its token."""
    kind = _store(directory, store)
    damage = examine(kind, directory)
    if damage.sound:
        print(f"{directory}: nothing to explain: {damage}")
        return
    print(f"{directory}: {damage}")
    searched = Searched()
    unfinished: dict[str, list[str]] = {}
    try:
        for stage, model in product(STAGES, MODELS):
            if model == MODELS[0]:
                print(f"looking for {stage.words} ...", file=sys.stderr, flush=True)
            verdict = search(damage, model, stage, budget)
            searched = searched + verdict.searched
            if verdict.counterexample is not None:
                print(f"A crash leaves this on {model}, the first model on which one does. It takes {stage.words}.\n")
                print(verdict.counterexample.text())
                return
            if not verdict.ok:
                unfinished.setdefault(stage.words, []).append(model)
    except KeyboardInterrupt:
        unfinished.setdefault(stage.words, []).append(f"{model}, and all after that: interrupted by Ctrl-C")
    print(_none_within(damage, searched, unfinished, budget))
    raise typer.Exit(3)


def search(damage: Damage, model: str, stage: Stage, budget: float) -> Verdict:
    """Look for the damage on one model, with so much that may go wrong."""
    return explore(story(damage, stage.together), disk=model, budget=budget, **stage.options)


def _none_within(damage: Damage, searched: Searched, unfinished: dict[str, list[str]], budget: float) -> str:
    lines = [
        "No crash within these bounds leaves this:",
        f"  workload    {WORKLOADS[damage.store]}",
        f"  with        {'; or '.join(stage.words for stage in STAGES)}",
        f"  disk models {', '.join(MODELS)}",
        f"  searched    {searched.executions:,} runs, {searched.crash_points:,} crash points, "
        f"{searched.images:,} crash images",
        "So something else than a power loss is likelier: another program, a copy made by hand, or the disk.",
    ]
    if unfinished:
        lines.append(f"Not searched to the end in {budget:g} s each (--budget gives more):")
        lines += [f"  {words}: {', '.join(models)}" for words, models in unfinished.items()]
    return "\n".join(
        "\n".join(textwrap.wrap(line, 80, subsequent_indent=" " * (14 if line.startswith("  ") else 0)))
        for line in lines
    )


def _store(directory: str, store: str | None) -> str:
    if not os.path.isdir(directory):
        raise UsageError(f"{directory} is no directory")
    if store is None:
        return store_in(directory)
    if store not in STORES:
        raise UsageError(f"no store {store!r} can be examined; there are {', '.join(STORES)}")
    return store


def register(app: typer.Typer, wrap: Callable[[Callable[..., None]], Callable[..., Any]]) -> None:
    """Add the commands."""
    app.command("check-image")(wrap(check_image))
    app.command("explain-image")(wrap(explain_image))
