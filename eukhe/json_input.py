"""JSON that is handed to the command line. What cannot be read is wrong usage, and the message names the line."""

from __future__ import annotations

from typing import Any, BinaryIO

import msgspec
import typer


def read_json_lines(source: BinaryIO, kind: Any, what: str) -> list[Any]:
    """One value of `kind` a line; blank lines are passed over. Raises `typer.BadParameter`."""
    values: list[Any] = []
    for number, line in enumerate(source.read().split(b"\n"), 1):
        if line.strip():
            values.append(read_json(line, kind, f"line {number} of standard input is no {what}"))
    return values


def read_json(data: bytes, kind: Any, problem: str) -> Any:
    """One value of `kind`. Raises `typer.BadParameter` that begins with `problem`."""
    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise typer.BadParameter(f"{problem}: {error}") from None
