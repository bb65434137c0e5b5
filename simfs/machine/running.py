"""Which machine is running a simulated process at this moment.

Interposed calls (`open`, `os.rename`, ...) carry no machine; they look here. Whoever runs processes sets `active`
around the run and clears it afterwards. The process is `active.current`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simfs.machine.machine import Machine

active: Machine | None = None
