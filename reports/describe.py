"""Ops in words: what a person would say happened at a line of the program."""

from __future__ import annotations

from pathlib import PurePath

from reports.paths import below, fitted
from simfs.machine.ops import (
    Ack,
    Ask,
    Close,
    Create,
    Effect,
    Fail,
    FailedFlush,
    Flush,
    FlushAll,
    HistoryOp,
    Link,
    Lock,
    Meta,
    Note,
    Op,
    Rename,
    Truncate,
    Unlink,
    Write,
)
from simfs.machine.site import Site

_VERBS: list[tuple[type[Op], str]] = [
    (Write, "write"), (Truncate, "truncate"), (Link, "link"), (FlushAll, "sync"), (Close, "close"),
    (Lock, "lock"), (Ack, "PROMISE"), (Effect, "EFFECT"), (Ask, "asked"), (Fail, "gave up"), (Note, "note"),
]  # fmt: skip


def verb(op: Op) -> str:
    """The call in one word, as programs name it."""
    if isinstance(op, Create):
        return {"dir": "mkdir", "symlink": "symlink"}.get(op.kind, "create")
    if isinstance(op, Unlink):
        return "rmdir" if op.is_dir else "unlink"
    if isinstance(op, Rename):
        return "exchange" if op.exchange else "rename"
    if isinstance(op, Flush):
        return "fdatasync" if op.data_only else "fsync"
    if isinstance(op, FailedFlush):
        return "fsync!"
    if isinstance(op, Meta):
        return {"mode": "chmod", "owner": "chown", "times": "utime", "xattr": "setxattr"}[op.what]
    return next((name for kind, name in _VERBS if isinstance(op, kind)), type(op).__name__.lower())


def detail(op: Op, room: int = 40, root: str = "/") -> str:
    """What the call was about, within `room` characters; paths as seen from `root`."""
    if isinstance(op, Rename):
        half = (room - 4) // 2
        source, target = below(op.path, root), below(op.to_path, root)
        source = fitted(source, max(half, room - 4 - len(target)))
        return f"{source} -> {fitted(target, room - 4 - len(source))}"
    if isinstance(op, HistoryOp):
        return short(told(op.label, op.value, room), room)
    if isinstance(op, Note):
        return short(op.text, room)
    if isinstance(op, FlushAll):
        return "everything" if op.device is None else "a whole filesystem"
    extra = _extra(op)
    path = below(op.path, root)
    if isinstance(op, Flush | FailedFlush) and op.is_dir:
        path = path.rstrip("/") + "/"
    text = f"{fitted(path, max(8, room - len(extra)))}{extra}"
    return text if len(text) <= room else short(text, room)


def _extra(op: Op) -> str:
    """What is said behind the path."""
    if isinstance(op, Write):
        return f" {len(op.data):,} B at {op.offset:,}"
    if isinstance(op, Truncate):
        return f" to {op.size:,} B"
    if isinstance(op, Create) and op.kind == "symlink":
        return f" -> {op.target}"
    if isinstance(op, FailedFlush):
        return " failed"
    if isinstance(op, Meta):
        return f" {meta_text(op)}"
    return f" {op.how}" if isinstance(op, Lock) else ""


def told(label: str, value: object, room: int = 40) -> str:
    """A promise or effect: its label, and its value when it has one."""
    return label if value is None else f"{label}={short(repr(value), room)}"


def thing(op: Op, root: str = "/") -> str:
    """What an op made, as the subject of a sentence."""
    path = below(op.path, root)
    if isinstance(op, Write):
        return f"the {count(len(op.data), 'byte')} written to {path}"
    if isinstance(op, Create | Link):
        return f"the entry of {path}"
    if isinstance(op, Unlink):
        return f"the removal of {path}"
    if isinstance(op, Rename):
        return _renamed(op, root)
    if isinstance(op, Truncate):
        return f"the truncation of {path} to {count(op.size, 'byte')}"
    return f"the {verb(op)} of {path}"


def _renamed(op: Rename, root: str) -> str:
    source, target = below(op.path, root), below(op.to_path, root)
    return f"the exchange of {source} and {target}" if op.exchange else f"the rename of {source} to {target}"


def meta_text(op: Meta) -> str:
    """The new value of an attribute, shortly."""
    return f"{op.value:04o}" if op.what == "mode" and isinstance(op.value, int) else short(repr(op.value), 24)


def place(site: Site | None, room: int = 26) -> str:
    """A call site with the directory of its file, because two files may have one name: `storage/hands.py:93`."""
    if site is None:
        return ""
    path = PurePath(site.file)
    text = f"{path.parent.name}/{path.name}:{site.line}" if path.parent.name else f"{path.name}:{site.line}"
    return text if len(text) <= room else fitted(f"{path.name}:{site.line}", room)


def count(number: int, unit: str) -> str:
    """"1 byte", "2 bytes"."""
    return f"{number:,} {unit}{'s' * (number != 1)}"


NO_MESSAGE = "(no message)"
"""What stands for the message of an error that has none."""


def short(text: str, room: int) -> str:
    """`text` on one line within `room` characters, its middle left out if need be."""
    text = " ".join(text.split())
    if len(text) <= room:
        return text
    keep = (room - 3) // 2
    return f"{text[: room - 3 - keep]}...{text[len(text) - keep :]}"
