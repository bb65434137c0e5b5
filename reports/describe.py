"""Ops and causes in words: what a person would say happened at a line of the program."""

from __future__ import annotations

import textwrap

from simfs.explore.verdict import BootRecord, Counterexample
from simfs.machine.ops import (
    Ack,
    Close,
    Create,
    Effect,
    FailedFlush,
    Flush,
    FlushAll,
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

LOST_SHOWN = 4
"""Lost ops that the cause names, at most."""


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
    names: list[tuple[type[Op], str]] = [
        (Write, "write"), (Truncate, "truncate"), (Link, "link"), (FlushAll, "sync"), (Close, "close"),
        (Lock, "lock"), (Ack, "PROMISE"), (Effect, "EFFECT"), (Note, "note"),
    ]  # fmt: skip
    return next(name for kind, name in names if isinstance(op, kind))


def detail(op: Op, room: int = 40) -> str:
    """What the call was about: path, bytes, label."""
    if isinstance(op, Write):
        return f"{op.path} {len(op.data)} bytes at {op.offset}"
    if isinstance(op, Truncate):
        return f"{op.path} to {op.size} bytes"
    if isinstance(op, Rename):
        return f"{op.path} -> {op.to_path}"
    if isinstance(op, Create) and op.kind == "symlink":
        return f"{op.path} -> {op.target}"
    if isinstance(op, Flush) and op.is_dir:
        return f"{op.path} (directory)"
    if isinstance(op, FailedFlush):
        return f"{op.path} failed"
    if isinstance(op, Meta):
        return f"{op.path} {meta_text(op)}"
    if isinstance(op, Lock):
        return f"{op.path} {op.how}"
    if isinstance(op, Ack | Effect):
        return op.label if op.value is None else f"{op.label}={short(repr(op.value), room)}"
    if isinstance(op, Note):
        return op.text
    return op.path


def meta_text(op: Meta) -> str:
    """The new value of an attribute, shortly."""
    return f"{op.value:04o}" if op.what == "mode" and isinstance(op.value, int) else short(repr(op.value), 24)


def short(text: str, room: int) -> str:
    """`text` on one line within `room` characters, its middle left out if need be."""
    text = " ".join(text.split())
    if len(text) <= room:
        return text
    keep = (room - 3) // 2
    return f"{text[: room - 3 - keep]}...{text[-keep:]}"


def cause_lines(found: Counterexample, width: int) -> list[str]:
    """Why: which ops were not durable when something was promised, by call site; and the advice, if there is any."""
    last = next((boot for boot in reversed(found.boots) if boot.crash is not None), None)
    lines: list[str] = []
    if last is None:
        lines += _say("No power was lost: the laws see what the processes left.", width)
    else:
        lines += _lost(last, width)
    if found.advice is not None:
        for text in found.advice.lines():
            lines += _say(text, width)
    return lines


def _lost(boot: BootRecord, width: int) -> list[str]:
    assert boot.crash is not None
    issued = boot.issued
    promises = [op for op in issued if isinstance(op, Ack)]
    gone = [op for op in issued if boot.fates.get(op.index, "durable") not in ("durable", "kept")]
    if not gone:
        return _say("Nothing that was issued is lost: the order of the calls is wrong, not a flush missing.", width)
    before = [op for op in gone if promises and op.index < promises[-1].index]
    lines: list[str] = []
    for op in (before or gone)[:LOST_SHOWN]:
        text = f"{_thing(op)} ({op.site}) had not been flushed when "
        if before:
            promise = next(p for p in promises if p.index > op.index)
            text += f"{short(detail(promise), 40)} was promised ({promise.site})."
        else:
            text += "the power went."
        lines += _say(text, width)
    left_out = len(before or gone) - LOST_SHOWN
    if left_out > 0:
        lines += _say(f"and {left_out} more.", width)
    return lines


def _thing(op: Op) -> str:
    if isinstance(op, Write):
        return f"The {len(op.data)} bytes written to {op.path}"
    if isinstance(op, Create | Link):
        return f"The entry of {op.path}"
    if isinstance(op, Unlink):
        return f"The removal of {op.path}"
    if isinstance(op, Rename):
        return f"The rename of {op.path} to {op.to_path}"
    if isinstance(op, Truncate):
        return f"The truncation of {op.path} to {op.size} bytes"
    return f"The {verb(op)} of {op.path}"


def _say(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)
