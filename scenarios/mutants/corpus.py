"""The mutants of the fuzzer's corpus: its flushes and its rename removed, its rules exchanged."""

from __future__ import annotations

from typing import Any

from scenarios.fuzz import corpus
from scenarios.mutants.exchange import broken
from scenarios.mutants.mutant import Mutant, Wrapped
from scenarios.mutants.staging import Without

__simfs_machinery__ = True

KEEPS, WHOLE = "corpus_keeps", "corpus_whole"


class InPlace(Wrapped):
    """A new file is written under its own name."""

    def open(self, path: str, flags: int, mode: int = 0o777) -> int:
        """As the system's, but not beside the place."""
        above, _, name = path.rpartition("/")
        hidden = name.startswith(".") and flags & 0o100
        fd: int = self.system.open(f"{above}/{name[1:].rpartition('.')[0]}" if hidden else path, flags & ~0o200, mode)
        return fd

    def rename(self, src: str, dst: str) -> None:
        """It is there already."""


def _without(call: str, pattern: str) -> Any:
    return lambda system, process: Without(system, call, pattern)


def _trusts(real: Any) -> Any:
    """An entry that is there is taken for durable."""

    def add(self: corpus.Corpus, entry: corpus.Entry) -> bool:
        self._make_ready()
        return False if self._exists(f"{self.directory}/{entry.name}") else real(self, entry)

    return add


def _no_undo(real: Any) -> Any:
    return lambda self, above, made: self._flush(above)


def _listed_twice(real: Any) -> Any:
    """Each worker gives an entry a name of its own."""

    def named(self: corpus.Corpus, path: str, data: bytes) -> None:
        above, _, name = path.rpartition("/")
        real(self, f"{above}/{self.system.getpid()}{name}", data)

    return named


def mutants() -> list[Mutant]:
    """All of them."""
    return [
        Mutant("no flush of an entry's file", "flush", _without("fsync", r".*\.json\..*"), made_for=(WHOLE,)),
        Mutant("no flush of the corpus directory", "flush", _without("fsync", r".*/corpus"), made_for=(KEEPS,)),
        Mutant("no flush of what holds the corpus", "flush", _without("fsync", r"/home(/nights)?"), made_for=(KEEPS,)),
        Mutant("no rename of an entry", "rename", _without("rename", r".*"), made_for=(KEEPS,)),
        Mutant("an entry written in place", "order", lambda s, p: InPlace(s), made_for=(WHOLE,)),
        Mutant("an entry that is there is trusted", "rule", broken=broken(corpus.Corpus, "add", _trusts),
               made_for=(KEEPS,)),
        Mutant("a directory stays though its flush failed", "rule",
               broken=broken(corpus.Corpus, "_flush_new", _no_undo), made_for=(KEEPS,)),
        Mutant("each worker names entries its own way", "rule",
               broken=broken(corpus.Corpus, "_place", _listed_twice), made_for=(WHOLE,)),
    ]  # fmt: skip
