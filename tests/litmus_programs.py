"""The litmus programs: small enough that a person can say, for each disk model, everything that may be left.

`setup` is durable when a program starts. `asks` is the question that it answers. The exact answers are in
`golden/litmus`, one story each.
"""

from __future__ import annotations

from tests.litmus_content import CONTENT
from tests.litmus_names import NAMES
from tests.litmus_program import MODELS, Litmus

ALL = (*CONTENT, *NAMES)

__all__ = ["ALL", "MODELS", "Litmus"]
