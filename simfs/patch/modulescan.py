"""The first half of finding references: pyfakefs's scan of loaded modules.

pyfakefs knows how to walk `sys.modules` without upsetting lazy or broken modules, keeps what it has scanned, and
finds names that were bound by `from os import replace` in any module. We give its `Patcher` our stand-ins in place of
its fake modules, and use its scan, not its filesystem: no `FakeFilesystem` is ever made, and no module in
`sys.modules` is exchanged (the stand-ins go into the real `os`, `io`, `time` ... themselves, so `import os` under any
alias finds them).

Default arguments are left to `references`, which finds them together with everything else that no module names.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, ClassVar

from pyfakefs.fake_filesystem_unittest import Patcher

from simfs.patch.standin import StandIn

_OURS_AND_THE_RUNNER = (
    "simfs.", "pyfakefs", "freezegun", "_pytest", "pytest", "pluggy", "hypothesis", "_hypothesis", "xdist", "execnet",
    "coverage", "greenlet", "importlib._bootstrap", "_frozen_importlib", "zipimport", "pytest_timeout",
)  # fmt: skip


def is_left_alone(module_name: str) -> bool:
    """Modules whose own references stay real: this package's, those of its tools, and the test runner's."""
    return module_name.startswith(_OURS_AND_THE_RUNNER)


class ModuleScan(Patcher):
    """pyfakefs's scan with its own caches, so that a test suite that uses pyfakefs itself is not disturbed."""

    CACHED_MODULES: ClassVar[set[ModuleType]] = set()
    FS_MODULES: ClassVar[dict[str, set[tuple[ModuleType, str]]]] = {}
    FS_FUNCTIONS: ClassVar[dict[tuple[str, str, str], set[ModuleType]]] = {}
    FS_DEFARGS: ClassVar[list[Any]] = []
    SKIPPED_FS_MODULES: ClassVar[dict[str, set[tuple[ModuleType, str]]]] = {}
    PATCHED_MODULE_NAMES: ClassVar[set[str]] = set()
    ADDITIONAL_SKIP_NAMES: ClassVar[set[str]] = set()

    def __new__(cls, *args: Any, **kwargs: Any) -> ModuleScan:
        """A plain object: pyfakefs makes its patcher a singleton, which another test may hold."""
        return object.__new__(cls)

    def __init__(self, stand_ins: Iterable[StandIn]) -> None:
        self._stand_ins = tuple(stand_ins)
        super().__init__(use_known_patches=False, use_dynamic_patch=False)

    def _init_fake_module_classes(self) -> None:
        self._fake_module_classes = {}
        self._class_modules = {}

    def _init_fake_module_functions(self) -> None:
        functions: dict[str, dict[str, StandIn]] = {}
        for record in self._stand_ins:
            name, module = getattr(record.real, "__name__", ""), getattr(record.real, "__module__", "")
            functions.setdefault(name, {})[module] = record
        self._fake_module_functions = functions

    def bindings(self) -> Iterator[tuple[ModuleType, str]]:
        """Modules and the names in them that may hold a real function; new modules are scanned, known ones are not."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._find_modules()
        for (name, _, _), modules in self.FS_FUNCTIONS.items():
            for module in modules:
                if not is_left_alone(module.__name__):
                    yield module, name
