"""Law of the staging rules' entry: the rules over lines of JSON."""

from __future__ import annotations

from simfs.explore.law import Law

STAGING_ENTRY_ANSWERS = Law(
    "staging_entry_answers",
    "Each request gets the decision that the rule makes, and everything else gets the error form",
    "staging entry",
)

LAWS = (STAGING_ENTRY_ANSWERS,)
