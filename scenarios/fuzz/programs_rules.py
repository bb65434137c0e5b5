"""Histories of the stores that are rules alone: the session tree, the state tree, and the daemon's machines.

There is no disk in them, and no power to lose: what is drawn is what they are told and in which order. After each step
they are compared with the plain definition, or with the laws of the wire.
"""

from __future__ import annotations

from typing import Any

from eukhe.storage.codec import Commit
from eukhe.tree import model
from eukhe.tree.errors import StateError
from eukhe.tree.journal import Journal
from eukhe.tree.records import Delete, Put, Record, Rewind
from eukhe.tree.state import StateTree
from scenarios.fuzz.marks import mark
from scenarios.histories import Broken
from scenarios.laws import state_tree, tree, wire
from scenarios.suites import state_cases, tree_cases
from scenarios.suites import wire as wire_suite
from scenarios.suites.tree_core import _work
from scenarios.suites.wire_world import World
from simfs.disk.model import DiskModel
from simfs.explore.choices import Choices
from simfs.explore.law import COMPLETES

RECORDS_MAX, IDS_MAX, COMMITS_MAX, MOVES_MAX = 40, 12, 24, 160


class RuleHistory:
    """What they share: the choices, the story, and nothing that loses power."""

    crashes = 0

    def __init__(self, model: DiskModel, choices: Choices) -> None:
        self.draw = choices.draw
        self.choices = choices
        self.story: list[str] = []
        self.marks: set[int] = set()


class TreeHistory(RuleHistory):
    """Records pushed onto a real journal and onto the plain definition, with questions in between."""

    def run(self) -> None:
        """Raises `Broken`."""
        journal, trees = Journal(), [dict[int, tuple[int, bytes]]()]
        ids = 1 + self.draw(IDS_MAX, "how many ids")
        for _ in range(1 + self.draw(RECORDS_MAX, "further records")):
            record = self.record(ids)
            outcome = model.apply(trees[-1], record)
            answer = journal.push(record)
            self.story.append(f"{record}: {'taken' if outcome.taken else 'refused'}")
            trees.append(outcome.tree)
            self.marks.add(mark("rule", "tree", type(record).__name__, outcome.taken, len(outcome.removed)))
            if answer != (outcome.taken, outcome.removed):
                raise Broken(tree.TREE_CORE_ANSWER, f"it answers {answer}, the model {outcome.taken, outcome.removed}")
            self.compare(journal, trees, journal.cursor, tree.TREE_CORE_TREE)
            if self.draw(3, "a question") == 2:
                self.question(journal, trees)

    def record(self, ids: int) -> Record:
        """One drawn record."""
        kind, i = self.draw(4, "kind of record"), 1 + self.draw(ids, "id")
        if kind < 2:
            return Put(i, self.draw(i + 1, "parent"), self.draw(3, "value"))
        if kind == 2:
            return Delete(i)
        changes = []
        for _ in range(self.draw(4, "changes")):
            node = 1 + self.draw(ids, "id")
            gone = self.draw(2, "goes")
            changes.append((node, None if gone else (self.draw(node, "parent"), self.draw(3, "value"))))
        return Rewind(tuple(changes))

    def question(self, journal: Journal, trees: list[Any]) -> None:
        """A snapshot and a plan of a drawn cursor; neither changes anything."""
        cursor = self.draw(len(trees), "cursor")
        self.compare(journal, trees, cursor, tree.TREE_CORE_SNAP)
        plan = journal.rewind_plan(cursor)
        self.story.append(f"asked about cursor {cursor}")
        named = [*plan.stops], [n[0] for n in plan.starts], [n[0] for n in plan.restores]
        stops, starts, restores = _work(trees[-1], trees[cursor])
        wanted = stops, [n[0] for n in starts], [n[0] for n in restores]
        if named != wanted:
            raise Broken(tree.TREE_CORE_PLAN, f"to cursor {cursor} it plans {named}, the trees differ in {wanted}")
        self.compare(journal, trees, journal.cursor, tree.TREE_CORE_PLAN_KEEPS)
        if len(journal.records_since(cursor)) != len(trees) - 1 - cursor:
            raise Broken(tree.TREE_CORE_NOTE, f"{len(journal.records_since(cursor))} records since cursor {cursor}")

    def compare(self, journal: Journal, trees: list[Any], cursor: int, law: Any) -> None:
        """The real tree at a cursor is the definition's."""
        found = tree_cases.tree_of(journal, cursor)
        if found != trees[cursor]:
            raise Broken(law, f"at cursor {cursor} it shows {found}, the model {trees[cursor]}")


