"""The suite `staging`, publishing: several build and publish the same name, die, and lose power.

| scenario | what happens |
|---|---|
| `staging_publishers` | two build and publish the same name |
| `staging_three_publishers` | three build and publish the same name |
| `staging_taken` | two publish to a name that an empty directory has |
| `staging_no_flag` | a filesystem that cannot rename without replacing |
| `staging_durable` | one builds and publishes, flushing nothing itself |
| `staging_writer` | one publishes in vain and moves back what another would like to commit to |
| `staging_together` | two build and publish the same name, while one sweeps and one lists; a kill and a power loss |
| `staging_together_elsewhere` | the same on other disk models, within a bound |
"""

from __future__ import annotations

import errno
from collections.abc import Sequence

import simfs
from eukhe.errors import StorageError, StorageExists, StorageFailed
from eukhe.sessions import list_sessions
from eukhe.staging.build import Build
from eukhe.storage import Storage
from eukhe.storage.records import session_meta
from scenarios.laws import listing, log, staging
from scenarios.suites.staging import MAIN, NAME, PLACE, SESSIONS, StagingScenario, line_of
from simfs.machine.faults import Errno


class PublishScenario(StagingScenario):
    """Several publish the same name; the laws of publishing."""

    @simfs.law(staging.PUBLISH_DURABLE)
    def what_was_published_is_whole(self, m: simfs.Handle) -> None:
        found = self.read(m, f"{PLACE}/{MAIN}") if m.acks else None
        for who, _ in published_by(m):
            assert found == self.content(who), f"{who}'s publish returned, and there is {found!r}"

    @simfs.law(staging.PUBLISH_MOVES)
    def it_moves_the_whole_storage(self, m: simfs.Handle) -> None:
        """What was published stands under the name, and no longer where it was built."""
        names = m.system.listdir(SESSIONS) if m.acks else []
        for _, path in published_by(m):
            assert NAME in names, "it was published and is not there"
            assert path.rpartition("/")[2] not in names, "what was published is still in staging"

    @simfs.law(staging.PUBLISH_NEVER_OVERWRITES)
    def nothing_is_replaced(self, m: simfs.Handle) -> None:
        published = [who for who, _ in published_by(m)]
        assert len(published) <= 1, f"one name was published by {' and '.join(published)}"

    @simfs.law(staging.BUILD_ALL_OR_NOTHING)
    def there_is_a_whole_storage_or_none(self, m: simfs.Handle) -> None:
        if NAME in m.system.listdir(SESSIONS):
            built = [self.content(event.process) for event in m.history if event.label == "publish"]
            found = self.read(m, f"{PLACE}/{MAIN}")
            assert found in built, f"under the final name stands {found!r}"


class SettleScenario(PublishScenario):
    """The laws of what a publish answers, which ask what its rename has met."""

    watched = True

    @simfs.law(staging.PUBLISH_SETTLES)
    def exists_is_answered_when_the_rename_met_an_entry(self, m: simfs.Handle) -> None:
        met = dict(event.value for event in m.history if event.label == "renamed")
        for event in m.history:
            if event.label in ("published", "unusable"):
                assert met.get(event.process) != errno.EEXIST, f"{event.process} met an entry: {event.label}"
            if event.label == "exists" and event.process in met:
                assert met[event.process] == errno.EEXIST, f"{event.process} met none and says that it exists"

    @simfs.law(staging.PUBLISH_SETTLE_REFINES)
    def publishing_is_the_models(self, m: simfs.Handle) -> None:
        """Of the renames that were made, the first has moved and each other one has met an entry, and so they say."""
        met = [event.value for event in m.history if event.label == "renamed"]
        winners = [who for who, code in met if code == 0]
        assert len(winners) <= 1, f"the renames were {met}"
        for event in m.history:
            if event.label == "published":
                assert event.process in winners, f"{event.process} says it has published, and {winners} did"
            if event.label == "exists":
                assert event.process not in winners, f"{event.process} has published and says that it exists"


class StagingTogether(PublishScenario):
    """Two build and publish one name while one sweeps and one lists; one of them may be killed anywhere, and the power
    may go at any moment."""

    name = "staging_together"
    kills = 1
    preemptions: int | None = None
    disk: str | Sequence[str] = ("prefix",)

    @simfs.process
    def ann(self, m: simfs.Handle) -> None:
        self.build(m)

    @simfs.process
    def ben(self, m: simfs.Handle) -> None:
        self.build(m)

    @simfs.process
    def sweeper(self, m: simfs.Handle) -> None:
        self.sweep(m)

    @simfs.process
    def lister(self, m: simfs.Handle) -> None:
        found = list_sessions(SESSIONS, system=self.system(m))
        shown = [*(row.place for row in found.rows), *(skipped.path for skipped in found.skipped)]
        if shown not in ([], [PLACE]):
            m.effect("listed", shown)

    @simfs.law(listing.LIST_ONE_LOCATION)
    def a_listing_shows_each_once(self, m: simfs.Handle) -> None:
        wrong = [event.value for event in m.history if event.label == "listed"]
        assert not wrong, f"the listing was {wrong[0]}"

    @simfs.law(staging.SWEEP_NEVER_YOUNG_REAL)
    def nothing_is_swept_within_the_day(self, m: simfs.Handle) -> None:
        gone = [event.value for event in m.history if event.label == "swept"]
        assert not gone, f"no second has passed, and {gone} was swept"


