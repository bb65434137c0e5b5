"""Laws of the commit log's entry: the rules of the log over lines of JSON."""

from __future__ import annotations

from simfs.explore.law import Law

LOG_FFI_ANSWERS = Law(
    "log_ffi_answers",
    "Each request gets the decision that the rule makes, and everything else gets the error form",
    "log entry",
)
LOG_STEPPER_KEEPS = Law(
    "log_stepper_keeps",
    "A request that is refused leaves the stepper where it was",
    "log entry",
)

LAWS = (LOG_FFI_ANSWERS, LOG_STEPPER_KEEPS)
