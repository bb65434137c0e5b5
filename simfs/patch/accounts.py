"""The users of the simulated machine, and its name: root, and one for each other number that a process runs as.

`os.path.expanduser`, `shutil.chown`, `Path.owner` and `getpass.getuser` ask `pwd` and `grp`, which read the host's
files in C. Inside a process a uid other than 0 is called `user<uid>` and is at home in `/home/user<uid>`; groups
alike. The host is called `simulated`, as `os.uname` says too.
"""

from __future__ import annotations

import _socket
import grp
import pwd
import socket
from typing import Any

from simfs.machine.system import SimSystem
from simfs.patch.inside import current_process
from simfs.patch.standin import StandIn, answered_by

HOST = "simulated"


def _name_of(number: int) -> str:
    return "root" if number == 0 else f"user{number}"


def _number_of(name: str, ask: str) -> int:
    if name == "root":
        return 0
    if name.startswith("user") and name[4:].isdigit():
        return int(name[4:])
    raise KeyError(f"{ask}: name not found: {name!r}")


def _user(number: int) -> pwd.struct_passwd:
    name = _name_of(number)
    home = "/root" if number == 0 else f"/home/{name}"
    return pwd.struct_passwd((name, "x", number, number, name, home, "/bin/sh"))


def _group(number: int) -> grp.struct_group:
    return grp.struct_group((_name_of(number), "x", number, []))


def _user_by_number(system: SimSystem, uid: int, /) -> pwd.struct_passwd:
    return _user(uid)


def _user_by_name(system: SimSystem, name: str, /) -> pwd.struct_passwd:
    return _user(_number_of(name, "getpwnam()"))


def _group_by_number(system: SimSystem, id: int) -> grp.struct_group:
    return _group(id)


def _group_by_name(system: SimSystem, name: str) -> grp.struct_group:
    return _group(_number_of(name, "getgrnam()"))


def _users(system: SimSystem) -> list[pwd.struct_passwd]:
    return [_user(number) for number in sorted({0, current_process().uid})]


def _groups(system: SimSystem) -> list[grp.struct_group]:
    return [_group(number) for number in sorted({0, current_process().gid})]


def _host(system: SimSystem) -> str:
    return HOST


def account_stand_ins() -> list[tuple[Any, str, StandIn]]:
    """Module, name in it, stand-in, for `pwd`, `grp` and the host's name."""
    answers = (
        (pwd, "getpwuid", _user_by_number),
        (pwd, "getpwnam", _user_by_name),
        (pwd, "getpwall", _users),
        (grp, "getgrgid", _group_by_number),
        (grp, "getgrnam", _group_by_name),
        (grp, "getgrall", _groups),
    )
    made = [(m, name, answered_by(f"{m.__name__}.{name}", getattr(m, name), answer)) for m, name, answer in answers]
    host = answered_by("socket.gethostname", socket.gethostname, _host)
    made.extend((module, "gethostname", host) for module in (socket, _socket))
    return made
