"""Litmus programs about content: writes, truncations, and flushes of them, some of which fail."""

from __future__ import annotations

import os
from collections.abc import Sequence

from tests.litmus_calls import (
    Held,
    Step,
    append,
    create,
    cut,
    failing_flush,
    flush,
    flush_data,
    mkdir,
    overwrite,
    rewrite,
    write_through,
)
from tests.litmus_program import litmus


def _steps_of_truncation() -> Sequence[Step]:
    held = Held()
    return (
        held.open("fd", "f", os.O_TRUNC, " with O_TRUNC"),
        held.write("fd", b"new"),
        held.close("fd"),
        mkdir("d"),
    )


def _ftruncate_and_rewrite() -> Sequence[Step]:
    held = Held()
    return (held.open("fd", "f", 0, ""), held.cut("fd", 0), held.write("fd", b"new"), held.close("fd"), mkdir("d"))


def _two_appenders() -> Sequence[Step]:
    held = Held()
    return (
        held.open("one", "log", os.O_APPEND, " for appending"),
        held.open("two", "log", os.O_APPEND, " for appending"),
        held.write("one", b"aa"),
        held.write("two", b"bb"),
        held.flush("one"),
        held.write("one", b"c"),
    )


OLD = create("f", b"old")
CONTENT = (
    litmus("create_write", "A new file, nothing flushed: what is it after a crash?", create("f", b"ab")),
    litmus("create_write_flush", "Does a flush of a new file keep its name?", create("f", b"ab"), flush("f")),
    litmus("create_write_flush_both", "And with its directory flushed?", create("f", b"ab"), flush("f"), flush(".")),
    litmus("create_flush_directory_only", "The name is flushed, the content is not.", create("f", b"ab"), flush(".")),
    litmus("append_within_a_block", "An append to a durable file.", append("f", b"ab"), setup=[OLD]),
    litmus(
        "append_across_a_block",
        "An append that fills one block and begins another.",
        append("f", b"abcd"),
        setup=[create("f", b"o" * 4094)],
    ),
    litmus(
        "append_append_in_one_block",
        "Two appends to a new file, nothing flushed.",
        create("f", b"a"),
        append("f", b"b"),
    ),
    litmus(
        "append_flush_append",
        "Two appends with a flush between: the second cannot harm the first.",
        append("f", b"a"),
        flush("f"),
        append("f", b"b"),
        setup=[OLD],
    ),
    litmus(
        "append_fdatasync",
        "fdatasync covers the size.",
        append("f", b"ab"),
        flush_data("f"),
        setup=[OLD],
    ),
    litmus(
        "append_then_another_name",
        "An append puts its size in the sequence before a later name: is the file never short when the name is there?",
        append("f", b"ab"),
        mkdir("d"),
        setup=[OLD],
    ),
    litmus(
        "overwrite_two_blocks",
        "One write over the border of two durable blocks.",
        overwrite("f", 4094, b"bbbb"),
        setup=[create("f", b"o" * 8192)],
    ),
    litmus(
        "overwrite_one_block_then_another",
        "Two overwrites in order: can the second be there without the first?",
        overwrite("f", 0, b"1"),
        overwrite("f", 4096, b"2"),
        setup=[create("f", b"o" * 4097)],
    ),
    litmus(
        "overwrite_two_sectors",
        "One write over the border of two sectors of a block.",
        overwrite("f", 511, b"bb"),
        setup=[create("f", b"o" * 600)],
    ),
    litmus("truncate_and_rewrite", "O_TRUNC, write, close: the classic.", rewrite("f", b"new"), setup=[OLD]),
    litmus(
        "truncate_in_steps",
        "Truncation to 0 in steps, and another name afterwards: is empty still possible?",
        *_steps_of_truncation(),
        setup=[OLD],
    ),
    litmus("ftruncate_and_rewrite", "The same by ftruncate.", *_ftruncate_and_rewrite(), setup=[OLD]),
    litmus("truncate_then_crash", "Truncation alone.", cut("f", 1), setup=[OLD]),
    litmus(
        "truncate_inside_a_block_then_append",
        "Cut a block inside, then append: can the bytes that were cut off come back?",
        cut("f", 3),
        append("f", b"xy"),
        setup=[create("f", b"abcdef")],
    ),
    litmus(
        "grow_by_truncation",
        "ftruncate beyond the end, then write into the hole.",
        cut("f", 6),
        overwrite("f", 4, b"z"),
        setup=[OLD],
    ),
    litmus("sparse_write", "A write beyond the end of a new file.", create("f", b""), overwrite("f", 4098, b"ab")),
    litmus(
        "sparse_write_then_the_hole",
        "A write beyond the end, then one into the hole.",
        create("f", b""),
        overwrite("f", 4096, b"2"),
        overwrite("f", 0, b"1"),
    ),
    litmus("write_through", "O_SYNC: the write is its own flush.", write_through("f", b"ab"), append("f", b"c")),
    litmus(
        "failed_flush_then_flush",
        "A flush failed, the next one returned: is the content safe?",
        append("f", b"ab"),
        failing_flush("f"),
        flush("f"),
        setup=[OLD],
    ),
    litmus(
        "failed_flush_then_write_again",
        "After a failed flush the same block is written again and flushed.",
        append("f", b"a"),
        failing_flush("f"),
        append("f", b"b"),
        flush("f"),
        setup=[OLD],
    ),
    litmus(
        "failed_flush_of_two_blocks",
        "A failed flush loses blocks one by one.",
        overwrite("f", 0, b"1"),
        overwrite("f", 4096, b"2"),
        failing_flush("f"),
        flush("f"),
        setup=[create("f", b"o" * 4097)],
    ),
    litmus(
        "failed_flush_of_a_new_file",
        "A new file whose flush failed once, then it and its directory are flushed.",
        create("f", b"ab"),
        failing_flush("f"),
        flush("f"),
        flush("."),
    ),
    litmus(
        "failed_flush_of_a_directory",
        "A directory whose flush failed once is flushed again.",
        mkdir("d"),
        failing_flush("."),
        flush("."),
    ),
    litmus(
        "two_appenders",
        "Two descriptors with O_APPEND, one of them flushed.",
        *_two_appenders(),
        setup=[create("log", b"")],
    ),
)
