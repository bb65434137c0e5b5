"""A night as values: a verdict for each target, as `simfs run` has them, and the record of the night for the trend.

The record holds sums and lists only, so records of shards and of nights are put together by listing them.
"""

from __future__ import annotations

from typing import Any

from scenarios.fuzz.marks import by_kind
from scenarios.fuzz.night import Night
from scenarios.fuzz.tally import Counts
from simfs.explore.verdict import Searched, Verdict, together

Record = dict[str, Any]


def verdicts_of(night: Night) -> list[Verdict]:
    """One verdict for each target that was drawn from: violated where a failure is new, else sampled."""
    out: list[Verdict] = []
    for target in sorted(night.tally.by_target):
        parts = [
            _verdict(night, target, disk, counts)
            for (name, disk), counts in sorted(night.tally.by_disk.items())
            if name == target
        ]
        verdict = together(parts)
        verdict.searched.executions = sum(part.searched.executions for part in parts)  # no two models share a history
        found = [failure for failure in night.new_failures if failure.target == target]
        if found:
            verdict.tags["law"], verdict.tags["text"] = found[0].law, found[0].text
        out.append(verdict)
    return out


def _verdict(night: Night, target: str, disk: str, counts: Counts) -> Verdict:
    searched = Searched(
        executions=counts.histories, crash_points=counts.states, images=counts.states,
        recoveries=counts.states, seconds=round(counts.seconds, 3),
    )  # fmt: skip
    reason = f"{counts.histories:,} histories, seed {night.wish.stream}"
    here = [one for one in night.tally.failures.values() if (one.target, one.disk) == (target, disk)]
    new = [one for one in here if one.id not in night.known]
    if new:
        return Verdict(target, "violated", searched, reason=f"law {new[0].law} is broken", disk=disk)
    if here:
        reason += f"; known: {', '.join(one.id for one in here)}"
    return Verdict(target, "sampled", searched, reason=reason, disk=disk)


def record_of(night: Night, started: str, jobs: int) -> Record:
    """The record. `started` is the time of day as the caller writes it."""
    tally, wish = night.tally, night.wish
    marks = set().union(*tally.marks.values()) if tally.marks else set()
    return {
        "seed": wish.seed,
        "shard": f"{wish.shard[0]}/{wish.shard[1]}",
        "started": started,
        "seconds": round(night.seconds, 1),
        "budget": wish.budget_s,
        "jobs": jobs,
        "ended": night.ended,
        "alarm": night.alarm,
        "histories": sum(counts.histories for counts in tally.by_target.values()),
        "states": sum(counts.states for counts in tally.by_target.values()),
        "new": tally.fresh,
        "marks": by_kind(marks),
        "classes": len(tally.classes),
        "corpus": {
            "before": night.before, "replayed": night.before - night.unreplayed, "added": tally.added,
            "pruned": night.pruned,
        },
        "died": night.workers.died,
        "skipped": night.skipped,
        "trouble": night.trouble,
        "targets": {
            name: {
                "histories": counts.histories, "states": counts.states, "seconds": round(counts.seconds, 1),
                "broken": counts.broken, "marks": len(tally.marks.get(name, ())), "new": tally.fresh_of.get(name, 0),
            }
            for name, counts in sorted(tally.by_target.items())
        },
        "failures": [
            {
                "id": one.id, "target": one.target, "disk": one.disk, "law": one.law, "cause": one.cause,
                "known": night.known.get(one.id), "token": one.token, "text": one.text,
            }
            for one in sorted(tally.failures.values(), key=lambda one: (one.target, one.law, one.id))
        ],
    }  # fmt: skip
