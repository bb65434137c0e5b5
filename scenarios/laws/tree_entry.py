"""Laws of the session tree's entry: the rules over lines of JSON, for others to compare with."""

from __future__ import annotations

from simfs.explore.law import Law

TREE_FFI_ASK_ROUND_TRIP = Law(
    "tree_ffi_ask_round_trip",
    "Each record and each question that the journal can write is read back by the entry as the same",
    "tree entry",
)
TREE_FFI_STEP = Law(
    "tree_ffi_step",
    "A step through the entry gives the core's answer and leaves the core's next state",
    "tree entry",
)
TREE_FFI_OPEN = Law(
    "tree_ffi_open",
    "Opening through the entry gives the empty core, split over the range of keys that was asked for",
    "tree entry",
)
TREE_FFI_MALFORMED = Law(
    "tree_ffi_malformed",
    "Input that is no request is answered with the error form, never with a default, and the core stays as it was",
    "tree entry",
)
TREE_FFI_TRAILING = Law(
    "tree_ffi_trailing",
    "A request with bytes after it is answered with the error form, and the core stays as it was",
    "tree entry",
)
TREE_FFI_REFUSED = Law(
    "tree_ffi_refused",
    "A request that is out of place is answered with the error form, and the core stays as it was",
    "tree entry",
)
TREE_FFI_OPEN_MALFORMED = Law(
    "tree_ffi_open_malformed",
    "An open that is not well formed is answered with the error form",
    "tree entry",
)
TREE_FFI_OPEN_TRAILING = Law(
    "tree_ffi_open_trailing",
    "An open with bytes after it is answered with the error form",
    "tree entry",
)
TREE_FFI_EXAMPLE = Law(
    "tree_ffi_example",
    "One written example fixes the tags and the order of fields on the wire",
    "tree entry",
)

LAWS = (
    TREE_FFI_ASK_ROUND_TRIP, TREE_FFI_STEP, TREE_FFI_OPEN, TREE_FFI_MALFORMED, TREE_FFI_TRAILING, TREE_FFI_REFUSED,
    TREE_FFI_OPEN_MALFORMED, TREE_FFI_OPEN_TRAILING, TREE_FFI_EXAMPLE,
)  # fmt: skip
