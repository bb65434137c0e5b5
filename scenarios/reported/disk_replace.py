"""B5, B7, B8, B9 and four classics: replacing a file, or giving one its name, and what a power loss leaves of it.

saltstack/salt#69583 (B5); bitcoin/bitcoin#35384 (B7); NousResearch/hermes-agent#16980 (B8); peter-wangxu/persist-queue
#59 (B9); the empty desktop settings of 2009 (KDE and GNOME on ext4); git's refs of zero length; etcd's missing flush of
a directory.

What happened. Settings were truncated and written in place (kde-truncate), or written beside and renamed without a
flush (B5, kde-rename): after a crash they were empty, or full of NULs. A lock file was renamed to the name of a ref
(git): the ref had no content. A snapshot was flushed and renamed, its directory never (etcd): it was gone. A full disk
was not noticed and the truncated temporary file replaced the good one (B7). A symlink was replaced by a plain file and
what it pointed to was no longer updated (B8). The temporary file lay on another filesystem, the rename failed, and a
copy over the target took its place (B9).

What is right. Resolve the name, write beside the target, take any error as the end of it, flush the file, rename, flush
the directory, and only then say that it is saved.
"""

from __future__ import annotations

import errno
import os
import shutil
from typing import Any

import simfs
from scenarios.reported.durable import flush_directory, replace_durably, write_all
from scenarios.reported.laws import DUR1, DUR6, DUR9
from scenarios.reported.registry import ATOMIC_RENAMES, Case
from simfs.machine.faults import Full

TARGET = "/app/settings"
OLD, NEW = b"old", b"new!"


def write_plainly(path: str, data: bytes) -> None:
    """Create or truncate, write, close; no flush."""
    with open(path, "wb") as file:
        file.write(data)


class _Save(simfs.Scenario):
    """Settings are saved once; they are the old ones or the new ones, and the new ones once that was promised."""

    disk: Any = "ext4"

    def setup(self, m: Any) -> None:
        os.mkdir("/app")
        write_plainly(TARGET, OLD)

    def save(self, m: Any) -> None:
        replace_durably(TARGET, NEW)

    @simfs.process
    def saver(self, m: Any) -> None:
        self.save(m)
        m.ack("saved")

    def found(self) -> bytes:
        return open(TARGET, "rb").read()

    @simfs.law(DUR6)
    def old_or_new(self, m: Any) -> None:
        assert self.found() in (OLD, NEW), f"the settings are {self.found()!r}"

    @simfs.law(DUR1)
    def new_once_promised(self, m: Any) -> None:
        assert not m.acked("saved") or self.found() == NEW, f"saved was promised, and there is {self.found()!r}"


class RenamesUnflushed(_Save):
    """The temporary file is renamed and never flushed: on ext4 the name may come first, and NULs with it."""

    def save(self, m: Any) -> None:
        write_plainly(TARGET + ".tmp", NEW)
        os.rename(TARGET + ".tmp", TARGET)


class ToldByTheDirectory(RenamesUnflushed):
    """The same, and the directory is flushed: that makes the name durable, not the content."""

    def save(self, m: Any) -> None:
        super().save(m)
        flush_directory("/app")


class Durable(_Save):
    """File, rename, directory, each flushed in its turn."""

    disk = ATOMIC_RENAMES


class TruncatesInPlace(_Save):
    """The settings are truncated and written again."""

    def save(self, m: Any) -> None:
        write_plainly(TARGET, NEW)


class _Ref(_Save):
    """A ref that did not exist is made: it is not there, or it is whole."""

    def setup(self, m: Any) -> None:
        os.mkdir("/app")

    @simfs.law(DUR6)
    def old_or_new(self, m: Any) -> None:
        assert not os.path.exists(TARGET) or self.found() == NEW, f"the ref is {self.found()!r}"

    @simfs.law(DUR1)
    def new_once_promised(self, m: Any) -> None:
        assert not m.acked("saved") or os.path.exists(TARGET), "the ref was promised, and is not there"


