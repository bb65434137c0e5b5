"""The interactive time line of one counterexample, as plain values: its rows, and the disk at each of them.

It is made from a counterexample of a JSON artifact, so a report can be rendered anywhere, also from merged artifacts.

A row is an op that a time line tells, the start of a boot, a crash, the end of a run, or the judging law. Each row has
a *scene*: a heading for the disk table, its columns, one line for each path, the pending ops, and a note. Texts are
shared through one pool, because most of them stand there many times. Paths are as seen from the counterexample's root;
directories that hold something are told by what they hold; of the paths that never change only some are listed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from reports.describe import count
from reports.paths import below
from reports.treediff import content

Value = dict[str, Any]
Tree = dict[str, str]
CONTENT_MAX = 120
"""Characters of a file's content that are shown."""
UNCHANGED_MAX = 12
ABSENT = "(not there)"


@dataclass(slots=True)
class Pool:
    """Texts by number; equal texts have one number."""

    texts: list[str] = field(default_factory=list)
    _known: dict[str, int] = field(default_factory=dict)

    def number(self, text: str) -> int:
        """The number of a text."""
        if text not in self._known:
            self._known[text] = len(self.texts)
            self.texts.append(text)
        return self._known[text]


@dataclass(slots=True)
class Line:
    """The whole time line: `rows` for the page, `scenes` (one a step) and `texts` for its script."""

    rows: list[Value]
    scenes: list[Value]
    texts: list[str]
    lanes: int
    start: int
    """The step that is shown first: the last crash, or the end."""


def time_line(found: Value) -> Line:
    """The time line of a counterexample of an artifact."""
    pool = Pool()
    rows: list[Value] = []
    scenes: list[Value] = []
    shown = _shown_paths(found)
    first_shown = None
    for number, boot in enumerate(found["boots"], 1):
        rows.append({"kind": "boot", "title": _title(boot, number), "processes": boot["processes"]})
        for row, scene in _boot(boot, found, shown, pool):
            row["step"] = len(scenes)
            rows.append(row)
            scenes.append(scene)
        if boot["crash"] is not None:
            first_shown = len(scenes) - 1
    rows.append({"kind": "judge", "step": len(scenes), "law": found["law"], "text": found.get("found", "")})
    scenes.append(_judged(found, shown, pool))
    lanes = max((op["process"] + 1 for boot in found["boots"] for op in boot["ops"]), default=1)
    return Line(rows, scenes, pool.texts, max(1, lanes), len(scenes) - 1 if first_shown is None else first_shown)


def _title(boot: Value, number: int) -> str:
    if boot["kind"] == "recovery":
        return f"Recovery ran (boot {boot['boot']})"
    return "What happened" if number == 1 else f"Boot {boot['boot']} ran"


def _boot(boot: Value, found: Value, shown: list[str], pool: Pool) -> Iterator[tuple[Value, Value]]:
    ops = {op["index"]: op for op in boot["ops"]}
    looked = boot["crash"] is not None and not boot["crash"]["pick"]
    crashed = boot["crash"] is not None and not looked
    root = found["root"]
    trees = _Trees(boot, root)
    yield {"kind": "start", "text": "before the first op"}, _moment(trees, -1, "Before the first op", ops, shown, pool)
    last = "before the first op"
    for index in boot["issued"]:
        op = ops[index]
        if not op.get("told", True):
            continue
        row = {**op, "kind": "op", "lane": op["process"], "shape": shape(op), "fate": fate(op, crashed)}
        row["fate_text"] = (op["fate"] or "").replace(" bytes kept", " B kept")
        yield row, _moment(trees, index, f"After op {index}, {op['call']}", ops, shown, pool)
        last = f"after op {index}"
    if crashed:
        heads = ["a reader saw", "the disk kept"]
        scene = _table(
            f"Power loss {last}", heads, displayed(boot["seen"], root), displayed(boot["left"], root), shown, pool
        )
        lost = [_op_text(op) + f" ({op['fate']})" for op in boot["ops"] if op["fate"] not in (None, "durable", "kept")]
        scene["list"] = ["lost by the crash", [pool.number(text) for text in lost]]
        yield {"kind": "crash", "text": f"POWER LOSS {last}"}, scene
    elif looked:
        yield (
            {"kind": "end", "text": f"here a reader looks, {last}"},
            _moment(trees, None, "What a reader sees", ops, shown, pool),
        )
    elif boot["kind"] == "run":
        yield {"kind": "end", "text": "every process ended"}, _moment(trees, None, "At the end", ops, shown, pool)


class _Trees:
    """The trees of a boot, moment by moment: changes are applied as far as they were asked for."""

    def __init__(self, boot: Value, root: str) -> None:
        self.root = root
        self.left = list(boot.get("moments") or ())
        self.seen: dict[str, Any] = {} if self.left else dict(boot["seen"])
        self.durable: dict[str, Any] = {}
        self.pending: list[int] = []
        self.known = bool(self.left)

    def until(self, index: int | None) -> None:
        """Go on to the moment after this op; None: to the last."""
        while self.left and (index is None or self.left[0]["after"] <= index):
            moment = self.left.pop(0)
            self.seen = _changed(self.seen, moment["seen"])
            self.durable = _changed(self.durable, moment["durable"])
            self.pending = moment["pending"]


