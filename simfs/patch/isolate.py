"""Modules of which each simulated process has its own copy: `isolate=("package",)`.

Processes of one interpreter share module globals, caches and class attributes; real processes do not. For a package
named here, each process runs the module bodies anew, as its first steps (so what they open, they open on the
machine), and the copies are its own: the rest of the interpreter, and other processes, never see them.

Three things make a process see its copies and not the originals.

- While it runs, `sys.modules` holds them (`switch`, called by whoever switches processes).
- The function that it runs is copied with globals in which every reference to a module, function, class or object of
  the package is exchanged for the copy's, and so are the functions of the same module that it calls.
- A function of the package itself is the copy's.

Not seen to: references held by objects outside the package, other than functions. A class of a test module that uses
the package keeps the original; name the test module, too, where that matters. Extension modules are shared.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from simfs.machine.process import Process
from simfs.patch.inside import current_process, host_work, process_work

_PLAIN = (str, bytes, int, float, complex, bool, type(None), type(...))


class World:
    """The copies of one process."""

    def __init__(self) -> None:
        self.modules: dict[str, ModuleType] = {}
        self.copies: dict[int, Any] = {}
        """Identity of an original object -> the copy's."""
        self.globals: dict[int, dict[str, Any]] = {}
        """Identity of a module's globals outside the package -> what its functions see in this process."""


class Isolation:
    """The isolated modules of one exploration, and the worlds of its processes."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._originals: dict[str, ModuleType] = {}
        self._codes: dict[str, CodeType] = {}
        self._worlds: dict[Process, World] = {}
        self._swapped: World | None = None
        with host_work():
            for name in self.names:
                importlib.import_module(name)
            for name, module in list(sys.modules.items()):
                code = _code_of(name, module) if self.covers(name) else None
                if code is not None:
                    self._originals[name], self._codes[name] = module, code

    def covers(self, module_name: str) -> bool:
        """Whether a module is one of those named, or inside one."""
        return any(module_name == name or module_name.startswith(name + ".") for name in self.names)

    def own(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What the running process is to call in place of `function`. Makes its world when it has none."""
        if not self.names:
            return function
        process = current_process()
        world = self._worlds.get(process)
        if world is None:
            self._forget_the_dead()
            world = self._worlds[process] = World()
            self.switch(process)
            self._build(world)
        return self._owned(world, function)  # type: ignore[no-any-return]

    def switch(self, process: Process | None) -> None:
        """`process` runs from here on; None: the explorer. Cheap when nothing is isolated."""
        wanted = self._worlds.get(process) if process is not None else None
        if wanted is self._swapped:
            return
        shown = self._originals if wanted is None else wanted.modules
        for name in self._originals:
            if name in shown:
                sys.modules[name] = shown[name]
            else:
                sys.modules.pop(name, None)
        self._swapped = wanted

    def _build(self, world: World) -> None:
        finder = _Finder(self._originals, self._codes, world)
        sys.meta_path.insert(0, finder)
        try:
            for name in self._originals:
                world.modules[name] = importlib.import_module(name)
        finally:
            sys.meta_path.remove(finder)
        for name, original in self._originals.items():
            copied = vars(world.modules[name])
            world.copies[id(original)] = world.modules[name]
            for attribute, value in vars(original).items():
                if attribute in copied and not isinstance(value, _PLAIN) and not attribute.startswith("__"):
                    world.copies[id(value)] = copied[attribute]

    def _owned(self, world: World, value: Any, depth: int = 4) -> Any:
        """The process's version of a value: itself, unless it is of the package or a function that may reach it."""
        copied = world.copies.get(id(value))
        if copied is not None or depth == 0:
            return copied if copied is not None else value
        if isinstance(value, MethodType):
            return MethodType(self._owned(world, value.__func__, depth), self._owned_instance(world, value.__self__))
        if isinstance(value, FunctionType):
            if self.covers(value.__module__ or ""):
                return _named(world.modules[value.__module__], value.__qualname__, value)
            return self._owned_function(world, value, depth)
        return value

    def _owned_instance(self, world: World, instance: Any) -> Any:
        cls = world.copies.get(id(type(instance)))
        if cls is None:
            return instance
        made = object.__new__(cls)
        made.__dict__.update(instance.__dict__)
        return made

    def _owned_function(self, world: World, function: FunctionType, depth: int) -> FunctionType:
        space = world.globals.get(id(function.__globals__))
        if space is None:
            space = world.globals[id(function.__globals__)] = dict(function.__globals__)
            for name, value in list(space.items()):
                if isinstance(value, FunctionType) and value.__globals__ is function.__globals__:
                    space[name] = self._owned(world, value, depth)
                elif not isinstance(value, _PLAIN):
                    space[name] = world.copies.get(id(value), value)
        cells = tuple(CellType(self._owned(world, c.cell_contents, depth - 1)) for c in function.__closure__ or ())
        defaults = tuple(self._owned(world, d, depth - 1) for d in function.__defaults__ or ()) or None
        made = FunctionType(function.__code__, space, function.__name__, defaults, cells or None)
        if function.__kwdefaults__:
            made.__kwdefaults__ = {k: self._owned(world, v, depth - 1) for k, v in function.__kwdefaults__.items()}
        made.__qualname__, made.__module__, made.__doc__ = function.__qualname__, function.__module__, function.__doc__
        made.__dict__.update(function.__dict__)
        return made

    def _forget_the_dead(self) -> None:
        for process in [p for p in self._worlds if p.dead]:
            del self._worlds[process]


@contextmanager
def isolated(names: Iterable[str]) -> Iterator[Isolation]:
    """An `Isolation` for the block; the originals are in `sys.modules` when it ends."""
    isolation = Isolation(tuple(names))
    try:
        yield isolation
    finally:
        isolation.switch(None)


def _code_of(name: str, module: ModuleType) -> CodeType | None:
    spec = module.__spec__
    get_code = getattr(spec.loader, "get_code", None) if spec is not None else None
    file = getattr(module, "__file__", None) or ""
    if get_code is None and file.endswith(".py"):  # A test module, say, that pytest has rewritten.
        get_code = SourceFileLoader(name, file).get_code
    return get_code(name) if get_code is not None else None


def _named(module: ModuleType, qualified: str, otherwise: Any) -> Any:
    """The copy of a function, found by its name; a function within a function has none and stays."""
    found: Any = module
    for part in qualified.split("."):
        found = getattr(found, part, None)
        if found is None:
            return otherwise
    return found


class _Finder(MetaPathFinder, Loader):
    """Loads copies from the code of the originals, as work of the process and not of the host."""

    def __init__(self, originals: dict[str, ModuleType], codes: dict[str, CodeType], world: World) -> None:
        self._originals = originals
        self._codes = codes
        self._world = world

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """A spec like the original's, with this loader."""
        original = self._originals.get(name)
        if original is None:
            return None
        known = original.__spec__
        assert known is not None
        spec = ModuleSpec(name, self, origin=known.origin, is_package=known.submodule_search_locations is not None)
        if known.submodule_search_locations is not None:
            spec.submodule_search_locations = list(known.submodule_search_locations)
        spec.has_location = known.has_location
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """As usual."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the body."""
        self._world.modules[module.__name__] = module
        with process_work():
            exec(self._codes[module.__name__], vars(module))
