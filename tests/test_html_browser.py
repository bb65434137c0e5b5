"""The page in a real browser, where one is installed: its script runs, and the page says so by what it shows then."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from importlib.resources import files
from pathlib import Path

import pytest

import simfs
from reports.artifact import artifact
from reports.html import write_report
from simfs.explore.verdict import Verdict
from tests import report_programs

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=3000",
)  # fmt: skip


def shown(page: Path) -> str:
    """The document of a page after its scripts have run."""
    assert BROWSER is not None
    profile = f"--user-data-dir={page.parent / 'profile'}"
    done = subprocess.run(
        [BROWSER, *OPTIONS, profile, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120
    )
    return done.stdout


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_the_script_of_a_page_shows_the_disk_at_the_crash(tmp_path: Path) -> None:
    kinds = (report_programs.RenameWithoutFlush, report_programs.LostUpdate)
    dom = shown(write_report(str(tmp_path / "report"), artifact([simfs.explore(kind) for kind in kinds])))
    scenes = re.findall(r'<div class="scene"[^>]*>(.*?)</div>', dom, re.S)
    assert "Power loss after op 4" in scenes[0]
    assert "(empty file)" in unescape(scenes[0])
    assert dom.count('aria-current="step"') == 2
    assert re.search(r'id="shown"[^>]*>2 shown<', dom)


CHECK = """<script>%s</script><script>
document.documentElement.dataset.theme = %s;
document.querySelectorAll("details").forEach(one => one.open = true);
axe.run(document, {resultTypes: ["violations"]}).then(said => {
  const answer = document.createElement("pre");
  answer.id = "axe";
  answer.textContent = JSON.stringify({
    passed: said.passes.length,
    broken: said.violations.map(one => [one.id, one.nodes.map(node => node.html)]),
  });
  document.body.append(answer);
});
</script></body>"""
"""Opens everything on the page and asks the accessibility checker axe, which ships as a script."""


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_accessibility_checker_finds_nothing_wrong_with_a_page(tmp_path: Path, theme: str) -> None:
    checker = files(pytest.importorskip("axe_core_python")).joinpath("axe.min.js").read_text(encoding="utf-8")
    kinds = (report_programs.RenameWithoutFlush, report_programs.LostUpdate, report_programs.RecoveryForgets)
    verdicts = [simfs.explore(kind, disk=["scc", "prefix"]) for kind in kinds]
    verdicts.append(Verdict("unfinished", "inconclusive", simfs.Searched(), reason="the budget of 1 s ended"))
    law = {"id": "a_law", "statement": "It holds", "judged": ["unfinished"], "planned": False}
    mutant = {"store": "s", "name": "no flush", "law": "a_law", "scenario": "x", "disk": "scc", "accepted": ""}
    document = {**artifact(verdicts), "laws": [law], "mutants": [mutant]}
    page = write_report(str(tmp_path / "report"), document)
    asking = CHECK % (checker.replace("</script", "<\\/script"), json.dumps(theme))
    page.write_text(page.read_text(encoding="utf-8").replace("</body>", asking), encoding="utf-8")
    answer = re.search(r'<pre id="axe">(.*?)</pre>', shown(page), re.S)
    assert answer is not None, "the checker did not answer"
    said = json.loads(unescape(answer[1]))
    assert said["broken"] == []
    assert said["passed"] > 30
