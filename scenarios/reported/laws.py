"""The laws that public reports were about: stores, claims, staging, and the harness itself.

A law here speaks of any program, not of one store of eukhe; the scenario that binds it says what it means there.
"""

from __future__ import annotations

from simfs.explore.law import Law

DUR1 = Law("dur1", "What was promised is there after recovery", "reported store")
DUR2 = Law("dur2", "A record is never there without the promised ones before it", "reported store")
DUR3 = Law("dur3", "A reader is given only what somebody wrote: no splice, no zeros, no mix", "reported store")
DUR4 = Law("dur4", "Damage costs the damaged record and no other", "reported store")
DUR5 = Law("dur5", "The first append after a recovery can be read back", "reported store")
DUR6 = Law("dur6", "A file that is replaced is the whole old one or the whole new one", "reported store")
DUR7 = Law("dur7", "Files that describe each other agree, or the lesser one is made anew", "reported store")
DUR8 = Law("dur8", "Opening a damaged store destroys nothing that could still be read", "reported store")
DUR9 = Law("dur9", "A call that failed is not reported as done, and leaves a legal state", "reported store")

CLM1 = Law("clm1", "At no moment do two processes believe that they hold the same thing", "reported claim")
CLM2 = Law("clm2", "No update is undone by another that knew nothing of it", "reported claim")
CLM3 = Law("clm3", "An occurrence of a job is carried out once", "reported claim")
CLM4 = Law("clm4", "An occurrence that is past was carried out, or it is on record that it was not", "reported claim")
CLM5 = Law("clm5", "What a dead owner held can be taken again after a bounded time", "reported claim")
CLM6 = Law("clm6", "An owner that was replaced commits nothing any more", "reported claim")
CLM7 = Law("clm7", "A jump of the clock has a bounded effect", "reported claim")
CLM8 = Law("clm8", "After a failure nothing runs before its waiting time is over", "reported claim")

STG1 = Law("stg1", "What a living process uses is not swept", "reported staging")
STG2 = Law("stg2", "What a dead process left is swept in the end", "reported staging")
STG3 = Law("stg3", "Publishing replaces nothing, and what is published stays", "reported staging")
STG4 = Law("stg4", "A sweep stays inside the directory it was given", "reported staging")
STG5 = Law("stg5", "What is published is complete and durable", "reported staging")

HAR1 = Law("har1", "A call answers as the real system does", "harness")
HAR2 = Law("har2", "What is not simulated fails by name and touches nothing real", "harness")
HAR3 = Law("har3", "The same choices make the same run", "harness")
HAR4 = Law("har4", "Every source of time shows the same time", "harness")
HAR5 = Law("har5", "A correct program raises no alarm", "harness")
HAR6 = Law("har6", "The cost of a search is bounded", "harness")

LAWS = (
    DUR1, DUR2, DUR3, DUR4, DUR5, DUR6, DUR7, DUR8, DUR9,
    CLM1, CLM2, CLM3, CLM4, CLM5, CLM6, CLM7, CLM8,
    STG1, STG2, STG3, STG4, STG5,
    HAR1, HAR2, HAR3, HAR4, HAR5, HAR6,
)  # fmt: skip
