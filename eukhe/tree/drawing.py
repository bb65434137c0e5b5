"""A session tree, a rewind plan and records, drawn for a terminal.

Each node is a line: its id, its type and name, and what changed lately in it. Values of any program are shown, so a
value that is not one of the state tree's is shown as its JSON.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from rich.text import Text
from rich.tree import Tree

from eukhe.tree.journal import Node
from eukhe.tree.plan import RewindPlan
from eukhe.tree.records import Delete, Put, Record

VALUE_CHARACTERS_MAX = 72


def draw_tree(title: str, nodes: Iterable[Node]) -> Tree:
    """The nodes below a title. They must come with ids ascending, as a snapshot gives them."""
    root = Tree(Text(title))
    branches = {0: root}
    for node in nodes:
        branches[node.id] = branches[node.parent].add(Text(describe_node(node)))
    return root


def describe_node(node: Node | tuple[int, int, Any]) -> str:
    """One node on one line."""
    return f"{node[0]}  {_describe_value(node[2])}"


def describe_record(record: Record) -> str:
    """One record on one line."""
    if isinstance(record, Put):
        return f"put {record.id} below {record.parent}  {_describe_value(record.value)}"
    if isinstance(record, Delete):
        return f"del {record.id}"
    return f"rewind {len(record.changes)} nodes"


def describe_plan(plan: RewindPlan) -> list[str]:
    """A rewind plan, line by line, in the order in which it is carried out."""
    lines = [f"stop     {node}" for node in plan.stops]
    lines += [f"start    {describe_node(node)}" for node in plan.starts]
    lines += [f"restore  {describe_node(node)}" for node in plan.restores]
    return lines or ["nothing to do"]


def _describe_value(value: Any) -> str:
    if isinstance(value, dict):
        if {"key", "scope", "created"} <= value.keys():
            return f"document {value['kind']} {value['key']}  commits {value['created']} to {value['changed']}"
        if {"kind", "conversation", "head", "task"} == value.keys():
            of_task = f"  task {value['task']}" if value["task"] is not None else ""
            return f"entry {value['kind'] or ''}{of_task}"
        if "type" in value and "id" in value:
            state = f"  {value['state']}" if "state" in value else ""
            title = f"  {value['title']}" if "title" in value else ""
            return f"{value['type']} {value['id']}{state}{title}"
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= VALUE_CHARACTERS_MAX else text[: VALUE_CHARACTERS_MAX - 1] + "…"
