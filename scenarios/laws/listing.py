"""Laws of the listing: which sessions there are, each of them once."""

from __future__ import annotations

from simfs.explore.law import Law

LIST_ONE_LOCATION = Law(
    "list_one_location",
    "No id is listed twice: a directory of that name, storage or not, hides the legacy file",
    "listing",
)
LIST_IMPORT_LISTS_STORAGE = Law(
    "list_import_lists_storage",
    "Once a legacy file was imported its name is listed as a storage",
    "listing",
)
LIST_IMPORT_KEEPS_OTHERS = Law(
    "list_import_keeps_others",
    "Importing one session changes the listing of no other",
    "listing",
)
SCAN_EXACT = Law(
    "scan_exact",
    "Which entries are sessions, under which ids, and which legacy files an import takes, follows from names and "
    "types; an id has one place",
    "listing",
)
ROWS_EXACT = Law(
    "rows_exact",
    "Each candidate with a working directory and a file has one row; rows go by time (newest first), id, place; "
    "what could not be read of the others does not matter",
    "listing",
)

LAWS = (
    LIST_ONE_LOCATION, LIST_IMPORT_LISTS_STORAGE, LIST_IMPORT_KEEPS_OTHERS, SCAN_EXACT, ROWS_EXACT,
)  # fmt: skip
