"""The page in a real browser, where one is installed: its script runs, and the page says so by what it shows then."""

from __future__ import annotations

import re
import shutil
import subprocess
from html import unescape
from pathlib import Path

import pytest

import simfs
from reports.artifact import artifact
from reports.html import write_report
from tests import report_programs

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=3000",
)  # fmt: skip


@pytest.mark.skipif(BROWSER is None, reason="no browser is installed")
def test_the_script_of_a_page_shows_the_disk_at_the_crash(tmp_path: Path) -> None:
    assert BROWSER is not None
    kinds = (report_programs.RenameWithoutFlush, report_programs.LostUpdate)
    page = write_report(str(tmp_path / "report"), artifact([simfs.explore(kind) for kind in kinds]))
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    done = subprocess.run(
        [BROWSER, *OPTIONS, profile, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=120
    )
    dom = done.stdout
    scenes = re.findall(r'<div class="scene"[^>]*>(.*?)</div>', dom, re.S)
    assert "Power loss after op 4" in scenes[0]
    assert "(empty file)" in unescape(scenes[0])
    assert dom.count('aria-current="step"') == 2
    assert re.search(r'id="shown"[^>]*>2 shown<', dom)
