"""What can go wrong between a storage's commits and its state tree."""

from __future__ import annotations

from eukhe.errors import EukheError


class StateError(EukheError):
    """A commit that the state tree cannot follow: a change names a parent or a node that is not there.

    The tree is as it was before the commit, the commit counts as seen, and the tree goes on with the next one. The
    storage is not at fault: it keeps what it is given. `commit` is the commit's number, `change` the change's place in
    it, from 0.
    """

    def __init__(self, path: str, commit: int, change: int, why: str) -> None:
        super().__init__(
            path,
            f"{path}: commit {commit}, change {change}: {why}; the commit stays in the log, and the state tree goes on "
            f"without it. `eukhe log` shows the commit",
        )
        self.commit = commit
        self.change = change
        self.why = why


class StateTreeStopped(EukheError):
    """The state tree met an error that is its own and has stopped. The storage goes on; open it again for a new tree.

    The error is the cause (`__cause__`).
    """

    def __init__(self, path: str, why: str) -> None:
        super().__init__(path, f"{path}: the state tree has stopped ({why}); open the session again to build a new one")
        self.why = why
