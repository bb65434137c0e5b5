"""Which branches of the code under test a history takes, counted exactly and cheaply.

While `counted` is on, each function of the chosen modules runs code that is its own with one call more at the start of
every branch: of a function, of both sides of an `if` (written or not), of a loop's body, of an `except`, of a `case`.
The call adds a number to a set. The source is read again, the calls are put into its syntax tree, and the code objects
are exchanged in place, so whoever holds the function runs it too. Lines stay as they are. Unlike a trace function this
costs nothing where nothing is counted, follows greenlets, and works alike on all versions of Python.
"""

from __future__ import annotations

import ast
import importlib
import inspect
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from scenarios.fuzz.marks import mark

CALL = "__simfs_branch__"
RULES = (
    "eukhe.storage.rules", "eukhe.storage.shell", "eukhe.storage.reading", "eukhe.storage.bodies",
    "eukhe.storage.hands", "eukhe.storage.codec", "eukhe.storage.history",
    "eukhe.epochs.rules", "eukhe.epochs.hold", "eukhe.epochs.files", "eukhe.epochs.session", "eukhe.epochs.repair",
    "eukhe.cron.rules", "eukhe.cron.book", "eukhe.cron.store", "eukhe.cron.files", "eukhe.cron.document",
    "eukhe.staging.rules", "eukhe.staging.build", "eukhe.staging.lock", "eukhe.staging.sweeping",
    "eukhe.sessions.rules", "eukhe.sessions.listing", "eukhe.sessions.deletion", "eukhe.sessions.importing",
    "eukhe.tree.model", "eukhe.tree.indexed", "eukhe.tree.journal", "eukhe.tree.state", "eukhe.tree.placing",
    "eukhe.daemon.supervisor", "eukhe.daemon.worker", "eukhe.daemon.follower",
)  # fmt: skip
"""The modules whose branches are counted."""


@contextmanager
def counted(names: Iterable[str] = RULES) -> Iterator[set[int]]:
    """Inside the block branches of the named modules are added to the set; clear it before each history. A module with
    no source is left out."""
    hits: set[int] = set()
    undo: list[tuple[FunctionType, CodeType]] = []
    modules = [module for module in map(importlib.import_module, names) if _has_source(module)]
    for module in modules:
        vars(module)[CALL] = hits.add
        codes = _marked_codes(module)
        for function in _functions(module):
            code = codes.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                undo.append((function, function.__code__))
                function.__code__ = code
    try:
        yield hits
    finally:
        for function, code in undo:
            function.__code__ = code
        for module in modules:
            del vars(module)[CALL]


def _has_source(module: ModuleType) -> bool:
    try:
        return bool(inspect.getsource(module))
    except (OSError, TypeError):
        return False


@cache
def _marked_codes(module: ModuleType) -> dict[tuple[str, int], CodeType]:
    """The code of every function and method of a module, with the calls in it."""
    file = inspect.getsourcefile(module)
    assert file is not None
    tree = _Marker(module.__name__).visit(ast.parse(inspect.getsource(module), file))
    found: dict[tuple[str, int], CodeType] = {}
    waiting = [compile(ast.fix_missing_locations(tree), file, "exec", dont_inherit=True)]
    while waiting:
        for inner in waiting.pop().co_consts:
            if isinstance(inner, CodeType):
                found[inner.co_qualname, inner.co_firstlineno] = inner
                waiting.append(inner)
    return found


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    """Every function that is written in a module, methods and properties too, once."""
    seen: set[int] = set()
    holders = [vars(module), *(vars(v) for v in vars(module).values() if _own_class(v, module))]
    for holder in holders:
        for value in list(holder.values()):
            for part in (value, *(getattr(value, name, None) for name in ("fget", "fset", "__func__"))):
                function = inspect.unwrap(part) if callable(part) else None
                own = isinstance(function, FunctionType) and function.__module__ == module.__name__
                if isinstance(function, FunctionType) and own and id(function) not in seen:
                    seen.add(id(function))
                    yield function


def _own_class(value: Any, module: ModuleType) -> bool:
    return isinstance(value, type) and value.__module__ == module.__name__


class _Marker(ast.NodeTransformer):
    """Puts a call at the start of each branch. Its number comes of the module, the line and the kind of branch."""

    def __init__(self, module: str) -> None:
        self.module = module

    def call(self, node: Any, kind: str) -> ast.Call:
        """The call for a branch that begins at this node."""
        number = mark("branch", self.module, node.lineno, node.col_offset, kind)
        return ast.Call(ast.Name(CALL, ast.Load()), [ast.Constant(number)], [])

    def begin(self, node: Any, kind: str, body: list[ast.stmt]) -> list[ast.stmt]:
        """A body with the call before it, behind the docstring."""
        statement = ast.copy_location(ast.Expr(self.call(node, kind)), node)
        has_docstring = kind == "function" and ast.get_docstring(node, clean=False) is not None
        return [*body[:has_docstring], statement, *body[has_docstring:]]

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for kinds, kind in _BODIES:
            if isinstance(node, kinds):
                at = node if hasattr(node, "lineno") else node.body[0]
                node.body = self.begin(at if kind != "function" else node, kind, node.body)
        if isinstance(node, ast.If):
            node.orelse = self.begin(node, "else", node.orelse)
        elif isinstance(node, ast.IfExp):
            node.body = ast.BoolOp(ast.Or(), [self.call(node, "then"), node.body])
            node.orelse = ast.BoolOp(ast.Or(), [self.call(node, "otherwise"), node.orelse])
        return node


_BODIES: tuple[tuple[Any, str], ...] = (
    ((ast.FunctionDef, ast.AsyncFunctionDef), "function"),
    (ast.If, "then"),
    ((ast.For, ast.While), "loop"),
    (ast.ExceptHandler, "except"),
    (ast.match_case, "case"),
)
