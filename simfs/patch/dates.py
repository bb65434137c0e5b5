"""`datetime.datetime` and `datetime.date`: the two clocks that are classes.

They read the clock in C, so the class itself must be exchanged wherever a module or an object holds it. freezegun has
solved the hard part: classes that pass for the real ones in `isinstance` and `issubclass`. Ours derive from its
fakes and differ in three ways, each for a reason.

The clock is the machine's, and only inside a process; outside they answer as the real classes do, so freezing need
not start and stop, and the test runner's own dates stay right.

Instances are real: `now()` and every constructor return `datetime.datetime`. A pickle, a repr or a `type()` of one
says so; freezegun's own instances would write `freezegun.api.FakeDatetime` into the files of the program under test.

References are found on the heap, once for an exploration, not by looking at every attribute of every module on each
freeze, which takes milliseconds each time and misses default arguments and `default_factory=datetime.now`.
"""

from __future__ import annotations

import datetime as module
import gc
from types import BuiltinMethodType
from typing import Any

from freezegun.api import FakeDate, FakeDatetime, FakeDatetimeMeta

from simfs.patch.inside import simulated
from simfs.patch.standin import StandIn

RealDate = module.date
RealDatetime = module.datetime
_MICRO = 1000
_EPOCH = RealDatetime(1970, 1, 1, tzinfo=module.UTC)
_EPOCH_NAIVE = RealDatetime(1970, 1, 1)


def _stands_for(cls: Any) -> Any:
    """The real class behind a stand-in, by identity: the stand-ins compare equal to the real ones."""
    for record in _RECORDS:
        if cls is record.fake:
            return record.real
    return None


class _DateMeta(FakeDatetimeMeta):
    """`SimDate(...)` makes a real date. A class that a program derives from it keeps its own instances."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        real = _stands_for(cls)
        return super().__call__(*args, **kwargs) if real is None else real(*args, **kwargs)

    def __getattribute__(cls, name: str) -> Any:
        # Alternative constructors (fromisoformat, combine, min, ...) are the real class's own.
        real = _stands_for(cls)
        if real is None or name in _OURS or name.startswith("_"):
            return super().__getattribute__(name)
        return getattr(real, name)

    def __instancecheck__(cls, instance: Any) -> bool:  # type: ignore[override]
        real = _stands_for(cls)
        return isinstance(instance, real) if real is not None else type.__instancecheck__(cls, instance)

    def __subclasscheck__(cls, subclass: type) -> bool:  # type: ignore[override]
        real = _stands_for(cls)
        return issubclass(subclass, real) if real is not None else type.__subclasscheck__(cls, subclass)

    def __eq__(cls, other: object) -> bool:
        return cls is other or _stands_for(cls) is other

    def __hash__(cls) -> int:
        real = _stands_for(cls)
        return hash(real) if real is not None else type.__hash__(cls)


_RECORDS: list[StandIn] = []
_OURS = frozenset(("now", "today", "utcnow"))


class SimDate(FakeDate, metaclass=_DateMeta):
    """Stands in for `datetime.date`."""

    @classmethod
    def today(cls) -> Any:
        """The date of the machine's wall clock, in UTC; outside a process the real one."""
        system = simulated()
        if system is None:
            moment = RealDatetime.now()
            return _real_of(cls, RealDate)(moment.year, moment.month, moment.day)
        day = _EPOCH + module.timedelta(microseconds=system.time_ns() // _MICRO)
        return _real_of(cls, RealDate)(day.year, day.month, day.day)


class SimDatetime(FakeDatetime, metaclass=_DateMeta):
    """Stands in for `datetime.datetime`."""

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        """The machine's wall clock, in `tz` or naive in UTC; outside a process the real one."""
        system = simulated()
        target = _real_of(cls, RealDatetime)
        if system is None:
            return target.now(tz) if target is RealDatetime else target.fromtimestamp(_real_time(), tz)
        delta = module.timedelta(microseconds=system.time_ns() // _MICRO)
        moment = _EPOCH_NAIVE + delta if tz is None else (_EPOCH + delta).astimezone(tz)
        return moment if target is RealDatetime else _as(target, moment)

    @classmethod
    def today(cls) -> Any:
        """As `now()`."""
        return cls.now()

    @classmethod
    def utcnow(cls) -> Any:
        """As `now()`, naive in UTC."""
        if simulated() is None:
            moment = RealDatetime.now(module.UTC).replace(tzinfo=None)
            return moment if _real_of(cls, RealDatetime) is RealDatetime else _as(cls, moment)
        return cls.now()


def _stand_in(fake: Any, real: Any) -> StandIn:
    # Under the real name a pickle names `datetime.datetime`, and whoever loads it, then or later, finds that.
    fake.__name__ = fake.__qualname__ = real.__name__
    fake.__module__ = "datetime"
    record = StandIn(f"datetime.{real.__name__}", real)
    record.fake = fake
    return record


_RECORDS.extend((_stand_in(SimDatetime, RealDatetime), _stand_in(SimDate, RealDate)))


def _real_of(cls: Any, real: Any) -> Any:
    return cls if _stands_for(cls) is None else real


def _as(cls: Any, moment: Any) -> Any:
    parts = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond)
    return cls(*parts, moment.tzinfo)


def reduced_date(day: Any) -> Any:
    """How a real date is pickled while its class goes by the stand-in: as ever, naming `datetime.date`."""
    return SimDate, day.__reduce_ex__(4)[1]


def reduced_datetime(moment: Any) -> Any:
    """As `reduced_date`, naming `datetime.datetime`."""
    return SimDatetime, moment.__reduce_ex__(4)[1]


def _real_time() -> float:
    return RealDatetime.now(module.UTC).timestamp()


def holders() -> set[int]:
    """Who holds one of the real classes, by identity."""
    return {id(holder) for holder in gc.get_referrers(RealDate, RealDatetime)}


def date_pairs() -> list[tuple[Any, Any]]:
    """What to exchange for what: the two classes, and their methods that somebody had taken hold of (`now`, ...)."""
    pairs: list[tuple[Any, Any]] = [(record.real, record.fake) for record in _RECORDS]
    for holder in gc.get_referrers(RealDate, RealDatetime):
        if type(holder) is BuiltinMethodType and holder.__name__ in _OURS:
            fake = SimDatetime if holder.__self__ is RealDatetime else SimDate
            pairs.append((holder, getattr(fake, holder.__name__)))
    return pairs