def _changed(tree: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    return {path: value for path, value in {**tree, **changes}.items() if value is not None}


def _moment(trees: _Trees, index: int | None, title: str, ops: dict[int, Value], shown: list[str], pool: Pool) -> Value:
    trees.until(index)
    seen, durable = displayed(trees.seen, trees.root), displayed(trees.durable, trees.root)
    if not trees.known:
        return _table(title, ["a reader sees"], seen, None, shown, pool)
    scene = _table(title, ["a reader sees", "durable"], seen, durable, shown, pool)
    waiting = [pool.number(_op_text(ops[index])) for index in trees.pending if index in ops]
    scene["list"] = ["pending: issued, and not yet durable", waiting]
    scene["pending"] = trees.pending
    return scene


def _judged(found: Value, shown: list[str], pool: Pool) -> Value:
    scene = _table(
        "What the law was judged on", ["the disk"], displayed(found["recovered"], found["root"]), None, shown, pool
    )
    reads = [f"{read['who']} {read['did']} {below(read['path'], found['root'])}" for read in found.get("reads", ())]
    scene["list"] = ["what recovery and the law looked at", [pool.number(text) for text in reads]]
    return scene


def _table(title: str, heads: list[str], one: Tree, other: Tree | None, shown: list[str], pool: Pool) -> Value:
    """`lines`: (path, one column or two, whether they differ)."""
    lines = []
    for path in shown:
        first = one.get(path)
        second = first if other is None else other.get(path)
        if first is None and second is None:
            continue
        texts = [first or ABSENT] if other is None else [first or ABSENT, second or ABSENT]
        lines.append([pool.number(path), *map(pool.number, texts), int(first != second)])
    return {"title": title, "heads": heads, "lines": lines, "list": None, "pending": []}


def _shown_paths(found: Value) -> list[str]:
    """The paths that some moment changes, and a few that none does, in order."""
    root = found["root"]
    values: dict[str, set[str | None]] = {}
    trees: list[Tree] = [displayed(found["recovered"], found["root"])]
    for boot in found["boots"]:
        trees += [displayed(boot["seen"], root), displayed(boot["left"], root)]
        at = _Trees(boot, root)
        while at.left:
            at.until(at.left[0]["after"])
            trees += [displayed(at.seen, root), displayed(at.durable, root)]
    every = telling(trees)
    for tree in trees:
        for path in every:
            values.setdefault(path, set()).add(tree.get(path))
    changed = [path for path in every if len(values[path]) > 1]
    same = [path for path in every if len(values[path]) == 1]
    return sorted([*changed, *same[:UNCHANGED_MAX]])


def telling(trees: list[Tree]) -> list[str]:
    """All paths of some trees, in order, without the directories that hold something: what they hold names them."""
    every = {path for tree in trees for path in tree}
    holders = {path.rpartition("/")[0] for path in every}
    above = {path for path in every if path.startswith("/")}
    return sorted(every - holders - (above if len(above) < len(every) else set()))


def displayed(tree: dict[str, Any], root: str) -> Tree:
    """A tree of an artifact for people: path as seen from `root` -> what is there."""
    return {below("/" + path, root): content(value_of(value), CONTENT_MAX) for path, value in tree.items()}


def value_of(value: Any) -> str | bytes | None:
    """A content of an artifact as it was in the tree."""
    if isinstance(value, dict):
        return str(value["text"]).encode() if "text" in value else bytes.fromhex(value["hex"])
    return None if value is None else str(value)


def shape(op: Value) -> str:
    """How an op is drawn in its lane: promises and flushes are not like changes."""
    if op["call"] in ("PROMISE", "EFFECT"):
        return "promise"
    return "flush" if op["call"] in ("fsync", "fdatasync", "sync", "fsync!") else "change"


def fate(op: Value, crashed: bool) -> str:
    """What became of an op in the crash: "durable", "kept", "lost", "part", or "" where there is nothing to say."""
    if not crashed or op["fate"] is None or shape(op) != "change":
        return ""
    return op["fate"] if op["fate"] in ("durable", "kept", "lost") else "part"


def _op_text(op: Value) -> str:
    return f"{op['index']} {op['call']} {op.get('short', op['detail'])}"


def diff_rows(found: Value) -> list[Value]:
    """The tree diff as rows: what readers saw, what the disk kept, and, where recovery changed it, what it became."""
    crashed = next((boot for boot in reversed(found["boots"]) if boot["crash"] and boot["crash"]["pick"]), None)
    recovered = displayed(found["recovered"], found["root"])
    seen = recovered if crashed is None else displayed(crashed["seen"], found["root"])
    left = recovered if crashed is None else displayed(crashed["left"], found["root"])
    paths = telling([seen, left, recovered])
    rows: list[Value] = [
        {"path": path, "seen": seen.get(path), "left": left.get(path), "recovered": recovered.get(path)}
        for path in paths
    ]
    for row in rows:
        row["changed"] = row["seen"] != row["left"]
        row["mended"] = row["left"] != row["recovered"]
    changed = [row for row in rows if row["changed"] or row["mended"]]
    same = [row for row in rows if not (row["changed"] or row["mended"])]
    more = len(same) - UNCHANGED_MAX
    rest = [{"more": count(more, "more path") + " unchanged"}] if more > 0 else []
    return changed + same[:UNCHANGED_MAX] + rest
