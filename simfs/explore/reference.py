"""How a scenario is named in tokens and on the command line, so that another run finds it again.

A catalogue sets the name itself. Otherwise it is `module:Class` where the module can be imported by that name from the
working directory, and `path/to/file.py:Class` where it cannot: pytest imports `tests/test_save.py` as `test_save`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def reference_of(scenario: Any) -> str:
    """The reference of a Scenario class or object."""
    given: str = getattr(scenario, "__simfs_reference__", "")
    kind = scenario if isinstance(scenario, type) else type(scenario)
    return given or f"{_place(kind.__module__)}:{kind.__qualname__}"


def same(one: str, other: str) -> bool:
    """Whether two references lead to one scenario: `tests/test_a.py:Saves` is `tests.test_a:Saves`."""
    return _spelled(one) == _spelled(other)


def _spelled(reference: str) -> str:
    place, colon, name = reference.rpartition(":")
    return f"{place.removesuffix('.py').replace('/', '.')}{colon}{name}"


def _place(module: str) -> str:
    """The module's name, or its file below the working directory when the name leads elsewhere from there."""
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module
    try:
        below = Path(file).resolve().relative_to(Path.cwd())
    except ValueError:
        return module
    by_name = Path(*module.split("."))
    if below in (by_name.with_suffix(".py"), by_name / "__init__.py") or "site-packages" in below.parts:
        return module
    return below.as_posix()
