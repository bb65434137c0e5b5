"""The second half of finding references: whoever still holds a real function once all modules have been seen to.

Default arguments, `functools.partial`, values of dicts, class attributes, closures, attributes of objects made at
import: the garbage collector knows every one of them. To ask it costs a walk over the heap, so the question "is there
anybody left?" is answered by reference counts first: once everything is in place, the count of each real function is
noted, and only a function whose count has grown since is looked for.

What can be changed in place is: dicts, lists, sets, cells, partials, attributes (with or without `__dict__`), class
attributes, defaults, static and class methods. A tuple or frozenset is exchanged for a new one wherever it is held.
What cannot be changed (a suspended frame, an iterator, a cache around a function) keeps the real function: what that
may do to the real disk is the tripwire's business.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import CellType, FrameType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from simfs.patch.modulescan import is_left_alone
from simfs.patch.standin import StandIn

TUPLES_DEEP = 6
"""How many tuples within tuples are looked through."""

HEAP_TYPE = 1 << 9

Put = Callable[[Any], None]


class Place:
    """Somewhere a reference is held, and the two things that may be held there."""

    __slots__ = ("fake", "put", "real")

    def __init__(self, put: Put, real: Any, fake: Any) -> None:
        self.put = put
        self.real = real
        self.fake = fake

    def patch(self) -> None:
        """Let the stand-in be held."""
        self._hold(self.fake)

    def restore(self) -> None:
        """Let the real thing be held."""
        self._hold(self.real)

    def _hold(self, value: Any) -> None:
        try:
            self.put(value)
        except (AttributeError, TypeError):  # A read-only attribute of a C type: it keeps what it has.
            pass


def find_places(pairs: list[tuple[Any, Any]]) -> list[Place]:
    """Every place on the heap that can be changed and holds the first of one of the (real, fake) pairs."""
    fakes = {id(pair[0]): pair for pair in pairs}
    alone = {id(vars(m)) for name, m in list(sys.modules.items()) if isinstance(m, ModuleType) and is_left_alone(name)}
    places: list[Place] = []
    for _ in range(TUPLES_DEEP):
        wanted = [pair[0] for pair in fakes.values()]
        holders = gc.get_referrers(*wanted)
        ours = alone | {id(x) for x in (wanted, holders, fakes, pairs)} | {id(pair) for pair in fakes.values()}
        owners = _class_dicts(holders)
        renewed: dict[int, tuple[Any, Any]] = {}
        for holder in holders:
            if id(holder) in ours or isinstance(holder, (StandIn, Place, FrameType)):
                continue
            if type(holder) in (tuple, frozenset):
                parts = [fakes[id(x)][1] if id(x) in fakes else x for x in holder]
                renewed[id(holder)] = (holder, type(holder)(parts))
                continue
            for put, held in _puts(holder, fakes, owners.get(id(holder))):
                places.append(Place(put, *fakes[id(held)]))
        if not renewed:
            break
        fakes = renewed
        alone |= {id(holders)}
    return places


def _class_dicts(holders: list[Any]) -> dict[int, type]:
    """Which of the dicts are the namespaces of classes: those must be changed through their class."""
    dicts = [h for h in holders if type(h) is dict and "__module__" in h]
    if not dicts:
        return {}
    wanted = {id(d) for d in dicts}
    found: dict[int, type] = {}
    for cls in gc.get_referrers(*dicts):
        if isinstance(cls, type):
            for part in gc.get_referents(cls):
                if id(part) in wanted:
                    found[id(part)] = cls
    return found


def _puts(holder: Any, fakes: dict[int, tuple[Any, Any]], owner: type | None) -> Iterator[tuple[Put, Any]]:
    """Ways to set each of the references in `holder` that are in `fakes`, with what they hold now."""
    kind = type(holder)
    if owner is not None:
        for name, value in list(holder.items()):
            if id(value) in fakes:
                yield partial(type.__setattr__, owner, name), value
    elif isinstance(holder, dict):
        for key, value in list(dict.items(holder)):
            if id(value) in fakes:
                yield partial(dict.__setitem__, holder, key), value
    elif isinstance(holder, list):
        for index, value in enumerate(holder):
            if id(value) in fakes:
                yield partial(list.__setitem__, holder, index), value
    elif isinstance(holder, set):
        for value in [x for x in holder if id(x) in fakes]:
            yield partial(_put_in_set, holder, list(fakes[id(value)])), value
    elif kind is CellType:
        if id(holder.cell_contents) in fakes:
            yield partial(setattr, holder, "cell_contents"), holder.cell_contents
    elif kind is FunctionType:
        if id(holder.__defaults__) in fakes:
            yield partial(setattr, holder, "__defaults__"), holder.__defaults__
    elif isinstance(holder, partial):
        yield from _puts_in_partial(holder, fakes)
    elif kind in (staticmethod, classmethod):
        if id(holder.__func__) in fakes:
            yield holder.__init__, holder.__func__
    else:
        yield from _puts_in_object(holder, fakes)


def _put_in_set(holder: set[Any], pair: list[Any], value: Any) -> None:
    holder.difference_update(pair)
    holder.add(value)


def _puts_in_partial(holder: partial[Any], fakes: dict[int, tuple[Any, Any]]) -> Iterator[tuple[Put, Any]]:
    def put_function(value: Any) -> None:
        holder.__setstate__((value, holder.args, holder.keywords, vars(holder)))  # type: ignore[attr-defined]

    def put_arguments(value: Any) -> None:
        holder.__setstate__((holder.func, value, holder.keywords, vars(holder)))  # type: ignore[attr-defined]

    if id(holder.func) in fakes:
        yield put_function, holder.func
    if id(holder.args) in fakes:
        yield put_arguments, holder.args


def _puts_in_object(holder: Any, fakes: dict[int, tuple[Any, Any]]) -> Iterator[tuple[Put, Any]]:
    """Attributes of an instance: those without a dict of their own yet, and slots."""
    if isinstance(holder, (type, ModuleType)):
        return
    try:
        namespace = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        namespace = {}
    if type(namespace) is dict:
        for name, value in list(namespace.items()):
            if id(value) in fakes:
                yield partial(dict.__setitem__, namespace, name), value
    for cls in type(holder).__mro__:
        if not cls.__flags__ & HEAP_TYPE:
            continue  # The attributes of a C type cannot be set.
        for member in vars(cls).values():
            if isinstance(member, MemberDescriptorType):
                try:
                    value = member.__get__(holder)
                except AttributeError:
                    continue
                if id(value) in fakes:
                    yield partial(member.__set__, holder), value