class StagingTogetherElsewhere(StagingTogether):
    """The same on the other disk models: interleavings in which one process is stopped once."""

    name = "staging_together_elsewhere"
    preemptions = 1
    disk = ("scc", "synced-only", "ext4")


class StagingPublishers(SettleScenario):
    """Two build and publish one name; one of them may be killed anywhere."""

    name = "staging_publishers"
    kills = 1

    @simfs.process
    def ann(self, m: simfs.Handle) -> None:
        self.build(m)

    @simfs.process
    def ben(self, m: simfs.Handle) -> None:
        self.build(m)


class StagingThreePublishers(StagingPublishers):
    """Three build and publish one name."""

    name = "staging_three_publishers"
    kills = 0
    power = False

    @simfs.process
    def cid(self, m: simfs.Handle) -> None:
        self.build(m)


class StagingTaken(StagingPublishers):
    """Two publish to a name that an empty directory has: it stays, and both are told."""

    name = "staging_taken"
    kills = 0

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        m.system.mkdir(PLACE)

    @simfs.law(staging.PUBLISH_NEVER_OVERWRITES)
    def nothing_is_replaced(self, m: simfs.Handle) -> None:
        assert not m.acks, f"a name that was taken was published: {m.acks}"
        assert m.system.listdir(PLACE) == [], "the empty directory that had the name is another one now"

    @simfs.law(staging.PUBLISH_SETTLE_REFINES)
    def publishing_is_the_models(self, m: simfs.Handle) -> None:
        """Each rename has met the entry."""
        assert all(event.value[1] == errno.EEXIST for event in m.history if event.label == "renamed")

    @simfs.law(staging.BUILD_ALL_OR_NOTHING)
    def there_is_a_whole_storage_or_none(self, m: simfs.Handle) -> None:
        assert m.system.listdir(SESSIONS).count(NAME) == 1, "the directory is gone"


class StagingNoFlag(StagingPublishers):
    """A filesystem that cannot rename without replacing: nothing is replaced, and the error says what to do."""

    name = "staging_no_flag"
    kills = 0
    disk = ("prefix:renameat2=EINVAL", "prefix:renameat2=ENOSYS")

    def setup(self, m: simfs.Handle) -> None:
        super().setup(m)
        m.system.mkdir(PLACE)

    @simfs.law(staging.PUBLISH_NEVER_OVERWRITES)
    def nothing_is_replaced(self, m: simfs.Handle) -> None:
        assert m.system.listdir(PLACE) == [], "the empty directory that had the name is another one now"
        assert not m.acks, f"this system cannot publish safely, and {m.acks} did"

    @simfs.law(staging.PUBLISH_SETTLE_REFINES)
    def publishing_is_the_models(self, m: simfs.Handle) -> None:
        """Nobody says that it exists, for no rename found that out."""
        assert not [event for event in m.history if event.label == "exists"]

    @simfs.law(staging.BUILD_ALL_OR_NOTHING)
    def there_is_a_whole_storage_or_none(self, m: simfs.Handle) -> None:
        for event in m.history:
            if event.label == "unusable":
                assert "without replacing" in event.value, f"the error does not say why: {event.value}"


class StagingDurable(PublishScenario):
    """One builds and publishes a storage of a whole line and a sidecar, without flushing anything itself."""

    name = "staging_durable"
    kills = 1

    def content(self, who: str) -> bytes:
        return line_of(who)

    @simfs.process
    def ann(self, m: simfs.Handle) -> None:
        self.build(m)


class StagingWriter(StagingScenario):
    """One publishes, and the flush of the directory fails: the storage is moved back. Meanwhile another commits to it.

    Only while the publisher holds the storage's own lock can nobody have written to what does not stay.
    """

    name = "staging_writer"
    faults = (Errno(("fsync",), path=SESSIONS, code=errno.EIO, process="ann"),)
    power = False

    def content(self, who: str) -> bytes:
        return line_of(who)

    @simfs.process
    def ann(self, m: simfs.Handle) -> None:
        try:
            with Build.begin(self.system(m), SESSIONS, NAME, "import", SESSIONS) as build:
                self.fill(m, build.path)
                build.publish()
        except (StorageExists, StorageFailed):
            m.fail("not published", m.process)

    @simfs.process
    def ben(self, m: simfs.Handle) -> None:
        try:
            with Storage.open(PLACE, home=SESSIONS, system=m.system) as storage:
                storage.commit([session_meta("/ben", "2026-01-01T00:00:00Z")])
                m.ack("committed", 2)
        except (StorageError, OSError):
            m.fail("not committed", m.process)

    @simfs.law(log.LOG_ACK_DURABLE)
    def what_was_committed_stands_under_the_name(self, m: simfs.Handle) -> None:
        if "committed" in dict(m.acks):
            found = self.read(m, f"{PLACE}/{MAIN}") or b""
            assert b"/ben" in found, f"a commit was acknowledged, and under the name stands {found!r}"


SCENARIOS: tuple[type[StagingScenario], ...] = (
    StagingPublishers, StagingThreePublishers, StagingTaken, StagingNoFlag, StagingDurable, StagingTogether,
    StagingTogetherElsewhere, StagingWriter,
)  # fmt: skip


def published_by(m: simfs.Handle) -> list[tuple[str, str]]:
    """(who, staging directory) of each publish that returned."""
    return [value for label, value in m.acks if label == "published"]
