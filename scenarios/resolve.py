"""From what a person types to an entry: a name of the catalogue, a suite (what its names begin with, `storage` for
`storage_epoch`), `module:Scenario`, `file.py:Scenario`, or all of a module.

A token names its scenario in the same words, so the same search answers both. Whatever cannot be found is a
`UsageError` that says what was looked for and what is near.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from scenarios.catalog import catalogue
from scenarios.entries import Entry, One
from scenarios.fuzz.own import DRAWN, is_program, own_target
from scenarios.histories import Histories
from simfs.errors import UsageError
from simfs.explore.program import Program
from simfs.explore.scenario import Scenario

_MEMBER = re.compile(r"^(?P<name>[^\[\]]+)\[(?P<member>[^\[\]]*)\]$")


def entries_for(reference: str) -> list[Entry]:
    """What a reference names: one entry, or every scenario of a module. Raises UsageError."""
    if ":" in reference:
        return [_attribute(reference)]
    if reference.endswith(".py") or _importable(reference):
        return _all_of(reference)
    listed = catalogue()
    match = _MEMBER.match(reference)
    if match is not None and match["name"] in listed:
        return [One(listed[match["name"]].scenario(match["member"]))]
    if reference in listed:
        return [listed[reference]]
    suite = [entry for name, entry in listed.items() if name.partition("_")[0] == reference]
    if suite:
        return suite
    near = get_close_matches(reference, listed, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "simfs list shows what there is."
    raise UsageError(f"no scenario {reference!r}: {hint} Your own are named module:Class or file.py:Class.")


def entry_for_token(reference: str) -> Entry:
    """The entry that a token was made from; a family for its members. Raises UsageError."""
    match = _MEMBER.match(reference)
    if match is not None:
        family = catalogue().get(match["name"])
        if family is not None:
            return family
    if "<locals>" in reference:
        raise UsageError(
            f"{reference} was made inside a function, so only the test that made it can run it again:"
            " pytest FILE --simfs-replay TOKEN"
        )
    if ":" in reference and (reference.endswith(f"[{DRAWN}]") or is_program(_scenario_at(reference))):
        return drawn(reference)
    return entries_for(reference)[0]


def drawn(reference: str) -> Histories:
    """What is fuzzed of a class; `[drawn]` behind its name is optional. Raises UsageError."""
    plain = reference.removesuffix(f"[{DRAWN}]")
    return own_target(_scenario_at(plain), plain)


def all_drawn(reference: str) -> list[Histories]:
    """What is fuzzed of a class, or of every scenario of a file. Raises UsageError."""
    if ":" in reference:
        return [drawn(reference)]
    return [own_target(kind, f"{reference}:{_name(kind)}") for kind in _scenarios_at(reference)]


def scenario_named(reference: str) -> Any:
    """The scenario that a token names so. Raises UsageError where there is none."""
    entry, match = entry_for_token(reference), _MEMBER.match(reference)
    return entry.scenario(match["member"] if match is not None and match["name"] == entry.name else "")


def function_for(reference: str) -> Any:
    """The function (or list of functions) that FILE:NAME or module:NAME names. Raises UsageError."""
    module, name = _split(reference)
    found = _named(module, name, reference)
    if not callable(found) and not isinstance(found, list | tuple):
        raise UsageError(f"{reference} is {type(found).__name__}, not a function or a list of functions")
    return found


def sibling(reference: str, name: str) -> Any:
    """Another attribute of the module of a reference. Raises UsageError."""
    module, _ = _split(reference)
    return _named(module, name, f"{reference.rpartition(':')[0]}:{name}")


def _scenario_at(reference: str) -> Any:
    module, name = _split(reference)
    found = _named(module, name, reference)
    if not _is_scenario(found):
        raise UsageError(f"{reference} is no Scenario; {_offered(module, reference)}")
    return found


def _attribute(reference: str) -> Entry:
    found = _scenario_at(reference)
    return One(_known_as(found, reference) if reference.partition(":")[0].endswith(".py") else found)


def _named(module: ModuleType, path: str, reference: str) -> Any:
    found: Any = module
    for part in path.split("."):
        if not hasattr(found, part):
            near = get_close_matches(part, [name for name in vars(found) if not name.startswith("_")], 1)
            hint = f"; did you mean {near[0]}?" if near else f"; {_offered(module, reference)}"
            raise UsageError(f"there is no {path} in {reference.rpartition(':')[0]}{hint}")
        found = getattr(found, part)
    return found


def _scenarios_at(reference: str) -> list[Any]:
    kinds = _scenarios_in(_load(reference))
    if not kinds:
        raise UsageError(f"{reference} has no scenario: no class in it derives from simfs.Scenario")
    return kinds


def _all_of(reference: str) -> list[Entry]:
    kinds = _scenarios_at(reference)
    kinds = [kind for kind in kinds if not is_program(kind)] or kinds
    if not reference.endswith(".py"):
        return [One(kind) for kind in kinds]
    return [One(_known_as(kind, f"{reference}:{_name(kind)}")) for kind in kinds]


def _known_as(found: Any, reference: str) -> Scenario:
    """An object of the scenario that tokens call by this reference; the class itself is not touched."""
    made: Scenario = found() if isinstance(found, type) else copy.copy(found)
    made.__simfs_reference__ = reference  # type: ignore[attr-defined]
    return made


def _name(kind: Any) -> str:
    return kind.__qualname__ if isinstance(kind, type) else type(kind).__qualname__


def _offered(module: ModuleType, reference: str) -> str:
    kinds = _scenarios_in(module)
    if not kinds:
        return f"{reference.rpartition(':')[0]} has no scenario"
    return "there are " + ", ".join(map(_name, kinds))


def _scenarios_in(module: ModuleType) -> list[Any]:
    return [found for found in vars(module).values() if _is_scenario(found) and found.__module__ == module.__name__]


def _is_scenario(found: Any) -> bool:
    return isinstance(found, Scenario) or (
        isinstance(found, type) and issubclass(found, Scenario) and found not in (Scenario, Program)
    )


def _split(reference: str) -> tuple[ModuleType, str]:
    place, _, name = reference.rpartition(":")
    if not place or not name:
        raise UsageError(f"{reference!r} is not FILE:NAME or MODULE:NAME")
    return _load(place), name


def _importable(name: str) -> bool:
    if not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", name):
        return False
    with _here():
        try:
            return importlib.util.find_spec(name) is not None
        except (ImportError, ValueError):
            return False


def _load(place: str) -> ModuleType:
    """Import a module by name or a file by path. What it raises on import is the reader's to know."""
    with _here():
        try:
            return _load_file(place) if place.endswith(".py") else importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is not None and place.startswith(error.name):
                raise UsageError(f"no module {place!r}: it is neither installed nor in this directory") from None
            raise UsageError(f"{place} cannot be imported: {error}") from error
        except UsageError:
            raise
        except Exception as error:
            raise UsageError(f"{place} cannot be imported: {type(error).__name__}: {error}") from error


def _load_file(place: str) -> ModuleType:
    path = Path(place).resolve()
    if not path.is_file():
        raise UsageError(f"no file {place!r}")
    known = next((m for m in list(sys.modules.values()) if getattr(m, "__file__", None) == str(path)), None)
    if known is not None:
        return known
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    finally:
        sys.path.remove(str(path.parent))
    return module


class _here:
    """Inside the block the working directory is searched for modules first, as `python -m` does."""

    def __enter__(self) -> None:
        self.place = str(Path.cwd())
        sys.path.insert(0, self.place)

    def __exit__(self, *error: object) -> None:
        sys.path.remove(self.place)
