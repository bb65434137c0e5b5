"""The suite `wire`: every state of each world is visited, every law is broken by a mutant made for it, and the same
machines keep the laws over a real log that crashes (here in some of the members; `simfs run` takes all of them)."""

from __future__ import annotations

from itertools import islice

import pytest

from scenarios.catalog import wire_suite
from scenarios.entries import Ask
from scenarios.mutants import wire as mutants
from scenarios.mutants.storage import LateFlush
from scenarios.suites import wire_stored
from scenarios.suites.wire import WIRE
from simfs.explore.explorer import explore


def test_every_state_of_every_world_keeps_the_laws():
    verdict = WIRE.run(Ask())
    assert verdict.status == "proved", verdict.reason
    assert verdict.searched.executions == 16_841


def test_every_law_has_a_mutant_that_it_notices_alone():
    noticed = {law for mutant in mutants.mutants() for law in mutant.made_for}
    assert noticed == {law.id for law in WIRE.laws}


@pytest.mark.parametrize("members", [wire_stored.stored, wire_stored.killed])
def test_what_clients_saw_survives_a_dead_worker_and_a_power_loss(members):
    for member in islice(members(), 0, 120, 12):
        verdict = explore(member, disk="prefix")
        assert verdict.status == "proved", verdict.counterexample
        assert verdict.searched.crash_points > 5


@pytest.mark.parametrize("family", ["wire_stored", "wire_killed"])
def test_a_worker_that_answers_before_it_flushes_is_noticed(family):
    (entry,) = (entry for entry in wire_suite(lambda system, process: LateFlush(system)) if entry.name == family)
    verdict = entry.run(Ask(disk="prefix", shrink=False))
    assert (verdict.status, verdict.counterexample.law) == ("violated", "log_ack_durable")
