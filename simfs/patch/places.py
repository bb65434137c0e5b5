"""Places where a reference is held, and how it is exchanged there: one way for each kind of holder.

A swap takes the thing that should be held now and the one to hold instead, and does nothing when something else is
there: what a program or a test has put in its place meanwhile (another function in a dict, an item moved in a list, a
monkeypatch) is never overwritten, neither at the beginning nor at the end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import CellType, FunctionType, MemberDescriptorType
from typing import Any

Swap = Callable[[Any, Any], None]


class Place:
    """Somewhere a reference is held, and the two things that may be held there."""

    __slots__ = ("fake", "real", "swap")

    def __init__(self, swap: Swap, real: Any, fake: Any) -> None:
        self.swap = swap
        self.real = real
        self.fake = fake

    def patch(self) -> None:
        """Let the stand-in be held where the real thing is."""
        self.swap(self.real, self.fake)

    def restore(self) -> None:
        """Let the real thing be held where the stand-in is."""
        self.swap(self.fake, self.real)


def swap_item(holder: dict[Any, Any], key: Any, old: Any, new: Any) -> None:
    """A value of a dict; also a name in a module or in an instance's attributes."""
    if dict.get(holder, key) is old:
        dict.__setitem__(holder, key, new)


def swap_in_class(holder: type, name: str, old: Any, new: Any) -> None:
    """An attribute of a class: set through the class, which keeps caches of its attributes."""
    if holder.__dict__.get(name) is old:
        try:
            type.__setattr__(holder, name, new)
        except TypeError:  # A class made in C cannot be changed.
            pass


def swap_in_list(holder: list[Any], old: Any, new: Any) -> None:
    """Every item of a list that is `old`."""
    for index, item in enumerate(holder):
        if item is old:
            list.__setitem__(holder, index, new)


def swap_in_set(holder: set[Any], old: Any, new: Any) -> None:
    """A member of a set."""
    if old in holder:
        holder.discard(old)
        holder.add(new)


def swap_in_cell(holder: CellType, old: Any, new: Any) -> None:
    """A variable of a closure."""
    try:
        if holder.cell_contents is old:
            holder.cell_contents = new
    except ValueError:  # Deleted meanwhile.
        pass


def swap_defaults(holder: FunctionType, old: Any, new: Any) -> None:
    """The defaults of a function, a tuple of its own."""
    if holder.__defaults__ is old:
        holder.__defaults__ = new


def swap_in_partial(holder: partial[Any], old: Any, new: Any) -> None:
    """The function or the tuple of arguments of a partial, which are read-only, but for its pickled state."""
    function = new if holder.func is old else holder.func
    arguments = new if holder.args is old else holder.args
    if function is new or arguments is new:
        holder.__setstate__((function, arguments, holder.keywords, vars(holder)))  # type: ignore[attr-defined]


def swap_in_method(holder: Any, old: Any, new: Any) -> None:
    """The function of a staticmethod or classmethod object, which may be initialised again."""
    if holder.__func__ is old:
        holder.__init__(new)


def swap_slot(member: MemberDescriptorType, holder: Any, old: Any, new: Any) -> None:
    """An attribute in a slot."""
    try:
        if member.__get__(holder) is old:
            member.__set__(holder, new)
    except (AttributeError, TypeError):  # Deleted meanwhile, or read-only.
        pass
