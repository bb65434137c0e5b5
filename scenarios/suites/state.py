"""The suite `state`: everything that judges the state tree and the live one."""

from __future__ import annotations

from scenarios.entries import Entry
from scenarios.suites.state_live import LIVE
from scenarios.suites.state_tree import STATE
from scenarios.suites.storage import Wrap, as_it_is


def state_suite(wrap: Wrap = as_it_is) -> tuple[Entry, ...]:
    """The suite; `wrap` changes nothing here: the mutants are exchanged rules."""
    return (LIVE, STATE)
