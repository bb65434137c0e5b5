"""Fuzzing of one's own code: an entry of the corpus whose target is a reference to a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scenarios.fuzz.corpus import Corpus, Entry


@pytest.mark.parametrize(
    "target",
    [
        "tests/test_it.py:Saves",
        "./it.py:Saves",
        "../it.py:Saves",
        "a.b:Saves",
        "é/it.py:Saves",
        "d/" * 200 + "it.py:Saves",
    ],
)
def test_a_target_named_by_a_file_is_kept_below_the_corpus_and_read_again(target: str, tmp_path: Path) -> None:
    corpus, entry = Corpus(str(tmp_path / "corpus")), Entry(target, "prefix", (1, 2), "")
    other = Entry(target.replace("/", "-"), "prefix", (1, 2), "")
    assert corpus.add(entry) and not corpus.add(entry)
    assert corpus.entries() == ([entry], [])
    (name,) = os.listdir(corpus.directory)
    assert not name.startswith(".") and ":" not in name and len(name) < 120
    assert other == entry or other.name != entry.name


def test_the_name_of_a_target_of_the_catalogue_is_as_it_was() -> None:
    assert Entry("tree_histories", "scc", (1,)).name.startswith("tree_histories.")
