"""The protocol of `eukhe rules tree`, as a person reads it off its page: `json`, and the plain tree at each cursor.

`Model.wanted` says of any line what must be answered: the answer, or which code the error form must have. A request is
an object of exactly `id`, `op`, `args`; each operation has its fields and their types; each state takes its operations;
a refused line changes nothing.
"""

from __future__ import annotations

import json
from typing import Any

from eukhe.tree import model
from eukhe.tree.records import Delete, Put, Record, Rewind


class Wrong(Exception):
    """The error form with this code is the answer."""


class Model:
    """The stepper as the protocol's page has it. `trees` is None while closed."""

    def __init__(self) -> None:
        self.trees: list[model.Tree] | None = None
        self.bits = 0

    def wanted(self, line: bytes) -> tuple[str, Any]:
        """("ok", the answer) or ("error", its code); a refused request changes nothing."""
        try:
            return "ok", self._answer(line)
        except Wrong as wrong:
            return "error", str(wrong)

    def _answer(self, line: bytes) -> Any:
        _must(line.endswith(b"\n"), "trailing")
        try:
            request = json.loads(line.decode())
        except (ValueError, RecursionError):
            raise Wrong("malformed") from None
        _must(_has_fields(request, "id", "op", "args") and _is_int(request["id"]), "malformed")
        op, args = request["op"], request["args"]
        _must(isinstance(op, str), "malformed")
        _must(op in FIELDS, "unknown_op")
        _must(_has_fields(args, *FIELDS[op]), "bad_args")
        return getattr(self, f"_{op}")(**args)

    def _open(self, bits: Any) -> Any:
        _must(_is_int(bits) and 1 <= bits <= 63, "bad_args")
        _must(self.trees is None, "out_of_place")
        self.trees, self.bits = [{}], int(bits)
        return {"cursor": 0, "nodes": []}

    def _push(self, record: Any) -> Any:
        read = _record(record)
        trees = self._opened()
        sets = [read.id] if isinstance(read, Put) else []
        if isinstance(read, Rewind):
            sets = [node for node, to in read.changes if to is not None]
        _must(all(node < 2**self.bits for node in sets), "refused")
        after = model.apply(trees[-1], read)
        trees.append(after.tree)
        return {"taken": after.taken, "removed": list(after.removed)}

    def _snapshot(self, cursor: Any) -> Any:
        tree = self._at(cursor)
        return {"cursor": int(cursor), "nodes": [_node(i, tree[i]) for i in sorted(tree)]}

    def _plan(self, cursor: Any) -> Any:
        tree = self._at(cursor)
        live = self._opened()[-1]
        found = model.differences(live, tree)
        return {
            "cursor": int(cursor),
            "stops": sorted((i for i, to in found.items() if to is None), reverse=True),
            "starts": [_node(i, to) for i, to in found.items() if to is not None and i not in live],
            "restores": [_node(i, to) for i, to in found.items() if to is not None and i in live],
        }

    def _close(self) -> Any:
        self._opened()
        self.trees = None
        return {}

    def _opened(self) -> list[model.Tree]:
        _must(self.trees is not None, "out_of_place")
        assert self.trees is not None
        return self.trees

    def _at(self, cursor: Any) -> model.Tree:
        _must(_is_int(cursor), "bad_args")
        trees = self._opened()
        _must(0 <= cursor < len(trees), "refused")
        return trees[int(cursor)]


FIELDS = {"open": ("bits",), "push": ("record",), "snapshot": ("cursor",), "plan": ("cursor",), "close": ()}


def _must(good: bool, code: str) -> None:
    if not good:
        raise Wrong(code)


def _has_fields(value: Any, *fields: str) -> bool:
    return isinstance(value, dict) and sorted(value) == sorted(fields)


def _is_int(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


def _is_id(value: Any) -> bool:
    return _is_int(value) and -(2**63) <= value < 2**63


def _record(given: Any) -> Record:
    _must(isinstance(given, dict) and len(given) == 1, "bad_args")
    ((kind, held),) = given.items()
    if kind == "put":
        _must(_is_list(held, 3) and _is_id(held[0]) and _is_id(held[1]), "bad_args")
        return Put(int(held[0]), int(held[1]), held[2])
    if kind == "del":
        _must(_is_id(held), "bad_args")
        return Delete(int(held))
    _must(kind == "rewind" and isinstance(held, list), "bad_args")
    changes: list[tuple[int, tuple[int, Any] | None]] = []
    for change in held:
        _must(_is_list(change, 2) and _is_id(change[0]), "bad_args")
        to = change[1]
        _must(to is None or (_is_list(to, 2) and _is_id(to[0])), "bad_args")
        changes.append((int(change[0]), None if to is None else (int(to[0]), to[1])))
    return Rewind(tuple(changes))


def _is_list(value: Any, length: int) -> bool:
    return isinstance(value, list) and len(value) == length


def _node(i: int, node: model.Node) -> list[Any]:
    return [i, node[0], json.loads(node[1])]
