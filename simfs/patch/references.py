"""The second half of finding references: whoever still holds a real function once all modules have been seen to.

Default arguments, `functools.partial`, values of dicts, class attributes, closures, attributes of objects made at
import: the garbage collector knows every one of them. To ask it costs a walk over the heap, so the question "is there
anybody left?" is answered by reference counts first: once everything is in place, the count of each real function is
noted, and only a function whose count has grown since is looked for.

What can be changed in place is: dicts, lists, sets, cells, partials, attributes (with or without `__dict__`), class
attributes, defaults, static and class methods. A tuple or frozenset is exchanged for a new one wherever it is held.
What cannot be changed (a suspended frame, an iterator, a cache around a function) keeps the real function: what that
may do to the real disk is the tripwire's business.

Objects are only ever looked at by their type, never by `isinstance`: lazy proxies must not wake up.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from functools import partial
from types import CellType, FrameType, FunctionType, MemberDescriptorType, ModuleType
from typing import Any

from simfs.patch import places
from simfs.patch.modulescan import is_left_alone
from simfs.patch.places import Place, Swap
from simfs.patch.standin import StandIn

HEAP_TYPE = 1 << 9
TUPLES_DEEP = 6
"""How many tuples within tuples are looked through."""

Pairs = dict[int, tuple[Any, Any]]
"""Identity of what is looked for -> (it, what to hold in its stead)."""


def find_places(pairs: list[tuple[Any, Any]]) -> list[Place]:
    """Every place on the heap that can be changed and holds the first of one of the (real, fake) pairs."""
    fakes: Pairs = {id(pair[0]): pair for pair in pairs}
    alone = {id(vars(m)) for name, m in list(sys.modules.items()) if type(m) is ModuleType and is_left_alone(name)}
    found: list[Place] = []
    for _ in range(TUPLES_DEEP):
        wanted = [pair[0] for pair in fakes.values()]
        holders = gc.get_referrers(*wanted)
        ours = alone | {id(x) for x in (wanted, holders, fakes, pairs)} | {id(pair) for pair in fakes.values()}
        owners = _class_dicts(holders)
        renewed: Pairs = {}
        for holder in holders:
            kind = type(holder)
            if id(holder) in ours or kind in (StandIn, Place, FrameType):
                continue
            if issubclass(kind, (tuple, frozenset)):
                renewed[id(holder)] = (holder, _with_fakes(holder, kind, fakes))
                continue
            for swap, held in _swaps(holder, kind, fakes, owners.get(id(holder))):
                found.append(Place(swap, *fakes[id(held)]))
        if not renewed:
            break
        fakes = renewed
        alone |= {id(holders)}
    return found


def _with_fakes(holder: Any, kind: Any, fakes: Pairs) -> Any:
    parts = [fakes[id(x)][1] if id(x) in fakes else x for x in holder]
    return tuple.__new__(kind, parts) if issubclass(kind, tuple) else frozenset.__new__(kind, parts)


def _class_dicts(holders: list[Any]) -> dict[int, type]:
    """Which of the dicts are the namespaces of classes: those must be changed through their class."""
    dicts = [h for h in holders if type(h) is dict and "__module__" in h]
    if not dicts:
        return {}
    wanted = {id(d) for d in dicts}
    found: dict[int, type] = {}
    for cls in gc.get_referrers(*dicts):
        if issubclass(type(cls), type):
            for part in gc.get_referents(cls):
                if id(part) in wanted:
                    found[id(part)] = cls
    return found


def _swaps(holder: Any, kind: type, fakes: Pairs, owner: type | None) -> Iterator[tuple[Swap, Any]]:
    """Ways to exchange each of the references in `holder` that are in `fakes`, with what they hold now."""
    if owner is not None:
        for name, value in list(holder.items()):
            if id(value) in fakes:
                yield partial(places.swap_in_class, owner, name), value
    elif issubclass(kind, dict):
        for key, value in list(dict.items(holder)):
            if id(value) in fakes:
                yield partial(places.swap_item, holder, key), value
    elif issubclass(kind, list):
        for value in [x for x in list.__iter__(holder) if id(x) in fakes]:
            yield partial(places.swap_in_list, holder), value
    elif issubclass(kind, set):
        for value in [x for x in set.__iter__(holder) if id(x) in fakes]:
            yield partial(places.swap_in_set, holder), value
    elif kind is CellType:
        yield partial(places.swap_in_cell, holder), holder.cell_contents
    elif kind is FunctionType:
        if id(holder.__defaults__) in fakes:
            yield partial(places.swap_defaults, holder), holder.__defaults__
    elif issubclass(kind, partial):
        for value in (holder.func, holder.args):
            if id(value) in fakes:
                yield partial(places.swap_in_partial, holder), value
    elif kind in (staticmethod, classmethod):
        if id(holder.__func__) in fakes:
            yield partial(places.swap_in_method, holder), holder.__func__
    elif not issubclass(kind, (type, ModuleType)):
        yield from _swaps_in_object(holder, kind, fakes)


def _swaps_in_object(holder: Any, kind: type, fakes: Pairs) -> Iterator[tuple[Swap, Any]]:
    """Attributes of an instance: those without a dict of their own yet, and slots."""
    try:
        namespace = object.__getattribute__(holder, "__dict__")
    except AttributeError:
        namespace = None
    if type(namespace) is dict:
        for name, value in list(namespace.items()):
            if id(value) in fakes:
                yield partial(places.swap_item, namespace, name), value
    for cls in kind.__mro__:
        if not cls.__flags__ & HEAP_TYPE:
            continue  # The attributes of a C type cannot be set.
        for member in vars(cls).values():
            if type(member) is MemberDescriptorType:
                try:
                    value = member.__get__(holder)
                except (AttributeError, TypeError):
                    continue
                if id(value) in fakes:
                    yield partial(places.swap_slot, member, holder), value
