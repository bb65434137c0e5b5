"""The check `storage_rules`: the rules of the commit log, every small case of each.

The rules do no I/O, so nothing here loses power by itself: plans are carried out on paper (`plan_model`), and the
paper is asked what a power loss after each step may leave. Bounds: files of up to 8 bytes; up to 2 commits found and
3 made; 2 sidecars, in every order.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product

from eukhe.storage import rules
from eukhe.storage.rules import OpenFacts, RuleRefused, SidecarFacts, SidecarShort, Step
from scenarios.checks import Case, Check, Question
from scenarios.laws import log
from scenarios.suites import log_model, plan_model
from scenarios.suites.plan_model import Paper

LENGTH_MAX = 8
SIDECARS = ("c1.entries.jsonl", "c2.entries.jsonl")
LISTS = [names for count in range(3) for names in permutations(SIDECARS, count)]
"""Every list of sidecars that a commit may touch."""
ANCESTORS = ("/home", "/home/sessions")

Run = tuple[str, Paper, list[tuple[tuple[Step, ...], dict[str, int]]], int]
"""(in words, the paper before it, each plan with what its line needs, how many lines were found)."""


def odd_facts() -> Iterator[Case]:
    """Facts are taken exactly when a file has them, and then the kept length is the one that the file shows."""
    possible: dict[tuple[int, int | None], int] = {}
    for length in range(LENGTH_MAX + 1):
        for letters in product(b"a\n", repeat=length):
            raw = bytes(letters)
            last = raw.rfind(b"\n")
            possible[length, None if last < 0 else last] = len(log_model.complete(raw))
    for length in range(-2, LENGTH_MAX + 1):
        for newline in (None, *range(-2, LENGTH_MAX + 2)):
            answer: int | None
            try:
                rules.plan_open(True, OpenFacts(length, newline))
                answer = rules.complete_length(length, newline)
            except RuleRefused:
                answer = None
            wanted = possible.get((length, newline))
            wrong = None if answer == wanted else f"the rule says {_kept(answer)}, a file says {_kept(wanted)}"
            yield f"{length} bytes, last newline at {newline}", wrong


def _kept(length: int | None) -> str:
    return "no such file" if length is None else f"{length} bytes stay"


def open_plans() -> Iterator[Case]:
    """The cut of main.jsonl, what makes the commits found durable, the cuts of sidecars, and then the ancestors."""
    for text, fsync, facts in _all_facts():
        try:
            steps, _ = rules.plan_open(fsync, facts)
        except (RuleRefused, SidecarShort):
            yield text, _why_refused(facts)
            continue
        kept = 0 if facts.last_newline is None else facts.last_newline + 1
        wanted = [Step("cut_main", "main.jsonl", kept)] if kept < facts.length else []
        cuts = [Step("cut_sidecar", s.name, s.confirmed) for s in facts.sidecars if s.length > s.confirmed]
        if fsync and kept:
            wanted += [Step("flush_sidecar", s.name) for s in facts.sidecars if s.confirmed]
            wanted.append(Step("rewrite_last_line"))
        if fsync and (kept or cuts):
            wanted.append(Step("flush_main"))
        wanted += cuts
        if fsync and kept:
            wanted.append(Step("flush_directory"))
        if fsync:
            wanted += [Step("flush_ancestor", path) for path in ANCESTORS]
        wanted.append(Step("acknowledge"))
        yield text, None if list(steps) == wanted else f"its steps are {_words(steps)}, not {_words(wanted)}"


def _all_facts() -> Iterator[tuple[str, bool, OpenFacts]]:
    files = [(length, newline) for length in range(4) for newline in (None, *range(length))]
    lengths = [(length, confirmed) for length in range(3) for confirmed in range(3)]
    for fsync, (length, newline) in product((True, False), files):
        for count in range(3):
            for sizes in product(lengths, repeat=count):
                sidecars = tuple(SidecarFacts(name, *size) for name, size in zip(SIDECARS, sizes, strict=False))
                text = f"fsync={fsync}, {length} bytes, newline at {newline}, sidecars {[s[1:] for s in sidecars]}"
                yield text, fsync, OpenFacts(length, newline, sidecars, ANCESTORS if fsync else ())


def _why_refused(facts: OpenFacts) -> str | None:
    short = any(s.length < s.confirmed for s in facts.sidecars)
    unfounded = facts.last_newline is None and any(s.confirmed for s in facts.sidecars)
    return None if short or unfounded else "refused, though such a storage may be there"


def _wanted(fsync: bool, names: tuple[str, ...], new: set[str]) -> list[Step]:
    """The steps of a commit. `new` holds the files that are there and whose entries no directory flush has covered;
    a flush covers them all, and `new` is brought up to date."""
    wanted = [Step("write_sidecar", name) for name in names]
    if fsync:
        wanted += [Step("flush_sidecar", name) for name in names]
        if new.intersection(names):
            wanted.append(Step("flush_directory"))
            new.clear()
    wanted.append(Step("write_marker"))
    if fsync:
        wanted.append(Step("flush_main"))
        if "main.jsonl" in new:
            wanted.append(Step("flush_directory"))
            new.clear()
    return [*wanted, Step("acknowledge")]


def commit_plans() -> Iterator[Case]:
    """Each commit's plan, against the same said in another way: by which entries are new."""
    for fsync, found, there in product((True, False), (True, False), (set(), {SIDECARS[0]}, set(SIDECARS))):
        sidecars = tuple(SidecarFacts(name, 1, int(found)) for name in sorted(there))
        facts = OpenFacts(2 * found, 1 if found else None, sidecars)
        text = f"fsync={fsync}, {'a commit' if found else 'nothing'} found, sidecars {sorted(there)}"
        for lists in product(LISTS, repeat=3):
            _, state = rules.plan_open(fsync, facts)
            known, new = {"main.jsonl", *there}, set() if found else {"main.jsonl", *there}
            for number, names in enumerate(lists, 1):
                new.update(set(names) - known)
                known.update(names)
                steps, state = rules.plan_commit(state, names)
                wanted = _wanted(fsync, names, new)
                wrong = None if list(steps) == wanted else f"its steps are {_words(steps)}, not {_words(wanted)}"
                yield f"{text}; commit {number} of {[list(names) for names in lists]}", wrong


