"""Lazy survivors: what a power loss kept is decided when somebody looks.

Model. Eagerly, each image that a power loss may leave is recovered and judged. Lazily, one image stands for all that
differ from it only where neither recovery nor a law looked. The images of a crash point begin as one block, with "all
lost" as its representative. Recovery and laws run on the representative, and their footprint, in order, says what they
looked at. Each look splits the block by what it shows; the rest is judged in turn, and what remains has been judged.
The tree of these splits is the decision tree of the program; its leaves are what is judged.

It is sound because a part that runs alone draws no lots: what it does next is a function of what its calls have
answered so far, and what they answer is a function of what they looked at, what was promised, the boot and the clock,
which are the same for all images of a crash point. So two images that agree on every look have the same run.

What is a look:

- every read in the footprint, and every change of a name or of a file's content, which looks before it changes;
- a changed link count looks at the link count; a changed attribute at all attributes;
- an entry made or removed looks at its name and neither at its directory's other entries nor at its times: what the
  change does to those is the same whatever they are, and a later listing or stat of the directory looks at all of it;
- a flush looks at nothing, and rescues nothing that was lost; taking a copy of the recovered machine looks at nothing.
- Looks of all laws count, each made on its own copy of the recovered machine. A look at something that recovery made
  anew shows nothing undecided, and one at something that it changed was a look already when it did.

What stays eager: an image on which recovery may be crashed in turn (`power_depth`), because the images that this leaves
would have to be compared as well; an image that starts another boot (`restart`), because its processes look too; models
that do not say what is undecided in worlds (`scc`, `hostile`). With `lazy=None` a crash point with few leaves is eager
too, because runs that record looks cost more.

Not everything that is looked at is told apart from everything else: two images with equal digests are the same one, as
they are eagerly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from simfs.disk.factors import EVERYTHING, Block, Look, Undecided, undecided
from simfs.disk.model import Disk, Pick
from simfs.disk.worlds import LEAVES_BOUND, LEAVES_MAX
from simfs.explore.judge import Judge, event_key
from simfs.explore.stage import Before
from simfs.explore.verdict import Finding, Searched
from simfs.machine.calls import Footprint
from simfs.machine.inode import Image

LEAST = 64
"""Crash points with so many leaves, or fewer, are judged eagerly unless the scenario says `lazy=True`."""
_ELSEWHERE = frozenset(("acquire", "clock", "history", "lock", "numbers", "proc", "stamp"))
"""Kinds of resources that are on no disk."""


def looks_of(footprint: Footprint, image: Image) -> tuple[Look, ...]:
    """What of `image` was looked at, in order. A resource of a kind that is not known here looks at everything."""
    found: dict[Look, None] = {}
    for resource, mode in footprint:
        kind = resource[0]
        if kind in ("dent", "data") or (kind in ("list", "meta") and mode != "C"):
            found[resource] = None
        elif kind == "meta":
            node = image.inodes.get(resource[1])
            if node is not None and node.kind != "dir":
                found["links", resource[1]] = None
        elif kind != "list" and kind not in _ELSEWHERE:
            found[EVERYTHING] = None
    return tuple(found)


def split_all(parts: Undecided, block: Block, looks: Sequence[Look]) -> tuple[Block, list[Block]]:
    """The images of a block that agree with its representative on all looks, and blocks of the others."""
    others: list[Block] = []
    for look in looks:
        block, rest = parts.split(block, look)
        others += reversed(rest)
    return block, others


@dataclass(slots=True)
class Lazy:
    """Judges the images of crash points block by block. `seen` has the questions that were answered, eagerly or not, as
    (digest, `rest`); `digests` collects those of the images that were judged; `tick` is called now and then, and may
    raise to end the search."""

    judge: Judge
    searched: Searched
    seen: set[object]
    digests: set[int]
    tick: Callable[[], None]
    _looks: dict[object, tuple[Look, ...]] = field(default_factory=dict)
    """By image and all else that a run depends on: what was looked at. Nothing was broken."""
    _looks_of_laws: dict[object, tuple[Look, ...]] = field(default_factory=dict)

    def undecided(self, disk: Disk, last: bool) -> Undecided | None:
        """What is undecided at this crash point; None where it is to be judged eagerly.

        `last`: nothing follows but recovery and laws.
        """
        wanted: bool | None = self.judge.spec.options["lazy"]
        if not last or wanted is False:
            return None
        return undecided(disk, -1 if wanted else LEAST)

    def findings(self, disk: Disk, parts: Undecided, at: Before, rest: object) -> Iterator[tuple[Finding, Pick]]:
        """Every broken law on any image of a crash point, with the pick of an image that breaks it: among those that
        look the same, the one that loses the least.

        `rest` is all that a run depends on besides the image.
        """
        blocks = [parts.everything()]
        judged = 0
        while blocks:
            if judged == LEAVES_MAX:
                disk.bounds.add(LEAVES_BOUND)
                return
            judged += 1
            block = blocks.pop()
            leaf = parts.representative(block)
            key = (leaf.digest, rest)
            alone = block.count == 1
            if key not in (self.seen if alone else self._looks):
                before = Before(leaf.image(), at.past, at.boot + 1, at.wall_ns)
                self.digests.add(leaf.digest)
                found, looks = (self._run_eagerly if alone else self._run)(before)
                for finding in found:
                    same, _ = split_all(parts, block, looks)
                    yield finding, parts.representative(same, -1).pick
                self.seen.add(key)
                if not alone:
                    self._looks[key] = looks
                self.tick()
            block, others = split_all(parts, block, () if alone else self._looks[key])
            blocks += others
            self.searched.images += block.count
            self.searched.lazy_images += 1
            self.searched.lazy_leaves += block.count

    def _run_eagerly(self, before: Before) -> tuple[Sequence[Finding], tuple[Look, ...]]:
        """Recover and judge an image that stands for no other: broken laws."""
        solo = self.judge.recovery(before)
        if solo is not None:
            failed = self.judge.recovery_failed(solo)
            if failed is not None:
                return [failed], ()
        return list(self.judge.findings(self.judge.after_recovery(before, solo))), ()

    def _run(self, before: Before) -> tuple[Sequence[Finding], tuple[Look, ...]]:
        """Recover and judge one image: broken laws, and what was looked at."""
        footprint: Footprint = []
        solo = self.judge.recovery(before, looks=footprint)
        looks = looks_of(footprint, before.image)
        if solo is not None:
            failed = self.judge.recovery_failed(solo)
            if failed is not None:
                return [failed], looks
        found, by_laws = self._run_laws(self.judge.after_recovery(before, solo))
        return found, tuple(dict.fromkeys((*looks, *by_laws)))

    def _run_laws(self, at: Before) -> tuple[Sequence[Finding], tuple[Look, ...]]:
        key: tuple[Any, ...] = (at.image.digest, at.boot, at.wall_ns, event_key(at.past))
        known = self._looks_of_laws.get(key)
        if known is not None:
            return [], known
        footprint: Footprint = []
        found = []
        for bound in self.judge.spec.laws:
            broken = self.judge.broken(bound, at, footprint)
            if broken is not None:
                found.append(broken)
        looks = self._looks_of_laws[key] = looks_of(footprint, at.image)
        return found, looks