class StateHistory(RuleHistory):
    """Drawn commits, possible and not, followed by the real state tree and by the model."""

    def run(self) -> None:
        """Raises `Broken`."""
        state, plain = StateTree("s", state_cases.TREE), state_cases.Model()
        self.above: dict[Any, Any] = {}
        drawer = state_cases._Drawer(0)
        drawer.draw = self.draw
        for number in range(1, 2 + self.draw(COMMITS_MAX, "further commits")):
            commit = drawer.commit(number)
            if self.draw(4, "a change that may not fit") == 3:
                odd = state_cases.CHANGES[self.draw(len(state_cases.CHANGES), "which")]
                names = [_name(change) for change in commit.changes]
                if _name(odd) not in names:
                    commit = Commit(number, [*commit.changes, odd])
            if not self.stays(plain, commit):
                return
            self.story.append(f"commit {number}: {commit.changes}")
            self.follow(state, plain, commit)

    def stays(self, plain: state_cases.Model, commit: Commit) -> bool:
        """Whether nothing in it was below another parent before. Such a move is possible or not by the order in which
        the two parents came, which the model does not say where they came in one commit."""
        for change in commit.changes:
            record = change.get("put") or change.get("copy", {}).get("record")
            if record is not None:
                try:
                    above = state_cases.parent(record, plain.tasks)
                except state_cases.Missing:
                    continue
                if self.above.setdefault(state_cases.name(record), above) != above:
                    return False
        return True

    def follow(self, state: StateTree, plain: state_cases.Model, commit: Commit) -> None:
        """One commit, on both."""
        possible = plain.follow(commit)
        self.marks.add(mark("rule", "state", possible, tuple(sorted(_name(c)[0] for c in commit.changes))))
        try:
            state.record(commit)
        except StateError:
            if possible:
                raise Broken(state_tree.STATE_UNORDERED_CHANGES, "a possible commit is refused") from None
        else:
            if not possible:
                raise Broken(state_tree.STATE_ERROR_KEEPS_TREE, "an impossible commit is taken")
        found = state_cases.shown(state, plain.seen)
        if found != plain.nodes:
            law = state_tree.STATE_PARENTS if possible else state_tree.STATE_ERROR_KEEPS_TREE
            raise Broken(law, f"after commit {commit.number} it is {found}, and the rules say {plain.nodes}")


def _name(change: Any) -> Any:
    return state_cases.name(change.get("put") or change.get("retire") or change["copy"]["record"])


STEPS = ("subscribe", "commit", "attach", "unsubscribe", "close")


class WireHistory(RuleHistory):
    """Clients with drawn scripts, a supervisor and workers; at each step a drawn move of all that may happen."""

    def run(self) -> None:
        """Raises `Broken`."""
        scripts = tuple(self.script() for _ in range(1 + self.draw(3, "further clients")))
        world = World(scripts, self.draw(3, "kills"), self.draw(3, "repeats"), 1 + self.draw(4, "room"))
        self.story.append(f"clients {scripts}, {world.kills} kills, {world.repeats} repeats, room {world.room}")
        for _ in range(MOVES_MAX):
            moves = world.moves()
            self.judge(world, not moves)
            if not moves:
                return
            kind, n = moves[self.draw(len(moves), "what happens")]
            self.story.append(f"{kind} {n}")
            try:
                world.move((kind, n))
            except Exception as error:
                raise Broken(COMPLETES, f"a machine raises {type(error).__name__}: {error}") from error
            self.marks.add(mark("rule", "wire", kind, tuple(sorted({one for one, _ in moves}))))

    def script(self) -> tuple[str, ...]:
        """Nobody acts once it has closed, unsubscribes without a subscription, or closes while it counts events."""
        steps = [STEPS[self.draw(len(STEPS), "step of a script")] for _ in range(1 + self.draw(4, "further steps"))]
        if "close" in steps:
            steps = [step for step in steps[: steps.index("close") + 1] if step != "attach"]
        out: list[str] = []
        for step in steps:
            if step in ("subscribe", "attach") and step in out:
                continue
            if step == "unsubscribe" and ("subscribe" not in out or "unsubscribe" in out):
                continue
            out.append(step)
        return tuple(out) or ("subscribe",)

    def judge(self, world: World, over: bool) -> None:
        """Every law of the wire."""
        for law, judge in (
            (wire.WIRE_SUBSCRIBERS_ONLY, wire_suite.subscribers_only),
            (wire.WIRE_NO_GAP_NO_REPEAT, wire_suite.no_gap_no_repeat),
        ):
            wrong = judge(world, over)
            if wrong is not None:
                raise Broken(law, wrong)