class RenamesTheLock(_Ref):
    """The lock file is written and renamed to the ref; nothing is flushed."""

    def save(self, m: Any) -> None:
        fd = os.open(TARGET + ".lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(fd, NEW)
        os.close(fd)
        os.rename(TARGET + ".lock", TARGET)


class FlushesTheLock(_Ref):
    """The lock file is flushed, renamed, and the rename is flushed."""

    disk = ATOMIC_RENAMES


class ForgetsTheDirectory(_Ref):
    """The snapshot is flushed and renamed; its directory is not flushed."""

    def save(self, m: Any) -> None:
        fd = os.open(TARGET + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.write(fd, NEW)
        os.fsync(fd)
        os.close(fd)
        os.rename(TARGET + ".tmp", TARGET)


class _FullDisk(_Save):
    """The disk fills up while the settings are saved."""

    faults = (Full(("write",), after=0), Full(("write",), after=2))

    @simfs.law(DUR9)
    def a_failed_save_is_no_save(self, m: Any) -> None:
        assert not m.acked("saved") or self.found() == NEW, f"saved was answered, and there is {self.found()!r}"


class IgnoresTheError(_FullDisk):
    """What write and close answer is not looked at; whatever came of it is flushed and published."""

    def save(self, m: Any) -> None:
        fd = os.open(TARGET + ".tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        try:
            os.write(fd, NEW)
        except OSError:
            pass
        os.fsync(fd)
        os.close(fd)
        os.rename(TARGET + ".tmp", TARGET)
        flush_directory("/app")


class GivesUp(_FullDisk):
    """Any error is the caller's, the temporary file goes, and the good file stays."""

    disk = ATOMIC_RENAMES

    @simfs.process
    def saver(self, m: Any) -> None:
        try:
            replace_durably(TARGET, NEW)
        except OSError as error:
            assert error.errno == errno.ENOSPC
            return
        m.ack("saved")


class _Linked(_Save):
    """The settings are a symlink to a file under version control; saving goes through it."""

    def setup(self, m: Any) -> None:
        os.mkdir("/app")
        os.mkdir("/repo")
        write_plainly("/repo/settings", OLD)
        os.symlink("/repo/settings", TARGET)

    def found(self) -> bytes:
        return open("/repo/settings", "rb").read()


class ReplacesTheLink(_Linked):
    """The rename puts a plain file in the place of the symlink."""

    def save(self, m: Any) -> None:
        replace_durably(TARGET, NEW)


class ResolvesFirst(_Linked):
    """The temporary file stands beside what the link points to, and replaces that."""

    disk = ATOMIC_RENAMES

    def save(self, m: Any) -> None:
        replace_durably(os.path.realpath(TARGET), NEW)

    @simfs.law
    def the_link_stays(self, m: Any) -> None:
        """The symlink is still one."""
        assert os.path.islink(TARGET)


class _TwoFilesystems(_Save):
    """The place for temporary files is another filesystem than the settings'."""

    def setup(self, m: Any) -> None:
        super().setup(m)
        os.mkdir("/scratch")
        m.system.machine.mount("/scratch")


class CopiesInstead(_TwoFilesystems):
    """When the rename fails with EXDEV, the file is copied over the target."""

    def save(self, m: Any) -> None:
        fd = os.open("/scratch/settings", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        write_all(fd, NEW)
        os.fsync(fd)
        os.close(fd)
        try:
            os.rename("/scratch/settings", TARGET)
        except OSError as error:
            assert error.errno == errno.EXDEV
            shutil.copyfile("/scratch/settings", TARGET)
            os.unlink("/scratch/settings")


class CopiesBeside(_TwoFilesystems):
    """When the rename fails with EXDEV, the bytes are written beside the target, flushed and renamed."""

    disk = ATOMIC_RENAMES

    def save(self, m: Any) -> None:
        write_plainly("/scratch/settings", NEW)
        try:
            os.rename("/scratch/settings", TARGET)
        except OSError:
            replace_durably(TARGET, open("/scratch/settings", "rb").read())
            os.unlink("/scratch/settings")


CASES = (
    Case("B5", "renamed without a flush", "saltstack/salt#69583", RenamesUnflushed, Durable, (DUR6, DUR1)),
    Case("B5-directory", "the directory flushed, the file not", "saltstack/salt#69583", ToldByTheDirectory, Durable,
         (DUR6, DUR1)),
    Case("kde-truncate", "settings truncated in place", "ubuntu/ext4#317781", TruncatesInPlace, Durable, (DUR6, DUR1)),
    Case("git", "a ref without content", "git: lock file renamed without a flush", RenamesTheLock, FlushesTheLock,
         (DUR6, DUR1)),
    Case("etcd", "a directory never flushed", "etcd-io/etcd: snapshot renamed", ForgetsTheDirectory, FlushesTheLock,
         (DUR1,)),
    Case("B7", "a full disk not noticed", "bitcoin/bitcoin#35384", IgnoresTheError, GivesUp, (DUR9, DUR6)),
    Case("B8", "a symlink replaced", "NousResearch/hermes-agent#16980", ReplacesTheLink, ResolvesFirst, (DUR1,)),
    Case("B9", "a copy over the target", "peter-wangxu/persist-queue#59", CopiesInstead, CopiesBeside, (DUR6, DUR1)),
)  # fmt: skip
