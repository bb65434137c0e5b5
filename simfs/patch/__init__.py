"""Unmodified code: plain calls of a simulated process reach its machine, and nothing of it reaches the host.

    from simfs.patch import interposed
    with interposed():
        ...                     # run processes, recoveries and laws, any number of times

| file | what |
|---|---|
| `inside` | is a simulated process running? |
| `standin`, `oscalls`, `clocks`, `streams`, `environment`, `dates` | what takes the place of what |
| `rawfile`, `opening` | files from `open()`: Python's own layers over a simulated raw file |
| `modulescan`, `references`, `interposition` | finding whoever holds a real function, and giving it back |
| `hostwork` | imports and source lines, which do read the real disk |
| `audit`, `escape` | the tripwire |
"""

from simfs.machine.errors import NotSimulated
from simfs.patch.alone import process_of
from simfs.patch.belongings import end_of_process
from simfs.patch.escape import EscapedToHost, taken_escapes
from simfs.patch.interposition import interposed, tripwire

__all__ = [
    "EscapedToHost",
    "NotSimulated",
    "end_of_process",
    "interposed",
    "process_of",
    "taken_escapes",
    "tripwire",
]
