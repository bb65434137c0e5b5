"""What a caller of a store can meet.

Every error names the path it speaks of (and the line, where there is one), says what is wrong, and says what the
reader can do. An error of the world is one of these types with the `OSError` as its cause; a wrong argument is
`ChangeRefused`. No store answers with a bare `OSError`, and none drops anything without one of these.

Whether something was promised follows from the type: only a call that returned has promised anything. After
`StorageFailed` from a commit, that commit was not acknowledged and may or may not be found by the next open.
"""

from __future__ import annotations

RUNBOOK = "docs/runbook.md"
"""Where each kind of damage is explained."""


class EukheError(Exception):
    """Base of every error in this package. `path` is the file or directory it speaks of."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return (_rebuild, (type(self), self.args, self.__dict__.copy()))


class StorageError(EukheError):
    """Base of every error of a commit log."""


class StorageDamaged(StorageError):
    """A file holds something that no commit and no crash can leave. Nothing was cut and nothing was written.

    `line` counts from 1; it is 0 where the damage is not in a line (a sidecar shorter than confirmed).
    """

    def __init__(self, path: str, line: int, why: str) -> None:
        place = f"{path}:{line}" if line else path
        super().__init__(
            path,
            f"{place}: {why}; nothing was changed. `eukhe doctor` says what can be kept, see {RUNBOOK}#storage-damaged",
        )
        self.line = line
        self.why = why


class StorageInUse(StorageError):
    """Another process, or another `Storage` in this one, holds the storage open for writing."""

    def __init__(self, path: str) -> None:
        super().__init__(
            path, f"{path}: another writer has this storage open; close it first, or only read it (`eukhe log`)"
        )


class StorageFailed(StorageError):
    """A step failed, so the call promises nothing. The storage takes no more calls until it is opened again.

    `step` says what was being done. The failed `OSError` is the cause (`__cause__`), where there is one. A commit
    that met this was not acknowledged; the next open finds either the whole of it or nothing.
    """

    def __init__(self, path: str, step: str, why: str) -> None:
        super().__init__(
            path,
            f"{path}: {step} failed ({why}); nothing is promised of this call, and what was acknowledged before it "
            f"stays. Remove the cause and open the storage again, see {RUNBOOK}#storage-failed",
        )
        self.step = step
        self.why = why


class StorageUnusable(StorageError):
    """The path cannot be a storage: a file, a symbolic link, outside its home, on a filesystem without a needed
    call.
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path}: {why}")
        self.why = why


class StorageNotFound(StorageError):
    """There is no storage at the path: no directory, or none with a `main.jsonl`."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: no storage here (a storage is a directory with main.jsonl); check the path")


class StoreUnknown(EukheError):
    """Nothing at the path is a store, so there is nothing to examine."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(
            path,
            f"{path}: no store here ({why}); give a storage, a session's epochs, a file of jobs, a directory of "
            "sessions, or a home",
        )
        self.why = why


class StorageExists(StorageError):
    """The name is taken, so nothing was published and nothing changed."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: already exists and is left as it is; choose another name")


class StorageClosed(StorageError):
    """A call on a storage after `close()`."""

    def __init__(self, path: str) -> None:
        super().__init__(path, f"{path}: this storage is closed; open it again")


class ChangeRefused(StorageError):
    """The changes of a commit are not well formed. Nothing was written, and the storage goes on.

    `index` is the place of the first bad change, from 0; -1 where the list as a whole is at fault.
    """

    def __init__(self, path: str, index: int, why: str) -> None:
        place = "the changes" if index < 0 else f"change {index}"
        super().__init__(path, f"{path}: {place}: {why}; nothing was written, correct it and commit again")
        self.index = index
        self.why = why


def _rebuild(kind: type[EukheError], args: tuple[object, ...], state: dict[str, object]) -> EukheError:
    """Make an error again after pickling (a test runner sends it between processes)."""
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(state)
    return error
