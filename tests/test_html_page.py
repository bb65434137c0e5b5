"""The HTML report: one page that needs nothing else, says what the text report says, and can be stepped through."""

from __future__ import annotations

import json
import re
from functools import cache
from html import unescape
from pathlib import Path
from typing import Any

import pytest

import simfs
from reports.artifact import artifact
from reports.html import island, render_html, write_report
from reports.html_steps import time_line
from simfs.errors import UsageError
from tests import cli_programs, report_programs

PROGRAMS = (
    report_programs.RenameWithoutFlush,
    report_programs.RecoveryForgets,
    report_programs.LostUpdate,
    cli_programs.Keeps,
)


@cache
def document() -> dict[str, Any]:
    return artifact([simfs.explore(program, disk=["scc", "prefix"]) for program in PROGRAMS])


@cache
def page() -> str:
    return render_html(document())


def words(html: str) -> str:
    body = re.sub(r"<(script|style)\b.*?</\1>", " ", html, flags=re.S)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", body)).split())


def test_a_page_loads_nothing_from_anywhere() -> None:
    assert not re.search(r"""(?:src|href|url|action)\s*[=(]\s*["']?(?!["'#])""", page())
    assert "default-src 'none'" in page()
    assert "http" not in page().replace("http-equiv", "")


def test_a_page_names_the_lost_call_the_flush_that_is_missing_and_the_line_to_paste() -> None:
    text = words(page())
    assert "3 of 4 scenarios broke a law" in text
    assert "The 8 bytes written to settings.json.tmp (at tests/report_programs.py:18) were lost" in text
    assert "+ fsync the file settings.json.tmp after the write at tests/report_programs.py:18" in text
    for verdict in document()["verdicts"]:
        if verdict["counterexample"]:
            assert f"simfs replay {verdict['counterexample']['token']}" in text


def test_the_matrix_has_a_cell_for_each_scenario_and_model() -> None:
    table = page().split('id="matrix"')[1].split("</table>")[0]
    assert re.findall(r'<th scope="col">(.*?)</th>', table) == ["scenario", "scc", "prefix", "why"]
    rows = re.findall(r'<tr data-status="(\w+)" data-name="(\w+)">(.*?)</tr>', table, re.S)
    assert [(status, name) for status, name, _ in rows] == [
        ("violated", "renamewithoutflush"),
        ("violated", "recoveryforgets"),
        ("violated", "lostupdate"),
        ("proved", "keeps"),
    ]
    assert re.findall(r'<td class="s-(\w+)"', rows[0][2]) == ["proved", "violated"]


def test_every_link_of_a_page_leads_somewhere_on_it() -> None:
    places = set(re.findall(r'\bid="([^"]+)"', page()))
    assert set(re.findall(r'href="#([^"]+)"', page())) <= places
    assert len(places) == len(re.findall(r'\bid="([^"]+)"', page())), "no id stands there twice"


def scene(found: dict[str, Any], title: str) -> dict[str, Any]:
    line = time_line(found)
    (shown,) = [scene for scene in line.scenes if scene["title"] == title]
    table = {line.texts[path]: [line.texts[text] for text in rest[:-1]] for path, *rest in shown["lines"]}
    return {**shown, "table": table, "listed": [line.texts[text] for text in (shown["list"] or [0, []])[1]]}


def test_each_step_shows_what_a_reader_sees_what_is_durable_and_what_is_pending() -> None:
    found = document()["verdicts"][0]["counterexample"]
    renamed = scene(found, "After op 4, rename")
    assert renamed["table"]["settings.json"] == ["'{\"v\": 2}' (8 bytes)", "'{\"v\": 1}' (8 bytes)"]
    assert renamed["pending"] == [1, 2, 4]
    crashed = scene(found, "Power loss after op 4")
    assert crashed["table"]["settings.json"] == ["'{\"v\": 2}' (8 bytes)", "(empty file)"]
    assert crashed["listed"] == ["2 write settings.json.tmp 8 B at 0 (lost)"]
    judged = scene(found, "What the law was judged on")
    assert judged["listed"] == ["old_or_new read settings.json"]


def test_a_time_line_begins_at_the_last_crash_and_at_the_end_where_none_was() -> None:
    crashed, _, ended, _ = document()["verdicts"]
    line = time_line(crashed["counterexample"])
    assert line.scenes[line.start]["title"] == "Power loss after op 4"
    line = time_line(ended["counterexample"])
    assert line.start == len(line.scenes) - 1
    assert line.lanes == 2


def test_no_text_of_a_program_can_end_the_script_or_become_markup() -> None:
    evil = json.loads(json.dumps(document()))
    found = evil["verdicts"][0]["counterexample"]
    found["message"] = found["found"] = "</script><img src=x onerror=alert(1)>"
    found["recovered"]["app/<b>"] = {"text": "</script><script>alert(1)</script>"}
    html = render_html(evil)
    assert "<img" not in html
    assert html.count("</script>") == page().count("</script>")
    assert json.loads(island(["</script>\u2028"])) == ["</script>\u2028"]


def test_a_page_of_a_thousand_scenarios_is_small_enough_to_open() -> None:
    one = document()["verdicts"][3]
    many = {**document(), "verdicts": [{**one, "scenario": f"scenario_{number}"} for number in range(1_000)]}
    html = render_html(many)
    assert html.count('data-status="proved"') == 2_000
    assert len(html) < 2_000_000


def test_laws_tell_who_judges_them_and_which_mutants_they_killed() -> None:
    law = {"id": "kept", "statement": "It is kept", "store": "log", "planned": False, "judged": ["Keeps"]}
    mutant = {"store": "log", "name": "no flush", "law": "kept", "scenario": "Keeps", "disk": "prefix", "accepted": ""}
    alive = {**mutant, "name": "harmless", "law": "", "accepted": "it changes nothing"}
    text = words(render_html({**document(), "laws": [law], "mutants": [mutant, alive]}))
    assert "1 of 2 mutants were noticed by some law. By none: harmless (accepted: it changes nothing)" in text
    assert "kept It is kept ✓ holds Keeps no flush" in text


def test_a_report_is_written_whole_beside_its_artifact(tmp_path: Path) -> None:
    where = write_report(str(tmp_path / "deep/report"), document())
    assert where.read_text() == page()
    assert json.loads((where.parent / "simfs.json").read_text()) == json.loads(json.dumps(document()))
    assert sorted(path.name for path in where.parent.iterdir()) == ["index.html", "simfs.json"]


def test_a_report_that_cannot_be_written_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="the report cannot be written"):
        write_report(str(tmp_path / "file/report"), document())


def test_an_empty_run_has_a_page() -> None:
    assert "Nothing was run" in words(render_html(artifact([])))


def test_what_a_rule_book_or_a_history_says_is_shown_as_text() -> None:
    verdict = simfs.Verdict("storage_rules", "violated", simfs.Searched(executions=3), None, "law gap is broken: 1, 3")
    verdict.tags["law"] = "gap"
    html = render_html(artifact([verdict]))
    assert "law gap is broken: 1, 3" in words(html)
    assert '<a href="#text1">storage_rules</a>' in html
