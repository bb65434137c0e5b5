"""The mutants of the state tree and of the live one, each a rule exchanged."""

from __future__ import annotations

from typing import Any

from eukhe.storage import shell
from eukhe.storage.codec import Commit, decode_commit
from eukhe.storage.history import CommitHistory, HistoryKeeper
from eukhe.tree import state
from eukhe.tree.errors import StateError
from eukhe.tree.live import LiveStateTree
from eukhe.tree.placing import Place
from eukhe.tree.state import StateTree
from scenarios.mutants.exchange import broken
from scenarios.mutants.mutant import Mutant

__simfs_machinery__ = True


def mutants() -> list[Mutant]:
    """All of them."""
    return [*TREE, *LIVE]


def _never_waits(real: Any) -> Any:
    """A put whose parent comes later in its commit is dropped."""

    def apply(self: Any, place: int, change: Any) -> Any:
        real(self, place, change)
        return True

    return apply


def _fork_first(real: Any) -> Any:
    return lambda record: Place() if record.get("owner_task") else real(record)


def _all_to_root(real: Any) -> Any:
    return lambda record: Place() if record["type"] == "submission" else real(record)


def _whole_entry(real: Any) -> Any:
    return lambda record, created, changed: record if record["type"] == "entry" else real(record, created, changed)


def _made_again(real: Any) -> Any:
    def value(record: Any, created: int, changed: int) -> Any:
        return real(record, changed, changed)

    return value


def _half_kept(real: Any) -> Any:
    """What could be followed of an impossible commit stays."""

    def settle(self: Any) -> Any:
        try:
            return real(self)
        except StateError:
            for record in self.records:
                self.state._journal.push(record)
            raise

    return settle


def _silent(real: Any) -> Any:
    """An impossible commit is passed over without a word."""

    def record(self: Any, commit: Commit) -> Any:
        try:
            return real(self, commit)
        except StateError:
            return 0

    return record


def _counts_again(real: Any) -> Any:
    def record(self: Any, commit: Commit) -> Any:
        if commit.number == self.last_commit:
            self.last_commit -= 1
        return real(self, commit)

    return record


def _first_change_only(real: Any) -> Any:
    def writes(self: Any, line: bytes) -> Any:
        commit = decode_commit(line)
        return self.record(Commit(commit.number, commit.changes[:1]))

    return writes


def _no_learning(real: Any) -> Any:
    return lambda self, history: None


def _ids_skip(real: Any) -> Any:
    """Ids count changes and not nodes."""

    def node(self: Any, key: Any) -> Any:
        found = real(self, key)
        if found is None and key not in self.ids and self.commit.number > 1 and len(self.ids) == 0:
            self.ids["skipped", self.commit.number] = len(self.state._ids) + 1
        return found

    return node


def _deletes_parents(real: Any) -> Any:
    def settle(self: Any) -> Any:
        records = real(self)
        return [type(one)(1) if type(one).__name__ == "Delete" else one for one in records]

    return settle


