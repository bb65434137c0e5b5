"""`interposed()`: plain calls of simulated code reach the machine, for as long as the block lasts.

What is set up, once for an exploration, however many crash points it has:

1. the stand-ins, into the modules where the real functions are at home (`os`, `posix`, `io`, `builtins`, `time`, ...);
2. the same stand-ins in every module that bound a name to a real function: pyfakefs's scan (`modulescan`);
3. and wherever else a real function is held: the search of the heap (`references`);
4. the dates (`dates`), the environment, the C library's time zone, and the tripwire.

At the end everything is put back. The places found are kept: to set up again costs a write for each place and a look
at the reference counts; the heap is searched again only for functions of which a reference has appeared since. A
module that was imported inside the block keeps the stand-ins it bound: outside of a process they pass through.
"""

from __future__ import annotations

import copyreg
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from simfs.patch import dates
from simfs.patch.accounts import account_stand_ins
from simfs.patch.audit import install_tripwire
from simfs.patch.belongings import forget_belongings
from simfs.patch.clocks import UtcForNow, clock_stand_ins
from simfs.patch.environment import install_environment, remove_environment
from simfs.patch.forbidden import forbidden_stand_ins
from simfs.patch.hostwork import doors, host_doors
from simfs.patch.inside import set_stage, strike_stage
from simfs.patch.locks import lock_places, lock_stand_ins
from simfs.patch.modulescan import ModuleScan
from simfs.patch.openfiles import host_file_places, open_descriptors
from simfs.patch.oscalls import io_stand_ins, os_stand_ins
from simfs.patch.places import Place, swap_in_class, swap_item
from simfs.patch.references import find_places
from simfs.patch.standin import StandIn
from simfs.patch.streams import seed_stand_in, stream_stand_ins

PLACES_MAX = 5000
"""How many places are kept from one exploration to the next."""


class Interposition:
    """Everything that is exchanged, and where. One for the interpreter; `begin` and `end` by turns."""

    def __init__(self) -> None:
        homes = [*os_stand_ins(), *io_stand_ins(), *clock_stand_ins(), *stream_stand_ins()]
        homes += [*account_stand_ins(), *lock_stand_ins(), *forbidden_stand_ins(), *host_doors()]
        self.stand_ins = list({id(record): record for _, _, record in homes}.values())
        self._homes = [Place(partial(swap_item, vars(m), name), record.real, record.fake) for m, name, record in homes]
        seed = seed_stand_in()
        self._homes.append(Place(partial(swap_in_class, random.Random, "seed"), seed.real, seed.fake))
        self._scan = ModuleScan(self.stand_ins)
        self._by_real = {id(record.real): record for record in self.stand_ins}
        self._found: list[Place] = []
        self._date_holders: set[int] = set()
        self._seen: set[int] = set()
        self._files: list[Place] = []
        self._harmless: frozenset[tuple[str, str]] = frozenset()
        self._utc: UtcForNow | None = None

    def begin(self) -> None:
        """Stand-ins in."""
        self._utc = UtcForNow()
        if len(self._found) > PLACES_MAX:
            self._found_again()
        for place in self._homes:
            place.patch()
        for place in self._found:
            place.patch()
        self._exchange_names()
        self._exchange_the_rest()
        self._exchange_dates()
        for place in lock_places(self._seen):
            self._take(place)
        self._exchange_open_files()
        copyreg.dispatch_table[dates.RealDate] = dates.reduced_date
        copyreg.dispatch_table[dates.RealDatetime] = dates.reduced_datetime
        install_environment()

    def end(self) -> None:
        """Real things back, last in first out."""
        remove_environment()
        for real in (dates.RealDate, dates.RealDatetime):
            copyreg.dispatch_table.pop(real, None)
        for place in reversed(self._files):
            place.restore()
        self._files.clear()
        for place in reversed(self._found):
            place.restore()
        for place in reversed(self._homes):
            place.restore()
        assert self._utc is not None
        self._utc.end()
        forget_belongings()

    def _exchange_names(self) -> None:
        """Names in modules, by pyfakefs's scan."""
        for module, name in self._scan.bindings():
            record = self._by_real.get(id(vars(module).get(name)))
            if record is not None:
                self._take(Place(partial(swap_item, vars(module), name), record.real, record.fake))

    def _exchange_the_rest(self) -> None:
        """References of which no module knows, of those functions that have more than were accounted for."""
        grown = []
        for record in self.stand_ins:
            count = _count(record)
            if record.known < 0 or count > record.known:
                grown.append(record)
            else:
                record.known = count  # Somebody has let go of it; the next one to take hold must be noticed.
        if not grown:
            return
        for place in find_places([(record.real, record.fake) for record in grown]):
            self._take(place)
        for record in self.stand_ins:
            record.known = _count(record)

    def _exchange_dates(self) -> None:
        """The two classes. Their references cannot be counted (they are immortal), so their holders are compared."""
        if dates.holders() <= self._date_holders:
            return
        for place in find_places(dates.date_pairs()):
            self._take(place)
        self._date_holders = dates.holders()

    def _exchange_open_files(self) -> None:
        """Real files that are open; not kept, for that would keep them open."""
        descriptors = open_descriptors()
        if not descriptors <= self._harmless:
            self._files = host_file_places()
            for place in self._files:
                place.patch()
            if not self._files:
                self._harmless = descriptors

    def _found_again(self) -> None:
        """Too many places were of objects that are no more: start over with those that are."""
        self._found.clear()
        self._seen.clear()
        self._date_holders.clear()
        for record in self.stand_ins:
            record.known = -1

    def _take(self, place: Place) -> None:
        place.patch()
        self._found.append(place)


def _count(record: StandIn) -> int:
    return sys.getrefcount(record.real)


_interposition: Interposition | None = None
_depth = 0
_stages = 0


@contextmanager
def interposed() -> Iterator[None]:
    """Inside the block, plain standard-library calls of a simulated process reach its machine.

    Calls made while no simulated process is running are not changed. Blocks may be nested: the outermost one does
    the work.
    """
    global _interposition, _depth
    if _interposition is None:
        _interposition = Interposition()
    with _staged():
        if _depth == 0:
            _interposition.begin()
        _depth += 1
        try:
            yield
        finally:
            _depth -= 1
            if _depth == 0:
                _interposition.end()


@contextmanager
def tripwire() -> Iterator[None]:
    """Inside the block, code of a simulated process that touches the real machine meets `EscapedToHost`; Python's own
    machinery reads where it must (`hostwork`)."""
    with _staged(), doors():
        yield


@contextmanager
def _staged() -> Iterator[None]:
    global _stages
    install_tripwire()
    if _stages == 0:
        set_stage()
    _stages += 1
    try:
        yield
    finally:
        _stages -= 1
        if _stages == 0:
            strike_stage()
