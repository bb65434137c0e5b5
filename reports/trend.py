"""How nights of fuzzing went, one beside the other: what the trend page shows, as plain values.

A night that ran as several shards is one night: its shards have one seed, and their counts are added. For each measure
there is one chart of bars, a bar a night; of failures the known ones stand above the new ones. The numbers of every bar
are in the table below the charts, and the failures of all nights below that, each with how often and when it was met.
"""

from __future__ import annotations

from typing import Any

from reports.describe import count

Value = dict[str, Any]

WIDTH, HEIGHT, LEFT, BOTTOM = 420, 150, 6, 24
"""Of a chart, in units of its view box."""
BAR_MAX = 36
SUMS = ("histories", "states", "new", "classes")


def trend(nights: list[Value]) -> Value:
    """All that the page shows: nights, charts, failures."""
    rows = by_seed(nights)
    return {
        "nights": rows,
        "charts": [
            chart("Crash states judged", rows, [("states", "bar")]),
            chart("New fingerprints", rows, [("new", "bar")]),
            chart("Failures", rows, [("failed", "bar bad"), ("known", "bar mild")]),
        ],
        "failures": _failures(rows),
        "targets": _targets(rows),
    }


def by_seed(nights: list[Value]) -> list[Value]:
    """One row for each night, in the order in which they began; shards of one seed are added."""
    rows: dict[str, Value] = {}
    for night in sorted(nights, key=lambda night: (night["started"], night["shard"])):
        row = rows.setdefault(
            night["seed"],
            {"seed": night["seed"], "day": night["started"][:10], "started": night["started"], "shards": [],
             "seconds": 0.0, "ended": [], "failures": {}, "targets": [], **dict.fromkeys(SUMS, 0)},
        )  # fmt: skip
        for name in SUMS:
            row[name] += night[name]
        row["seconds"] = max(row["seconds"], night["seconds"])
        row["shards"].append(night["shard"])
        row["targets"].append(night["targets"])
        died = [f"{count(night['died'], 'worker')} died"] if night.get("died") else []
        for said in (night["ended"], *night.get("trouble", ()), *died):
            if said not in row["ended"]:
                row["ended"].append(said)
        for failure in night["failures"]:
            row["failures"].setdefault(failure["id"], failure)
    for row in rows.values():
        row["known"] = sum(one["known"] is not None for one in row["failures"].values())
        row["failed"] = len(row["failures"]) - row["known"]
    return list(rows.values())


def chart(title: str, rows: list[Value], series: list[tuple[str, str]]) -> Value:
    """One chart: bars with their places, the series stacked from the bottom up, and the scale."""
    most = max((sum(row[name] for name, _ in series) for row in rows), default=0)
    step = (WIDTH - LEFT) / max(1, len(rows))
    width = min(BAR_MAX, step * 0.7)
    bars: list[Value] = []
    for at, row in enumerate(rows):
        x, top = LEFT + step * at + (step - width) / 2, float(HEIGHT - BOTTOM)
        for name, kind in series:
            height = (HEIGHT - BOTTOM - 18) * row[name] / most if most else 0.0
            if height:
                top -= height
                bars.append(_bar(x, top, width, max(height, 1.5), kind, f"{row['day']}: {row[name]:,} {name}"))
    every = max(1, -(-len(rows) // 10))
    labels = [
        {"x": round(LEFT + step * (at + 0.5), 1), "text": row["day"][5:]}
        for at, row in enumerate(rows)
        if at % every == 0
    ]
    total = sum(row[name] for row in rows for name, _ in series)
    return {
        "title": title, "bars": bars, "labels": labels, "most": most, "total": total, "width": WIDTH,
        "height": HEIGHT, "base": HEIGHT - BOTTOM,
    }  # fmt: skip


def _bar(x: float, y: float, width: float, height: float, kind: str, title: str) -> Value:
    return {
        "x": round(x, 1), "y": round(y, 1), "width": round(width, 1), "height": round(height, 1), "kind": kind,
        "title": title,
    }  # fmt: skip


def _failures(rows: list[Value]) -> list[Value]:
    """Each failure once: new ones first, then by how often it was met."""
    found: dict[str, Value] = {}
    for row in rows:
        for failure in row["failures"].values():
            one = found.setdefault(failure["id"], {**failure, "days": []})
            one["known"] = failure["known"]
            one["days"].append(row["day"])
    return sorted(found.values(), key=lambda one: (one["known"] is not None, -len(one["days"]), one["id"]))


def _targets(rows: list[Value]) -> list[Value]:
    """What the last night did, by target."""
    if not rows:
        return []
    added: dict[str, Value] = {}
    for shard in rows[-1]["targets"]:
        for name, counts in shard.items():
            row = added.setdefault(name, {"name": name, **dict.fromkeys(counts, 0)})
            for key, value in counts.items():
                row[key] += value
    return [added[name] for name in sorted(added)]
