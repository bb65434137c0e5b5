"""Whether a token still fits the code: it does the same, and breaks a law by that.

A token that does not is stale, which says nothing of the code but that it is another. What a person is told is where it
became another: the fingerprint in a token says among which calls, and the run made just now says which those are.
"""

from __future__ import annotations

from simfs.errors import StaleToken
from simfs.explore.boot import run_boot
from simfs.explore.choices import Replayed
from simfs.explore.ready import Ready
from simfs.explore.retrace import Retraced
from simfs.explore.spec import Spec
from simfs.explore.token import Token, departure
from simfs.machine.ops import Note

SHOWN_MAX = 8
"""Of the ops among which a run leaves what a token recorded, so many are shown."""


def still_does(ready: Ready, token: Token) -> None:
    """Run the first boot of a token, and compare. Raises StaleToken where it does not do what the token recorded,
    naming the calls among which it began to do something else."""
    if not token.code:
        return
    spec, leg = ready.spec, token.path[0]
    choices = Replayed(leg.schedule)
    run = run_boot(spec, spec.processes, ready.attributes, ready.base, choices, sites=True, plan=leg.plan)
    left = departure(token.code, run.ops)
    if left is None:
        return
    ops = [op for op in run.ops[left.start : left.stop] if not isinstance(op, Note)]
    same = f"{left.start} op{'s are' if left.start != 1 else ' is'} as recorded. " if left.start else ""
    lines = [
        f"stale token: {spec.name} does not do what the token recorded. Nothing was judged; run the scenario again for"
        " a fresh token.",
        f"{same}{'The first that is another is among these:' if ops else 'The token went on, and this run ends.'}",
        *(f"  {op.index} {type(op).__name__.lower()} {op.path} at {op.site}" for op in ops[:SHOWN_MAX]),
    ]
    if len(ops) > SHOWN_MAX:
        lines.append(f"  and {len(ops) - SHOWN_MAX} more")
    raise StaleToken("\n".join(lines))


def still_broken(spec: Spec, walked: Retraced) -> None:
    """Raises StaleToken where no law is broken on a path any more."""
    if not walked.findings:
        raise StaleToken(
            f"stale token: no law of {spec.name} is broken on this path any more. The code that recovers or judges"
            " has changed since; run the scenario again to learn whether it holds everywhere."
        )
