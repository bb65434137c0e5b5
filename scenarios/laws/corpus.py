"""Laws of the fuzzer's corpus: what one night leaves for the next."""

from __future__ import annotations

from simfs.explore.law import Law

CORPUS_KEEPS = Law(
    "corpus_keeps",
    "An entry whose add has returned is in the corpus after every power loss, until it is removed",
    "corpus",
)
CORPUS_WHOLE = Law(
    "corpus_whole",
    "Every entry that is listed is whole, was added by somebody, and is listed once",
    "corpus",
)

LAWS = (CORPUS_KEEPS, CORPUS_WHOLE)
