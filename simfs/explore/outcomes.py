"""`outcomes`: what may be left of my files if I do this?

A program of plain calls is run on a machine; every tree that a power loss may leave, at any point, is listed with how
many of its steps had returned by then. The answer is exact for the model: it backs the litmus tests, and it is what a
person asks first. """

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from simfs.disk.models import models_named
from simfs.errors import UsageError
from simfs.explore.boot import run_boot
from simfs.explore.choices import Replayed
from simfs.explore.explorer import stage_set
from simfs.explore.group import for_model
from simfs.explore.ready import prepare
from simfs.explore.scenario import scenario
from simfs.explore.spec import spec_of
from simfs.machine.ops import Ack

ROOT = "/disk"
Step = Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Outcome:
    """One tree that a power loss may leave: {path relative to the root: "dir" | bytes}, "-> target" for a symlink.
    `after` is how many steps had returned when the power went."""

    tree: dict[str, str | bytes]
    after: int

    def __hash__(self) -> int:
        return hash((tuple(sorted(self.tree)), self.after))


def outcomes(program: Step | Sequence[Step], setup: Step | None = None, disk: str = "prefix") -> list[Outcome]:
    """Every tree that a power loss during or after `program` may leave on the model `disk`.

    `program` is one function, or a list of functions (the steps); each takes the root directory as a string and uses
    plain calls. What `setup` made is durable. Sorted by `after`, then by tree. Raises UsageError when the model cut the
    enumeration short, because then "every" would not be true, and whatever the program raises.
    """
    steps = [program] if callable(program) else list(program)
    if not steps:
        raise UsageError("outcomes needs a program: a function, or a list of functions")

    def prepare_root(m: Any) -> None:
        m.system.mkdir(ROOT)
        if setup is not None:
            setup(ROOT)

    def run(m: Any) -> None:
        for step in steps:
            step(ROOT)
            m.ack("step")

    spec = spec_of(scenario(setup=prepare_root, processes=run, law=lambda: None, name="outcomes"))
    (model,) = models_named(disk) if disk != "all" else (None,)
    if model is None:
        raise UsageError('outcomes takes one disk model, not "all"')
    with stage_set(spec):
        ready = prepare(for_model(spec, model))
        done = run_boot(spec, spec.processes, ready.attributes, ready.base, Replayed(()))
    for runner in done.runners:
        if runner.error is not None:
            raise runner.error
    if done.stuck is not None:
        raise done.stuck
    found: dict[tuple[int, int], Outcome] = {}
    state, after = model.start(ready.base.image), 0
    for following in [*done.ops, None]:
        for digest, pick in state.leaves(following):
            if (digest, after) not in found:
                found[digest, after] = Outcome(state.image(pick, following).tree(ROOT), after)
        if following is not None:
            state.add(following)
            after += isinstance(following, Ack)
    if state.bounds:
        raise UsageError(f"too many outcomes to list: {'; '.join(sorted(state.bounds))}")
    unique = {(outcome.after, repr(sorted(outcome.tree.items()))): outcome for outcome in found.values()}
    return [unique[key] for key in sorted(unique)]
