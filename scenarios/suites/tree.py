"""The suite `tree`: everything that judges the session tree, and what judges its entry."""

from __future__ import annotations

from scenarios.entries import Entry
from scenarios.suites import tree_core, tree_model
from scenarios.suites.storage import Wrap, as_it_is
from scenarios.suites.tree_entry import entry_check


def tree_suite(wrap: Wrap = as_it_is) -> tuple[Entry, ...]:
    """The suite; the tree does no I/O, so `wrap` changes nothing: its mutants are exchanged rules."""
    return (tree_core.SHORT_AND_LONG, tree_model.MODEL, tree_core.FOUR)


def entry_suite(wrap: Wrap = as_it_is) -> tuple[Entry, ...]:
    """The suite of the entry."""
    return (entry_check(),)
