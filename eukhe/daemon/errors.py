"""What someone who starts or asks the daemon can meet."""

from __future__ import annotations

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
