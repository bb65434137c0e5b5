"""The command line: what each command answers, on which stream, with which exit code."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.cli import run_app

HERE = Path(__file__).parent
PROGRAMS = "tests/cli_programs.py"
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def simfs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Run a command from the root of the project; (exit code, output, error stream)."""
    monkeypatch.chdir(HERE.parent)

    def command(*arguments: str) -> tuple[int, str, str]:
        code = run_app(list(arguments))
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def test_list_shows_every_scenario_and_counts_the_laws(simfs: Command) -> None:
    code, out, _ = simfs("list")
    assert code == 0
    assert "storage_epoch  (3 laws)" in out
    assert re.search(r"\d+ laws: \d+ judged, \d+ planned \(their store is not built yet\)", out)


def test_list_laws_shows_who_judges_each(simfs: Command) -> None:
    _, out, _ = simfs("list", "--laws")
    assert "log_ack_durable  [storage_epoch" in out
    assert "cron_fires_once  [cron_schedulers" in out


def test_run_of_a_proved_scenario_ends_with_the_table_and_code_0(simfs: Command) -> None:
    code, out, err = simfs("run", "storage_one_writer")
    assert code == 0
    assert re.search(r"^storage_one_writer +proved +\d+ +\d+ +\d+\.\d\d  all \d+$", out, re.M)
    assert "storage_one_writer: proved" in err


def test_everything_that_is_printed_fits_80_columns(simfs: Command) -> None:
    _, out, err = simfs("run", "storage_epoch", f"{PROGRAMS}:Loses")
    assert [line for line in (out + err).split("\n") if len(line) > 80 and "simfs replay" not in line] == []


def test_run_of_a_violated_scenario_shows_the_report_and_ends_with_1(simfs: Command) -> None:
    code, out, _ = simfs("run", f"{PROGRAMS}:Loses")
    assert code == 1
    assert "LAW BROKEN: saved_is_there" in out
    assert re.search(r"^Loses +violated", out, re.M)
    assert "Loses: violated: law saved_is_there is broken" in out


@pytest.mark.parametrize("reference", [f"{PROGRAMS}:Loses", "tests.cli_programs:Loses"])
def test_the_line_to_paste_replays_a_scenario_of_a_file_and_of_a_module(simfs: Command, reference: str) -> None:
    _, out, _ = simfs("run", reference)
    token = out.split("simfs replay ")[1].split("\n")[0]
    assert token.startswith(f"s1~{reference}~prefix~")
    code, again, _ = simfs("replay", token)
    assert code == 1
    assert again.split("Searched:")[0] in out


def test_a_token_of_a_member_of_a_family_is_resolved(simfs: Command) -> None:
    code, _, err = simfs("replay", "s1~storage_killed[7]~prefix~~@3.0")
    assert code == 3
    assert "stale token: no law of storage_killed[7] is broken" in err


def test_a_token_of_a_history_is_played_back(simfs: Command) -> None:
    code, _, err = simfs("replay", "s1~storage_histories~prefix~~0-1,0-2")
    assert code == 3
    assert "no law of storage_histories is broken by this history any more" in err


def test_all_scenarios_of_a_file_run_when_no_class_is_named(simfs: Command) -> None:
    code, out, _ = simfs("run", "tests/report_programs.py")
    assert code == 1
    assert all(f"\n{name} " in out for name in ("RenameWithoutFlush", "EntryNeverFlushed", "TornLine"))


def test_a_suite_is_named_by_what_its_scenarios_begin_with(simfs: Command) -> None:
    code, out, _ = simfs("run", "storage", "--disk", "scc")
    assert code == 0
    assert "\nstorage_epoch " in out
    assert "\nstorage_histories " in out
    assert "\nsidecars" not in out


def test_several_disk_models_may_be_asked_for(simfs: Command) -> None:
    code, out, _ = simfs("run", f"{PROGRAMS}:Loses", "--disk", "scc,prefix")
    assert code == 1
    assert "1 of 2" in out
    assert "Loses: survives scc; not prefix" in out


def test_json_is_all_there_is_on_the_output(simfs: Command) -> None:
    code, out, _ = simfs("run", f"{PROGRAMS}:Loses", f"{PROGRAMS}:Keeps", "--json")
    document = json.loads(out)
    assert code == 1
    assert document["simfs"] == 1
    assert document["status"] == "violated"
    lost, kept = document["verdicts"]
    assert (lost["scenario"], lost["status"], kept["status"]) == ("Loses", "violated", "proved")
    assert lost["counterexample"]["law"] == "saved_is_there"
    assert lost["counterexample"]["text"].startswith("=" * 80)
    assert kept["searched"]["crash_points"] > 0


def test_a_budget_that_ends_first_is_inconclusive_and_ends_with_3(simfs: Command) -> None:
    code, out, _ = simfs("run", f"{PROGRAMS}:NeverEnds", "--budget", "200ms")
    assert code == 3
    assert re.search(r"^NeverEnds +inconclusive", out, re.M)
    assert "budget" in out


def test_a_seed_is_printed_with_what_it_drew(simfs: Command) -> None:
    code, out, _ = simfs("run", "storage_histories", "--seed", "5", "--disk", "scc")
    assert code == 0
    assert re.search(r"sampled: \d+ histories, seed 5", out)


def test_one_law_may_be_judged_alone(simfs: Command) -> None:
    code, out, _ = simfs("run", "storage_rules", "--law", "log_open_plan")
    assert code == 0
    assert re.search(r"^storage_rules +proved +1,820 cases", out, re.M)


def test_outcomes_lists_every_tree_that_may_be_left(simfs: Command) -> None:
    code, out, _ = simfs("outcomes", f"{PROGRAMS}:save", "--disk", "prefix")
    assert code == 0
    assert out.startswith("On prefix a power loss may leave 4 trees:")
    assert "(nothing)" in out
    assert "note  (empty file)" in out
    assert "note  'a' (1 byte)" in out
    assert "note  'ab' (2 bytes)" in out


def test_outcomes_of_a_list_of_steps_says_during_which_step(simfs: Command) -> None:
    code, out, _ = simfs("outcomes", f"{PROGRAMS}:steps", "--disk", "synced-only")
    assert code == 0
    assert "during step 1" in out


def test_outcomes_runs_a_setup_that_is_durable(simfs: Command) -> None:
    _, out, _ = simfs("outcomes", f"{PROGRAMS}:first", "--setup", "save", "--disk", "prefix")
    assert "note  'ab' (2 bytes)" in out
    assert "directory  directory" in out