def runs() -> Iterator[Run]:
    """Every epoch within the bounds: what was found, durable or not, torn or not; then up to three commits."""
    for found, torn, durable in product(range(3), (False, True), (True, False)):
        for count in range(4):
            for lists in product(LISTS, repeat=count):
                facts = OpenFacts(2 * found + torn, 2 * found - 1 if found else None, (), ANCESTORS)
                steps, state = rules.plan_open(True, facts)
                plans: list[tuple[tuple[Step, ...], dict[str, int]]] = [(steps, {})]
                writes: dict[str, int] = {}
                for names in lists:
                    steps, state = rules.plan_commit(state, names)
                    for name in names:
                        writes[name] = writes.get(name, 0) + 1
                    plans.append((steps, {name: writes[name] for name in names}))
                entry = frozenset({"main.jsonl"} if durable and found else ())
                paper = Paper(found, found if durable else 0, entries_durable=entry, needs=({},) * found)
                text = f"{found} found{' and a torn tail' * torn}, durable={durable}, commits with {list(lists)}"
                yield text, paper, plans, found


def plans_run_the_model() -> Iterator[Case]:
    """Step by step a plan stands where the model's epoch stands."""
    for text, paper, plans, found in runs():
        stands = plan_model.without_repeats(
            (at.seen, at.durable, "main.jsonl" in at.entries_durable, at.acked)
            for at in plan_model.after_each_step(paper, plans)
        )
        early = any(needed for _, needed in plans)
        entry = "main.jsonl" not in paper.entries_durable
        model = plan_model.without_repeats(plan_model.epoch(found, paper.durable == found, entry, len(plans) - 1))
        if early:
            # A sidecar's directory flush may make the entry of main.jsonl durable before the model asks for it.
            stands, model = [(*s[:2], s[3]) for s in stands], [(*s[:2], s[3]) for s in model]  # type: ignore[misc]
            stands, model = plan_model.without_repeats(iter(stands)), plan_model.without_repeats(iter(model))
        yield text, None if stands == model else f"it stands at {stands}, the model at {model}"


def acknowledged_survive() -> Iterator[Case]:
    """After any step, with any survivors, what was acknowledged is there and no sidecar is short."""
    for text, paper, plans, _ in runs():
        wrong = None
        for step, at in enumerate(plan_model.after_each_step(paper, plans)):
            for left in at.may_be_left():
                if isinstance(left, str):
                    wrong = f"after step {step} a line survives whose bytes in {left} did not"
                elif left < at.acked:
                    wrong = f"after step {step} {left} of {at.acked} acknowledged lines are left"
        yield text, wrong


def only_commits_are_left() -> Iterator[Case]:
    """After any step, with any survivors, what is left is a first part of what was found and tried, tails cut."""
    for text, paper, plans, found in runs():
        tried = found + len(plans) - 1
        cut = [step for step in plans[0][0] if step.kind == "cut_main"]
        wrong = None
        if ("torn" in text) != bool(cut) or (cut and cut[0].length != 2 * found):
            wrong = f"{found} lines of 2 bytes were found, and the open cuts {_words(tuple(cut)) or 'nothing'}"
        for at in plan_model.after_each_step(paper, plans):
            if any(isinstance(left, int) and left > tried for left in at.may_be_left()):
                wrong = "more lines may be left than were tried"
        markers = [sum(step.kind == "write_marker" for step in steps) for steps, _ in plans]
        if markers != [0, *[1] * (len(plans) - 1)]:
            wrong = f"the plans write {markers} lines"
        yield text, wrong


def _words(steps: tuple[Step, ...] | list[Step]) -> str:
    return ", ".join(step.kind + (f"({step.name})" if step.name else "") for step in steps)


RULES = Check(
    "storage_rules",
    "The rules of the commit log decide and plan as its laws say, in every small case.",
    (
        Question(log.LOG_OPEN_REFUSES_ODD_FACTS, odd_facts),
        Question(log.LOG_OPEN_PLAN, open_plans),
        Question(log.LOG_COMMIT_PLAN, commit_plans),
        Question(log.LOG_PLAN_RUNS_THE_MODEL, plans_run_the_model),
        Question(log.LOG_PLAN_ACK_DURABLE, acknowledged_survive),
        Question(log.LOG_PLAN_ONLY_COMMITS, only_commits_are_left),
    ),
)
