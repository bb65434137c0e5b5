"""What someone who starts or asks the daemon can meet."""

from __future__ import annotations

import os

from eukhe.errors import EukheError


class DaemonRunning(EukheError):
    """Another daemon serves this home."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: another daemon serves this home; stop it first, or use it")


class NoDaemon(EukheError):
    """Nobody answers at the home's socket, or the daemon has gone."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path}: no daemon answers ({why}); start one with `eukhe daemon`")


class DaemonRefused(EukheError):
    """The daemon answered with the error form. `code` is the error's."""

    def __init__(self, path: str, code: str, message: str) -> None:
        super().__init__(path, f"{message} ({code})")
        self.code = code


class HomeTooLong(EukheError):
    """The path of the home leaves no room for the socket in it."""

    def __init__(self, path: str) -> None:
        why = f"the path of a socket has at most 107 bytes, and this one has {len(os.fsencode(path))}"
        super().__init__(path, f"{path}: {why}; choose a home with a shorter path (a symbolic link to it will do)")
