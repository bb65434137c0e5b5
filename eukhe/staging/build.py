"""Building a storage beside its place, and publishing it.

    with Build.begin(system, sessions, "name", "import", home) as build:
        ...                       # make the storage at build.path, without flushing
        build.publish()

What is promised. Until `publish` nothing stands under the final name. When it returns, the whole storage stands there
and is durable: every file and the staging directory were flushed before the rename, the directory that holds it
after. It never replaces anything, not even an empty directory. A build that ends otherwise removes what it made; one
that is killed leaves a staging directory and a lock file that nobody holds, which a sweep takes when they are a day
old.

While it publishes, the builder holds the storage's own lock, so nobody writes to a storage that may not stay yet. A
flush of the parent that fails after the rename leaves an entry which no later flush covers: the storage is moved
back, and the caller is told.
"""

from __future__ import annotations

import fcntl
import os
import stat
from types import TracebackType

from eukhe import directories
from eukhe.directories import PathRefused, flush_directory
from eukhe.errors import StorageExists, StorageFailed, StorageInUse, StorageUnusable
from eukhe.staging import rules
from eukhe.staging.lock import HeldLock
from eukhe.staging.rules import Purpose, RuleRefused
from eukhe.staging.tree import flush_tree, remove_tree
from eukhe.storage.rules import MAIN_NAME
from eukhe.system import RENAME_NOREPLACE, System


class Build:
    """A storage that is being built. `path` is its staging directory, `target` its place."""

    def __init__(self, system: System, directory: str, name: str, lock: HeldLock) -> None:
        self._system = system
        self._directory = directory
        self._lock = lock
        self._published = False
        self.path = lock.leftover
        self.target = f"{directory}/{name}"

    @classmethod
    def begin(cls, system: System, directory: str, name: str, purpose: Purpose, home: str) -> Build:
        """Lock and make a staging directory in `directory`, which is made too if it is missing, up to the home.

        Whether the name is free is for `publish` to say; `check_free` spares who builds for long a build for nothing.
        Raises `StorageUnusable` for a name or path that cannot be one, `StorageFailed` where a call fails. Source:
        seed D2, staging, 1.
        """
        target = f"{directory}/{name}"
        if not rules.is_session_name(name):
            raise StorageUnusable(target, "no session can have this name; use one that begins with no dot")
        try:
            _prepare(system, directory, home)
            lock = HeldLock.make(system, directory, name, purpose)
            build = cls(system, directory, name, lock)
            try:
                system.mkdir(build.path, 0o700)
            except BaseException:
                build._end()
                raise
        except (PathRefused, RuleRefused) as error:
            raise StorageUnusable(target, str(error)) from None
        except OSError as error:
            raise _failed(target, "staging", error) from error
        return build

    def publish(self) -> None:
        """Move the storage to its place, whole and durable when this returns.

        Raises `StorageExists` where the name is taken (nothing changed), `StorageUnusable` where the filesystem has no
        rename that cannot replace, and `StorageFailed`. Source: seed D2, staging, 2.
        """
        step, main = "flushing what was built", -1
        try:
            main = self._system.open(f"{self.path}/{MAIN_NAME}", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
            self._system.flock(main, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._flush_built()
            step = "the rename"
            settled = rules.settle(self._rename())
            if settled == "exists":
                raise StorageExists(self.target)
            if settled == "unsupported":
                raise StorageUnusable(self.target, UNSUPPORTED)
            step, self._published = "flushing the directory that holds it", True
            self._flush_place()
        except BlockingIOError:
            raise StorageInUse(self.path) from None
        except OSError as error:
            raise _failed(self.target, f"publish ({step})", error) from error
        finally:
            if main >= 0:
                self._system.close(main)

    def __enter__(self) -> Build:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._end()
        except OSError:
            # What stays is a leftover that nobody holds: a sweep takes it when it is a day old.
            pass

    def _end(self) -> None:
        """Remove what was not published, and the lock file last. Raises `OSError`."""
        try:
            if not self._published:
                self._remove()
        except BaseException:
            self._lock.abandon()
            raise
        self._lock.remove()

    def _remove(self) -> None:
        parent = self._system.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for _, error in remove_tree(self._system, parent, os.path.basename(self.path)):
                raise error
        except FileNotFoundError:
            pass
        finally:
            self._system.close(parent)

    def _flush_built(self) -> None:
        parent = self._system.open(self._directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            flush_tree(self._system, parent, os.path.basename(self.path))
        finally:
            self._system.close(parent)

    def _rename(self) -> int | None:
        """The errno of the rename that may not replace, None where it succeeded. Raises `OSError` if it just failed."""
        try:
            self._system.renameat2(self.path, self.target, RENAME_NOREPLACE)
        except OSError as error:
            if rules.settle(error.errno) == "failed":
                raise
            return error.errno
        return None

    def _flush_place(self) -> None:
        """Make the final name durable; where that fails, move the storage back, as well as can be."""
        try:
            flush_directory(self._system, self._directory)
        except OSError:
            try:
                self._system.rename(self.target, self.path)
                self._published = False
                # Without this flush a power loss may still bring the storage to its place.
                flush_directory(self._system, self._directory)
            except OSError:
                # What the caller hears of is the flush that failed.
                pass
            raise


UNSUPPORTED = (
    "this filesystem cannot rename without replacing what is there, so nothing was published; keep the sessions on one "
    "that can (ext4, xfs, btrfs, tmpfs, ...)"
)


def check_free(system: System, directory: str, name: str) -> None:
    """Raise `StorageExists` where a name is taken already. That it is free now promises nothing for later."""
    try:
        system.lstat(f"{directory}/{name}")
    except OSError:
        return
    raise StorageExists(f"{directory}/{name}")


def _is_link(system: System, path: str) -> bool:
    try:
        return stat.S_ISLNK(system.lstat(path).st_mode)
    except FileNotFoundError:
        return False


def _prepare(system: System, directory: str, home: str) -> None:
    """Make the directory where it is missing, and the path to it durable from the home down.

    One that is its own home, or a symbolic link that the user has set, was made by somebody else and is there.
    """
    if directory == home or _is_link(system, directory):
        return
    missing = directories.look(system, directory, home)
    making, owed = directories.plan_directories(True, directory, home, missing)
    directories.carry_out(system, making)
    for above in owed:
        flush_directory(system, above)


def _failed(path: str, step: str, error: OSError) -> StorageFailed:
    return StorageFailed(path, step, error.strerror or str(error))
