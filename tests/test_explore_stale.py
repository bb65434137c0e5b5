"""A token of other code is stale, and says among which calls it became another."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

import simfs
from simfs.explore.token import WHOLE, departure, fingerprint, parse
from simfs.machine.ops import Op
from tests.shrink_boots_programs import SecondLife
from tests.shrink_programs import RenameFirst, put


def ops() -> list[Op]:
    found = simfs.explore(SecondLife).counterexample
    assert found is not None
    assert len(found.boots[0].ops) > 8
    return found.boots[0].ops


def test_where_a_run_leaves_what_was_recorded_is_found_for_every_op_and_length() -> None:
    made = ops()
    for length in range(1, len(made) + 1):
        recorded = fingerprint(made[:length])
        assert departure(recorded, made[:length]) is None
        assert departure(recorded[:WHOLE], made[:length]) is None
        for at in range(length):
            other = [*made[:at], replace(made[at], path="/other"), *made[at + 1 : length]]
            left = departure(recorded, other)
            assert left is not None and at in left
            assert len(left) <= max(1, at), "no further than twice as far"
            assert departure(recorded[:WHOLE], other) == range(length)


def test_a_run_that_is_longer_or_shorter_leaves_where_one_of_them_ends() -> None:
    made = ops()
    for one in range(len(made) + 1):
        for other in range(len(made) + 1):
            left = departure(fingerprint(made[:one]), made[:other])
            if one == other:
                assert left is None
            else:
                assert left is not None and left.start <= min(one, other)
                assert min(one, other) in left or min(one, other) == other


class Changed(RenameFirst):
    """The same, but another name from the second call on."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/t", b"new!")
        os.replace("/d/t", "/d/f")


class Shorter(RenameFirst):
    """Nothing after the first file."""

    @simfs.process
    def writer(self, m: simfs.Handle) -> None:
        put("/d/t", b"new")


def test_a_stale_token_names_the_calls_among_which_the_code_became_another() -> None:
    found = simfs.explore(RenameFirst).counterexample
    assert found is not None
    with pytest.raises(simfs.StaleToken) as stale:
        simfs.replay(found.token, Changed)
    text = str(stale.value)
    assert "Nothing was judged" in text
    assert "2 write /d/t at shrink_programs.py:" in text
    with pytest.raises(simfs.StaleToken) as stale:
        simfs.replay(found.token, Shorter)
    assert "as recorded. " in str(stale.value)


def test_a_token_cut_to_the_whole_of_its_fingerprint_is_checked_and_one_without_is_not() -> None:
    found = simfs.explore(RenameFirst).counterexample
    assert found is not None
    token = parse(found.token)
    assert simfs.replay(str(replace(token, code=token.code[:WHOLE])), RenameFirst).law == found.law
    assert simfs.replay(str(replace(token, code="")), RenameFirst).law == found.law
    with pytest.raises(simfs.StaleToken, match="The first that is another is among these"):
        simfs.replay(str(replace(token, code="0" * WHOLE)), RenameFirst)
