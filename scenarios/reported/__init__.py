"""Faults that people really had, each as a small wrong program and its right twin.

Each case is a public report: the sequence of calls that did the damage, in a program as small as it still happens in,
and the same program done right. The wrong one breaks the law that the case names; the right one breaks none, on every
disk model that it claims. Files `disk_*.py` hold faults of power losses and failing disks, `race_*.py` those of
processes that meet, die, or look at a clock. `registry.cases()` gathers all of them; `laws.py` has the laws.
"""
