"""Random numbers, temporary names and identifiers of a simulated process, all from its own streams.

`random`'s module-level functions go to the process's generator; `os.urandom`, and with it `secrets` and `uuid4`, to
the machine's; `tempfile`'s names and `uuid1`'s node to streams of their own (`belongings`). A `random.Random()` made
without a seed inside a process is seeded from the process. Nothing here is a visible call.
"""

from __future__ import annotations

import random
import tempfile
import uuid
from collections.abc import Callable, Iterator
from typing import Any

from simfs.machine.system import SimSystem
from simfs.patch.belongings import belongings
from simfs.patch.inside import simulated
from simfs.patch.standin import StandIn, answered_by, stand_in

_TEMPORARY = ("/tmp", "/var/tmp", "/usr/tmp")
_real_seed = random.Random.seed


def random_functions() -> list[str]:
    """The names in `random` that are methods of its hidden generator."""
    hidden = random._inst
    return [n for n, v in vars(random).items() if getattr(v, "__self__", None) is hidden]


def _drawn(name: str) -> Callable[..., Any]:
    def answer(system: SimSystem, *args: Any, **kwargs: Any) -> Any:
        return getattr(belongings().random, name)(*args, **kwargs)

    return answer


def _seeded(record: StandIn, generator: random.Random, a: Any = None, version: int = 2) -> None:
    """`Random.seed` without a value asks the kernel in C; inside a process the value is the machine's."""
    if a is None:
        system = simulated()
        if system is not None:
            a = int.from_bytes(system.urandom(32), "big")
    record.real(generator, a, version)


def _candidate_names(system: SimSystem) -> Iterator[str]:
    return belongings().names


def _temporary_directory(system: SimSystem) -> Any:
    """The first candidate that is a directory. `tempfile` also writes a probe, once in an interpreter: we do not."""
    from simfs.patch.inside import current_process

    environ = current_process().environ
    wanted = [environ[name] for name in ("TMPDIR", "TEMP", "TMP") if environ.get(name)]
    for path in (*wanted, *_TEMPORARY):
        try:
            if system.stat(path).st_mode & 0o170000 == 0o040000:
                return path
        except OSError:
            continue
    return system.getcwd()


def _uuid1(system: SimSystem, node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
    """By RFC 4122 from the machine's wall clock; two at one instant differ by their clock sequence."""
    mine = belongings()
    ticks = system.time_ns() // 100 + 0x01B21DD213814000
    sequence = mine.random.getrandbits(14) if clock_seq is None else clock_seq
    node = mine.node if node is None else node
    low, middle, high = ticks & 0xFFFFFFFF, ticks >> 32 & 0xFFFF, ticks >> 48 & 0x0FFF
    return uuid.UUID(fields=(low, middle, high, sequence >> 8 & 0x3F, sequence & 0xFF, node), version=1)


def _node(system: SimSystem) -> int:
    return belongings().node


def stream_stand_ins() -> list[tuple[Any, str, StandIn]]:
    """Holder, name in it, stand-in, for `random`, `tempfile` and `uuid`."""
    made: list[tuple[Any, str, StandIn]] = []
    for name in random_functions():
        made.append((random, name, answered_by(f"random.{name}", getattr(random, name), _drawn(name))))
    for module, name, answer in (
        (tempfile, "_get_candidate_names", _candidate_names),
        (tempfile, "_gettempdir", _temporary_directory),
        (uuid, "uuid1", _uuid1),
        (uuid, "getnode", _node),
    ):
        made.append((module, name, answered_by(f"{module.__name__}.{name}", getattr(module, name), answer)))
    return made


def seed_stand_in() -> StandIn:
    """For `random.Random.seed`, which is a method: its stand-in must be a function, so that it binds."""
    record = stand_in("random.Random.seed", _real_seed, _seeded)

    def seed(self: random.Random, a: Any = None, version: int = 2) -> None:
        _seeded(record, self, a, version)

    record.fake = seed
    return record
