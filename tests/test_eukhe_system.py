"""The real system passes through, and a process is never mistaken for a later one."""

import errno
import os

import pytest

from eukhe.system import RENAME_EXCHANGE, RENAME_NOREPLACE, Identity, OsSystem


def test_a_rename_without_replacement_leaves_both_names_as_they_are(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    with pytest.raises(FileExistsError):
        OsSystem().renameat2(str(tmp_path / "a"), str(tmp_path / "b"), RENAME_NOREPLACE)
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("a", "b")


def test_an_exchange_swaps_the_two_names(tmp_path):
    (tmp_path / "a").write_text("a")
    (tmp_path / "b").write_text("b")
    OsSystem().renameat2(str(tmp_path / "a"), str(tmp_path / "b"), RENAME_EXCHANGE)
    assert ((tmp_path / "a").read_text(), (tmp_path / "b").read_text()) == ("b", "a")


def test_a_missing_source_of_a_rename_is_named(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        OsSystem().renameat2(str(tmp_path / "none"), str(tmp_path / "b"), RENAME_NOREPLACE)
    assert caught.value.filename == str(tmp_path / "none")
    assert caught.value.errno == errno.ENOENT


def test_this_process_is_alive_and_a_former_owner_of_its_pid_is_not():
    system = OsSystem()
    me = system.process_identity()
    assert me.pid == os.getpid()
    assert system.is_alive(me)
    assert not system.is_alive(Identity(me.boot_id, me.pid, me.start_time - 1))
    assert not system.is_alive(Identity("another boot", me.pid, me.start_time))


def test_a_process_that_has_ended_is_not_alive_even_before_it_is_waited_for():
    system = OsSystem()
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(write_end)
        os.read(read_end, 1)
        os._exit(0)
    os.close(read_end)
    identity = system.process_identity(child)
    assert system.is_alive(identity)
    os.close(write_end)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert not system.is_alive(identity)
    os.waitpid(child, 0)
    assert not system.is_alive(identity)
    with pytest.raises(ProcessLookupError):
        system.process_identity(child)
