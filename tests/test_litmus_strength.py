"""Which disk model is weaker than which: computed from the outcome sets of the litmus programs, never assumed.

A model is at least as strong as another if, on every program, whatever it may leave the other may leave too, after the
same number of steps. `golden/litmus/strength.txt` holds the order and, for each pair that has none, a witness.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from simfs.explore.outcomes import outcomes
from tests.litmus_programs import ALL, MODELS

GOLDEN = Path(__file__).parent / "golden" / "litmus" / "strength.txt"


@lru_cache(maxsize=1)
def sets() -> dict[str, dict[str, frozenset[str]]]:
    """Model -> program -> every (steps returned, tree) as text."""
    return {
        model: {
            program.name: frozenset(
                f"{outcome.after} {sorted(outcome.tree.items())}"
                for outcome in outcomes(list(program.steps), setup=program.prepare, disk=model)
            )
            for program in ALL
            if model in program.models
        }
        for model in MODELS
    }


def witness(strong: str, weak: str) -> str | None:
    """The first program on which `strong` leaves something that `weak` cannot; None if there is none."""
    found = sets()
    return next((name for name, mine in found[strong].items() if not mine <= found[weak][name]), None)


def text() -> str:
    lines = ["For each model: the models that may leave everything it may leave, and a program that shows why not.", ""]
    for strong in MODELS:
        lines.append(f"{strong} ({sum(map(len, sets()[strong].values()))} outcomes in all)")
        for weak in MODELS:
            if weak != strong:
                why = witness(strong, weak)
                lines.append(
                    f"   {'within' if why is None else 'not within'} {weak}{'' if why is None else f': {why}'}"
                )
    return "\n".join(lines) + "\n"


def test_the_order_of_the_models_is_as_recorded() -> None:
    if os.environ.get("SIMFS_ACCEPT_LITMUS") == "1":
        GOLDEN.write_text(text())
    assert text() == GOLDEN.read_text()


def test_an_option_that_orders_more_makes_ext4_stronger_and_tearing_makes_it_weaker() -> None:
    assert witness("ext4:dioread=lock", "ext4") is None
    assert witness("ext4", "ext4:tear=sector") is None
    assert witness("ext4", "ext4:dioread=lock") is not None
    assert witness("ext4:tear=sector", "ext4") is not None


def test_synced_only_loses_the_name_of_a_flushed_file_and_ext4_cannot() -> None:
    found = sets()
    gone = "2 []"
    assert gone in found["synced-only"]["create_write_flush"]
    assert gone not in found["ext4"]["create_write_flush"]


def test_ext4_keeps_a_second_overwrite_without_the_first_and_prefix_cannot() -> None:
    found = sets()
    (only,) = {
        o
        for o in found["ext4"]["overwrite_one_block_then_another"]
        if "'f', b'" + "o" * 4096 + "2'" in o and o[0] == "2"
    }
    assert only not in found["prefix"]["overwrite_one_block_then_another"]
