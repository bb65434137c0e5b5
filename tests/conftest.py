"""Tests keep no failures for the next run of the tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def no_failure_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that wants a database names its place."""
    monkeypatch.setenv("SIMFS_DATABASE", "off")
