"""Errors that a user of the explorer can meet, by blame.

`UsageError`: the caller asked for something that is not there. `StaleToken`: a token of other code. `SetupFailed`:
the scenario's own setup raised. What a simulated process meets (`NotSimulated`, `Deadlock`, ...) is in
`simfs.machine.errors`.
"""

from __future__ import annotations


class SimfsError(Exception):
    """Every error of this module. `exit_code` is what the command line ends with."""

    exit_code = 2


class UsageError(SimfsError):
    """Wrong use: an unknown name, an option that does not fit, a scenario without processes or laws."""


class BadToken(SimfsError):
    """The text is no replay token of this version. Common causes: cut by the terminal, or edited by hand."""


class StaleToken(SimfsError):
    """The token was made by other code: this run does not do what the token recorded. Nothing was judged.

    Common causes: the scenario or the code under test changed since. Run the scenario again for a fresh token.
    """

    exit_code = 3


class SetupFailed(SimfsError):
    """The scenario's setup raised before anything was tried; the message holds its error and call site."""

    exit_code = 3
