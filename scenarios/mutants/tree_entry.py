"""The mutants of the session tree's entry: what it reads, refuses and answers, broken by hand."""

from __future__ import annotations

from typing import Any

from eukhe.entry import EntryError
from eukhe.tree import entry
from eukhe.tree.entry import TreeEntry
from eukhe.tree.records import Put
from scenarios.mutants.exchange import broken
from scenarios.mutants.mutant import Mutant
from scenarios.suites import tree_entry

__simfs_machinery__ = True


def mutants() -> list[Mutant]:
    """All of them."""
    return [*ENTRY]


def _ignores_rest(real: Any) -> Any:
    """Reads the first object of a line and forgets what comes after it."""

    def answer_line(one: Any, line: bytes) -> Any:
        for end in range(len(line) - 1, 0, -1):
            if line[end - 1 : end] == b"}" and b'"error":{"code":"malformed"' not in real(
                TreeEntry(), line[:end] + b"\n"
            ):
                return real(one, line[:end] + b"\n")
        return real(one, line)

    return answer_line


def _defaults(real: Any) -> Any:
    """What cannot be read is taken for the simplest request of its kind."""

    def read(kind: Any, args: bytes) -> Any:
        try:
            return real(kind, args)
        except EntryError:
            return kind(
                **{name: {"record": b'{"del":1}', "bits": 63, "cursor": 0}[name] for name in kind.__struct_fields__}
            )

    return read


def _opens_again(real: Any) -> Any:
    def opened(self: Any, args: bytes) -> Any:
        self.journal = None
        return real["open"](self, args)

    return {**real, "open": opened}


def _range_forgotten(real: Any) -> Any:
    return lambda record: []


def _removed_untold(real: Any) -> Any:
    def push(self: Any, args: bytes) -> Any:
        return real["push"](self, args) | {"removed": []}

    return {**real, "push": push}


def _open_not_empty(real: Any) -> Any:
    def opened(self: Any, args: bytes) -> Any:
        found = real["open"](self, args)
        self.journal.push(Put(1, 0, None))
        return found

    return {**real, "open": opened}


def _values_as_text(real: Any) -> Any:
    def decode(text: bytes) -> Any:
        record = real(text)
        return Put(record.id, record.parent, str(record.value)) if isinstance(record, Put) else record

    return decode


def _other_order(real: Any) -> Any:
    def push(self: Any, args: bytes) -> Any:
        return dict(reversed(real["push"](self, args).items()))

    return {**real, "push": push}


ENTRY = (
    Mutant(
        "bytes after a request are ignored",
        "entry",
        broken=broken(tree_entry, "answer_line", _ignores_rest),
        made_for=("tree_ffi_trailing", "tree_ffi_open_trailing"),
    ),
    Mutant(
        "what cannot be read gets a default",
        "entry",
        broken=broken(entry, "_read", _defaults),
        made_for=("tree_ffi_malformed", "tree_ffi_open_malformed"),
    ),
    Mutant(
        "an open entry is opened again",
        "entry",
        broken=broken(entry, "_OPERATIONS", _opens_again),
        made_for=("tree_ffi_refused",),
    ),
    Mutant(
        "ids outside the range are taken",
        "entry",
        broken=broken(entry, "_sets", _range_forgotten),
        made_for=("tree_ffi_open", "tree_ffi_refused"),
    ),
    Mutant(
        "an opened entry is not empty",
        "entry",
        broken=broken(entry, "_OPERATIONS", _open_not_empty),
        made_for=("tree_ffi_open", "tree_ffi_step"),
    ),
    Mutant(
        "removed nodes are not told",
        "entry",
        broken=broken(entry, "_OPERATIONS", _removed_untold),
        made_for=("tree_ffi_step",),
    ),
    Mutant(
        "a value is read as text",
        "entry",
        broken=broken(entry, "decode_record", _values_as_text),
        made_for=("tree_ffi_ask_round_trip",),
    ),
    Mutant(
        "fields in another order",
        "entry",
        broken=broken(entry, "_OPERATIONS", _other_order),
        made_for=("tree_ffi_example",),
    ),
)
