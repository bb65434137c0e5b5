"""Every error names its path, says what to do, and survives the way between two processes."""

import pickle
import re
from pathlib import Path

import pytest

from eukhe import errors
from eukhe.epochs import errors as session_errors

RUNBOOK = Path(__file__).parent.parent / errors.RUNBOOK

EXAMPLES = [
    errors.StorageDamaged("/s/main.jsonl", 3, "a gap"),
    errors.StorageInUse("/s"),
    errors.StorageFailed("/s", "commit 3 (flush main)", "Input/output error"),
    errors.StorageUnusable("/s", "a file"),
    errors.StorageNotFound("/s"),
    errors.StorageExists("/s"),
    errors.StorageClosed("/s"),
    errors.ChangeRefused("/s", 2, "no type"),
    session_errors.NotFound("/e/a", "a"),
    session_errors.Baseline("/e/a/0.baseline.json", "no object"),
    session_errors.Io("/e/a", "no space"),
    session_errors.Torn("/e/a/0.jsonl", 4, "last line does not end in a newline"),
    session_errors.Encode("/e/a", "NaN"),
    session_errors.NoCarry("/e/a/0.jsonl"),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_names_its_path_and_comes_through_pickling_as_itself(error):
    assert str(error).startswith(error.path)
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.__dict__) == (type(error), str(error), error.__dict__)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_place_in_the_runbook_that_an_error_points_at_is_there(error):
    titles = re.findall(r"^#+ (.+)$", RUNBOOK.read_text(), re.MULTILINE)
    anchors = {title.lower().replace(" ", "-") for title in titles}
    for anchor in re.findall(r"runbook\.md#([\w-]+)", str(error)):
        assert anchor in anchors


def test_a_damaged_line_is_named_as_file_and_line():
    assert str(errors.StorageDamaged("/s/main.jsonl", 3, "a gap")).startswith(
        "/s/main.jsonl:3: a gap; nothing was changed"
    )


def test_the_missing_carry_has_the_text_that_the_source_fixes():
    expected = "/e/a/0.jsonl: compacted epoch is missing its EpochEnd; see docs/runbook.md#session-log-damaged"
    assert str(session_errors.NoCarry("/e/a/0.jsonl")) == expected
