"""Who may do what: the classic mode bits, for one user id and one group id a process.

Root (uid 0) may read and write everything and search every directory; it may execute a file only if somebody may.
Everybody else is judged by the first class that fits: owner, group, others. There are no supplementary groups, no
capabilities and no ACLs. In a sticky directory only the owner of the entry or of the directory, or root, removes or
replaces an entry (EPERM). A hard link to somebody else's file needs read and write access to a plain file
(EPERM), as with fs.protected_hardlinks=1, which distributions set; the other fs.protected_* are 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfs.machine.inode import Inode
    from simfs.machine.process import Process

READ = 4
WRITE = 2
EXECUTE = 1


def may(p: Process, node: Inode, want: int, uid: int | None = None) -> bool:
    """Whether `p` has all of `want` (READ | WRITE | EXECUTE) on `node`."""
    user = p.uid if uid is None else uid
    if user == 0:
        return not want & EXECUTE or node.kind == "dir" or bool(node.mode & 0o111)
    if user == node.uid:
        bits = node.mode >> 6
    elif p.gid == node.gid:
        bits = node.mode >> 3
    else:
        bits = node.mode
    return want & ~bits == 0


def without_ids(p: Process, node: Inode) -> int:
    """The mode of a file after somebody gave it away or wrote to it: set-user-id goes, set-group-id mostly."""
    mode = node.mode & ~0o4000
    if mode & 0o0010 or (p.uid and p.gid != node.gid):
        mode &= ~0o2000
    return mode


def may_search(p: Process, node: Inode) -> bool:
    """Whether `p` may look names up in directory `node`."""
    return p.uid == 0 or may(p, node, EXECUTE)


def may_change_entries(p: Process, directory: Inode) -> bool:
    """Whether `p` may add and remove entries of `directory` at all."""
    return p.uid == 0 or may(p, directory, WRITE | EXECUTE)


def is_stuck(p: Process, directory: Inode, victim: Inode) -> bool:
    """Whether the sticky bit of `directory` keeps `p` from removing or replacing `victim`."""
    return bool(directory.mode & 0o1000) and p.uid not in (0, victim.uid, directory.uid)


def may_link(p: Process, node: Inode) -> bool:
    """Whether `p` may make a further name for `node`."""
    if p.uid in (0, node.uid):
        return True
    plain = node.kind == "file" and not node.mode & 0o4000 and node.mode & 0o2010 != 0o2010
    return plain and may(p, node, READ | WRITE)