TREE = (
    Mutant(
        "a child before its parent is dropped",
        "state",
        broken=broken(state._Draft, "_apply", _never_waits),
        made_for=("state_unordered_changes", "state_error_keeps_tree", "state_parents"),
    ),
    Mutant(
        "a task's conversation stands at the root",
        "state",
        broken=broken(state, "place_of", _fork_first),
        made_for=("state_parents",),
    ),
    Mutant(
        "submissions at the root", "state", broken=broken(state, "place_of", _all_to_root), made_for=("state_parents",)
    ),
    Mutant(
        "an entry shows its body", "state", broken=broken(state, "value_of", _whole_entry), made_for=("state_parents",)
    ),
    Mutant(
        "a document forgets when it was made",
        "state",
        broken=broken(state, "value_of", _made_again),
        made_for=("state_parents",),
    ),
    Mutant(
        "half of an impossible commit stays",
        "state",
        broken=broken(state._Draft, "settle", _half_kept),
        made_for=("state_error_keeps_tree",),
    ),
    Mutant(
        "an impossible commit is passed over in silence",
        "state",
        broken=broken(StateTree, "record", _silent),
        made_for=("state_error_keeps_tree",),
    ),
    Mutant(
        "a commit counts twice",
        "state",
        broken=broken(StateTree, "record", _counts_again),
        made_for=("state_commit_once",),
    ),
    Mutant(
        "writes are followed in part",
        "state",
        broken=broken(StateTree, "record_writes", _first_change_only),
        made_for=("state_writes_equal_publications",),
    ),
    Mutant(
        "a history is followed without learning its tasks",
        "state",
        broken=broken(StateTree, "learn_tasks", _no_learning),
        made_for=("state_history_tree",),
    ),
    Mutant("ids have gaps", "state", broken=broken(state._Draft, "_id", _ids_skip), made_for=("state_ids_first_seen",)),
    Mutant(
        "a retired document takes its conversation along",
        "state",
        broken=broken(state._Draft, "settle", _deletes_parents),
        made_for=("state_conversations_stay",),
    ),
)


def _publish_works(real: Any) -> Any:
    def publish(self: Any, commit: Commit) -> Any:
        taken = real(self, commit)
        while self.step():
            pass
        return taken

    return publish


def _open_builds(real: Any) -> Any:
    def init(self: Any, *given: Any) -> None:
        real(self, *given)
        while self.step():
            pass

    return init


def _reads_at_once(real: Any) -> Any:
    return lambda self, ticket: self._history is None


def _reads_wait_for_quiet(real: Any) -> Any:
    return lambda self, ticket: real(self, ticket) and not self._queue


def _goes_on(real: Any) -> Any:
    def step(self: Any) -> Any:
        worked = real(self)
        self._failure = None
        return worked

    return step


def _publishes_into_the_void(real: Any) -> Any:
    def publish(self: Any, commit: Commit) -> Any:
        real(self, commit)
        return True

    return publish


def _keeps_nothing_live(real: Any) -> Any:
    """Only what was found at open is kept."""

    def commit(self: Any, changes: Any) -> Any:
        kept, self._history = self._history, None
        try:
            return real(self, changes)
        finally:
            self._history = kept

    return commit


def _taken_twice(real: Any) -> Any:
    def take(self: Any) -> Any:
        kept = self._history or HistoryKeeper()
        real(self)
        self._history = kept
        return CommitHistory(list(kept.lines), self._number)

    return take


LIVE = (
    Mutant(
        "a commit builds the tree",
        "live",
        broken=broken(LiveStateTree, "publish", _publish_works),
        made_for=("state_never_blocks",),
    ),
    Mutant(
        "opening builds the tree",
        "live",
        broken=broken(LiveStateTree, "__init__", _open_builds),
        made_for=("state_never_blocks",),
    ),
    Mutant(
        "a read does not wait for commits before it",
        "live",
        broken=broken(LiveStateTree, "done", _reads_at_once),
        made_for=("state_never_blocks",),
    ),
    Mutant(
        "a read waits for commits after it",
        "live",
        broken=broken(LiveStateTree, "done", _reads_wait_for_quiet),
        made_for=("state_never_blocks",),
    ),
    Mutant(
        "an unexpected error is forgotten",
        "live",
        broken=broken(LiveStateTree, "step", _goes_on),
        made_for=("state_failure_stops",),
    ),
    Mutant(
        "a stopped tree still takes commits",
        "live",
        broken=broken(LiveStateTree, "publish", _publishes_into_the_void),
        made_for=("state_failure_stops",),
    ),
    Mutant(
        "live commits are not kept",
        "history",
        broken=broken(shell.Storage, "commit", _keeps_nothing_live),
        made_for=("state_history_kept",),
    ),
    Mutant(
        "a history is handed out again",
        "history",
        broken=broken(shell.Storage, "take_history", _taken_twice),
        made_for=("state_history_kept",),
    ),
)
