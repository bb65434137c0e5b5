"""The structure of the project, read from its sources: who imports whom, how long files are, what is documented.

A rule that is not here is not a rule: architecture is held by these tests, not by memory.
"""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("eukhe", "simfs", "scenarios", "reports")
LINES_MAX = 320
FUNCTION_LINES_MAX = 80

MAY_IMPORT = {
    "eukhe": set(),
    "simfs": set(),
    "reports": {"simfs"},
    "scenarios": {"eukhe", "simfs"},
}
"""Of these four packages, the ones that each may import besides itself."""
ON_TOP = {
    "scenarios/cli.py", "scenarios/cli_counterexample.py", "scenarios/cli_fuzz.py", "scenarios/publish.py",
    "scenarios/session.py",
}  # fmt: skip
"""The command line sits on top of all: these may also import `reports`."""
LAYERS = {
    "simfs.errors": set(),
    "simfs.machine": set(),
    "simfs.disk": {"simfs.machine", "simfs.errors"},
    "simfs.patch": {"simfs.machine", "simfs.errors"},
    "simfs.explore": {"simfs.machine", "simfs.disk", "simfs.patch", "simfs.errors"},
}
"""Of the parts of simfs, the ones that each may import besides itself: values flow one way."""
BANNED_NAMES = {"utils", "util", "base", "common", "core", "helpers", "misc"}
NONDETERMINISM = {"random", "time", "uuid", "secrets"}
MAY_BE_NONDETERMINISTIC = {
    "eukhe/system.py": "the door to the real operating system",
    "simfs/explore/choices.py": "the seeded source of all choices",
    "simfs/explore/advice.py": "real time, only to end a search",
    "simfs/explore/explorer.py": "real time, only to end a search",
    "simfs/explore/group.py": "real time, only to end a search",
    "simfs/explore/search.py": "real time, only to end a search",
    "scenarios/record.py": "real time, only to end a run and to say how long it took",
    "simfs/explore/shrink.py": "real time, only to end a search",
    "simfs/explore/smaller.py": "real time, only to end a search",
    "simfs/explore/smaller_boots.py": "real time, only to end a search",
    "simfs/explore/policy.py": "seeded schedules",
    "simfs/explore/strategy.py": "seeded schedules",
    "simfs/machine/clock.py": "names of the clocks, which it answers from the machine",
    "simfs/machine/process.py": "the seeded stream of each process",
    "scenarios/entries.py": "real time, only to end a search",
    "scenarios/checks.py": "real time, only to end a search",
    "scenarios/cluster_pool.py": "real time, only to end a search",
    "scenarios/histories.py": "real time, only to end a search",
    "scenarios/fuzz/guided.py": "seeded histories",
    "scenarios/fuzz/night.py": "real time, only to end a night",
    "scenarios/fuzz/tested.py": "real time, only to end a test",
    "scenarios/fuzz/unit.py": "real time, only to end a unit",
    "scenarios/mutants/table.py": "how long each mutant took",
}
"""Who may import a source of nondeterminism, and why. `simfs/patch` puts its own in the place of each, and the programs
in `scenarios/reported` run under it, as people wrote them."""


def sources() -> list[Path]:
    return sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, inside functions too; type checking included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_imports_between_the_packages_go_one_way() -> None:
    wrong = []
    for path in sources():
        own = path.relative_to(ROOT).parts[0]
        allowed = {own, *MAY_IMPORT[own], *({"reports"} if name_of(path) in ON_TOP else set())}
        for module in imported(ast.parse(path.read_text())):
            top = module.split(".")[0]
            if top in PACKAGES and top not in allowed:
                wrong.append(f"{name_of(path)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_imports_inside_simfs_go_one_way() -> None:
    wrong = []
    for path in sources():
        part = ".".join(path.relative_to(ROOT).with_suffix("").parts[:2])
        if part not in LAYERS:
            continue
        for module in imported(ast.parse(path.read_text())):
            other = ".".join(module.split(".")[:2])
            if other in LAYERS and other != part and other not in LAYERS[part]:
                wrong.append(f"{name_of(path)} imports {module}")
    assert not wrong, "\n".join(wrong)


def test_no_file_is_long() -> None:
    long = {name_of(path): count for path in sources() if (count := len(path.read_text().splitlines())) > LINES_MAX}
    assert not long, f"over {LINES_MAX} lines, one responsibility a file: {long}"


def test_no_function_is_long() -> None:
    long = []
    for path in sources():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert node.end_lineno is not None
                lines = node.end_lineno - node.lineno + 1
                if lines > FUNCTION_LINES_MAX:
                    long.append(f"{name_of(path)}: {node.name} has {lines} lines")
    assert not long, "\n".join(long)


def test_every_module_says_what_it_is_before_its_code() -> None:
    silent = [
        name_of(path)
        for path in sources()
        if path.read_text().strip() and not ast.get_docstring(ast.parse(path.read_text()))
    ]
    assert not silent, f"without a header docstring: {silent}"


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert not [name_of(path) for path in sources() if path.stem in BANNED_NAMES or path.parent.name in BANNED_NAMES]


def test_nondeterminism_is_imported_only_where_it_is_accounted_for() -> None:
    found = set()
    for path in sources():
        if name_of(path).startswith(("simfs/patch/", "scenarios/reported/")):
            continue
        tops = {module.split(".")[0] for module in imported(ast.parse(path.read_text()))}
        if tops & NONDETERMINISM:
            found.add(name_of(path))
    assert found <= set(MAY_BE_NONDETERMINISTIC), found - set(MAY_BE_NONDETERMINISTIC)


def public(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Public functions and classes of a module, and public methods of its classes that override nothing."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_"):
            yield node.name, node


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_function_and_class_is_documented(package: str) -> None:
    silent = []
    for path in sources():
        if path.relative_to(ROOT).parts[0] != package or name_of(path).startswith("scenarios/reported/"):
            continue
        tree = ast.parse(path.read_text())
        overloaded = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and any("overload" in ast.unparse(d) for d in node.decorator_list)
        }
        for name, node in public(tree):
            if name not in overloaded and not ast.get_docstring(node):  # type: ignore[arg-type]
                silent.append(f"{name_of(path)}: {name}")
    assert not silent, "\n".join(silent)


def test_every_name_that_simfs_offers_is_documented() -> None:
    import simfs

    assert set(simfs.__all__) <= set(dir(simfs))
    silent = [name for name in simfs.__all__ if not (getattr(simfs, name).__doc__ or "").strip()]
    assert not silent


def test_every_package_is_listed_by_name() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = set(project["tool"]["setuptools"]["packages"])
    there = {".".join(path.parent.relative_to(ROOT).parts) for path in sources() if path.name == "__init__.py"}
    assert listed == there


def test_no_import_is_unknown_to_the_rules_above() -> None:
    """A tiny bad example: the tests above would see a wrong import."""
    tree = ast.parse("def f():\n    from scenarios.laws import log\n    import eukhe.storage\n")
    assert {module.split(".")[0] for module in imported(tree)} == {"scenarios", "eukhe"}
