"""Every command in the documents does what they say.

A fenced block of `sh` is run line by line, in a directory of its own for each document; a line that ends in `# exit
code N` ends with N and every other with 0. A block of `python` whose first line is a comment with a file name is that
file from there on. Jobs of CI, in YAML, are in `test_docs_ci`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
RUN = (
    "tutorial.md", "counterexamples.md", "laws-and-mutants.md", "ci.md", "reproducing-corruption.md", "stores.md",
    "daemon.md", "fuzzing.md",
)  # fmt: skip
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")


def shell(script: str, place: Path) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "SIMFS_DATABASE": "off", "PYTEST_ADDOPTS": "-p no:cacheprovider"}
    return subprocess.run(
        ["bash", "-c", script], cwd=place, env=environment, capture_output=True, text=True, timeout=300
    )


def checked(block: str) -> str:
    """A block as one script that says which line ended otherwise than it says."""
    lines = ['wrong() { echo "line $1 ended with $2" >&2; exit 99; }']
    for number, line in enumerate(filter(None, map(str.strip, block.split("\n"))), 1):
        match = EXIT_CODE.search(line)
        command = EXIT_CODE.sub("", line)
        lines.append(f"{command}\n[ $? -eq {match[1] if match else 0} ] || wrong {number} $?")
    return "\n".join(lines)


@pytest.mark.parametrize("name", RUN)
def test_every_command_of_a_document_does_what_it_says(name: str, tmp_path: Path) -> None:
    commands = 0
    for language, block in BLOCK.findall((DOCS / name).read_text()):
        file = re.match(r"# (\w[\w/.]*\.py)\n", block)
        if language == "python" and file:
            (tmp_path / file[1]).write_text(block)
        elif language == "sh":
            done = shell(checked(block), tmp_path)
            assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
            commands += block.count("\n")
    assert commands


def test_documents_name_only_files_that_are_there() -> None:
    for path in DOCS.glob("*.md"):
        for name in re.findall(r"`(docs/[\w.-]+)`|\]\(([\w.-]+\.(?:png|md))[)#]", path.read_text()):
            wanted = name[0].removeprefix("docs/") or name[1]
            assert (DOCS / wanted).exists(), f"{path.name} names {wanted}"
