"""Tests keep no failures for the next run of the tests."""

from __future__ import annotations

import signal

import pytest


def pytest_configure() -> None:
    """Whoever starts the tests in the background of a shell leaves Ctrl-C ignored, for all that they start; tests of
    Ctrl-C want it as it is in a terminal."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def no_failure_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that wants a database names its place."""
    monkeypatch.setenv("SIMFS_DATABASE", "off")
