"""The rules of staging: names, what a sweep does with an entry, what it removes, and what a publish has done.

Facts in, a decision out; no I/O and no clock. A new storage is built under a name of its own beside its place, and
moved there when it is whole. Around that stand these rules:

1. *Names.* `.<name>.import-<32 hex>`, `.<name>.fork-<32 hex>` and, for a storage that is being deleted, the tombstone
   `.<name>.deleted-<32 hex>`; each has a lock file `<that>.lock`. The hex digits are random and never come twice, so
   nothing is ever judged under a name that means something else a moment later. A name too long for all this is cut:
   it only tells a person what the leftover was. No session's name begins with a dot, so none is a leftover's.
2. *Whose it is.* The builder locks the lock file before its directory exists, holds it until the build has ended, and
   removes it last. So a directory without a lock file, or with one that can be locked, has no builder any more.
3. *Meet.* Storages, symbolic links and files are no business of a sweep: it keeps out. A leftover is judged and not
   entered; a lock file is judged; any other directory is entered.
4. *Judge.* Removed is what no living process holds and nobody touched for a day: the newest of all times in it, the
   lock file's included, lies 86,400,000,000,000 ns back or more. Times that were copied along with a file may be
   old, which is why the time of the last change of an inode counts as well: nobody can set that one. A time in the
   future is young. What could not be found out is kept. The directory goes first and its lock file last, so that
   a sweep that dies leaves something which a later one takes.
5. *Settle.* A publish is a rename that may not replace. It has published when that rename succeeded, and answers
   "exists" exactly when it met an entry. A filesystem that does not know the flag gets no other rename instead:
   there is none that could not replace an empty directory.
"""

from __future__ import annotations

import errno
import re
from typing import Literal, NamedTuple

DAY_NS = 86_400_000_000_000
"""How long nothing may have touched a leftover before it goes, in nanoseconds."""

NAME_BYTES_MAX = 255
"""How long a name in a directory may be, in bytes."""

LOCK_SUFFIX = ".lock"

Purpose = Literal["import", "fork", "deleted"]
PURPOSES: tuple[Purpose, ...] = ("import", "fork", "deleted")

_LEFTOVER = re.compile(r"\.(.+)\.(import|fork|deleted)-[0-9a-f]{32}", re.DOTALL)
_HEX = re.compile(r"[0-9a-f]{32}")

EntryKind = Literal["directory", "storage", "file", "symlink", "other"]
"""What an entry is, never followed; a storage is a directory that holds a main.jsonl of whatever kind."""
Meeting = Literal["enter", "judge_leftover", "judge_lock", "keep"]
Probe = Literal["free", "held", "missing", "unknown"]
"""What trying to lock a lock file has shown; free: the one who asked holds it now."""
Step = Literal["remove_tree", "remove_lock"]
Settled = Literal["published", "exists", "unsupported", "failed"]


class RuleRefused(Exception):
    """The facts cannot be, or a name cannot be one."""


class JudgeFacts(NamedTuple):
    """What was found out about a leftover (or the directory of a lock file).

    `touched_ns` is the newest of all its times, None where not all could be read, `now_ns` the clock when they had
    been. `directory_there` says whether anything has the leftover's name.
    """

    lock: Probe
    directory_there: bool
    touched_ns: int | None
    now_ns: int


class Judgement(NamedTuple):
    """What is to be done, in this order, and why; nothing to do means that it stays."""

    steps: tuple[Step, ...]
    why: str


def is_session_name(name: str) -> bool:
    """Whether a storage may have this name: one piece of a path, not hidden, short enough."""
    return bool(name) and name[0] != "." and "/" not in name and "\0" not in name and _size(name) <= NAME_BYTES_MAX


def mint(name: str, purpose: Purpose, hex_digits: str) -> str:
    """The name under which something is built or deleted; `hex_digits` are 32 random ones. Raises `RuleRefused`."""
    if not is_session_name(name):
        raise RuleRefused("a name is one piece of a path, does not begin with a dot, and has 255 bytes at most")
    if not _HEX.fullmatch(hex_digits):
        raise RuleRefused("32 lower-case hex digits are needed")
    ending = f".{purpose}-{hex_digits}"
    return f".{_cut(name, NAME_BYTES_MAX - 1 - len(ending) - len(LOCK_SUFFIX))}{ending}"


def is_leftover_name(name: str) -> bool:
    """Whether this is the name of something being built or deleted."""
    return _LEFTOVER.fullmatch(name) is not None


def leftover_of_lock(name: str) -> str | None:
    """The leftover that a lock file of this name belongs to; None where it is no lock file's name."""
    leftover = name.removesuffix(LOCK_SUFFIX)
    return leftover if leftover != name and is_leftover_name(leftover) else None


def meet(name: str, kind: EntryKind) -> Meeting:
    """What a sweep does with an entry of a directory. Source: seed D2, sweep."""
    if kind == "directory":
        return "judge_leftover" if is_leftover_name(name) else "enter"
    if kind == "storage":
        # A build that is nearly done, or a storage that is being deleted, has a main.jsonl as well.
        return "judge_leftover" if is_leftover_name(name) else "keep"
    if kind == "file" and leftover_of_lock(name) is not None:
        return "judge_lock"
    return "keep"


def judge_leftover(facts: JudgeFacts) -> Judgement:
    """What becomes of a directory with a leftover's name. Source: seed D2, sweep."""
    kept = _keeps(facts)
    if kept:
        return Judgement((), kept)
    if not facts.directory_there:
        return Judgement((), "it is gone")
    if facts.lock == "missing":
        return Judgement(("remove_tree",), "nobody holds it, it was untouched for a day")
    return Judgement(("remove_tree", "remove_lock"), "nobody holds it, it was untouched for a day")


def judge_lock(facts: JudgeFacts) -> Judgement:
    """What becomes of a lock file of a leftover. Source: seed D2, sweep."""
    if facts.lock == "missing":
        return Judgement((), "it is gone")
    kept = _keeps(facts)
    if kept:
        return Judgement((), kept)
    if facts.directory_there:
        return Judgement((), "it goes with its directory")
    return Judgement(("remove_lock",), "it has no directory, nobody holds it, it was untouched for a day")


def settle(code: int | None) -> Settled:
    """What a rename that may not replace has done, from its errno; None: it succeeded. Source: seed D2, publish."""
    if code is None:
        return "published"
    if code == errno.EEXIST:
        return "exists"
    if code in (errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP):
        return "unsupported"
    return "failed"


def _keeps(facts: JudgeFacts) -> str:
    if facts.lock == "held":
        return "a living process holds its lock"
    if facts.lock == "unknown":
        return "whether someone holds its lock could not be found out"
    if facts.touched_ns is None:
        return "when it was last touched could not be found out"
    if facts.touched_ns > facts.now_ns:
        return "it was touched in the future: the clock was set back"
    if facts.now_ns - facts.touched_ns < DAY_NS:
        return "it was touched within the last day"
    return ""


def _size(name: str) -> int:
    """Bytes of a name as the disk has them; Python keeps bytes that are not UTF-8 as lone surrogates."""
    try:
        return len(name.encode("utf-8", "surrogateescape"))
    except UnicodeEncodeError:
        return NAME_BYTES_MAX + 1


def _cut(name: str, size: int) -> str:
    """As many whole characters of a name as fit into `size` bytes."""
    raw = name.encode("utf-8", "surrogateescape")
    if len(raw) <= size:
        return name
    end = size
    while end > 0 and raw[end] & 0xC0 == 0x80:
        end -= 1
    return raw[: end or size].decode("utf-8", "surrogateescape")
