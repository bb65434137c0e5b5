"""The litmus programs: small enough that a person can say, for each disk model, everything that may be left.

`setup` is durable when the program starts. `asks` is the question that the program answers. The exact answers are in
`golden/litmus`, one story each.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from tests.litmus_calls import (
    Held,
    Step,
    append,
    create,
    cut,
    exchange,
    failing_flush,
    flush,
    flush_data,
    flush_everything,
    link,
    mkdir,
    overwrite,
    rename,
    rewrite,
    rmdir,
    symlink,
    unlink,
    write_through,
)

MODELS = (
    "scc",
    "synced-only",
    "prefix",
    "ext4",
    "ext4:dioread=lock",
    "ext4:tear=sector",
    "posix-weakest",
)
SPLIT = ("prefix:rename_atomic=no", "ext4:rename_atomic=no", "scc:rename_atomic=no")


@dataclass(frozen=True)
class Litmus:
    name: str
    asks: str
    steps: Sequence[Step]
    setup: Sequence[Step] = ()
    models: tuple[str, ...] = MODELS

    def prepare(self, root: str) -> None:
        for step in self.setup:
            step(root)


def litmus(name: str, asks: str, *steps: Step, setup: Sequence[Step] = (), models: tuple[str, ...] = MODELS) -> Litmus:
    return Litmus(name, asks, steps, setup, models)


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
NAMES = (
    litmus("rename_to_new_name", "Write, rename to a name that was free.", create("t", b"new"), rename("t", "f")),
    litmus(
        "rename_to_new_name_flushed",
        "The same with the file flushed first.",
        create("t", b"new"),
        flush("t"),
        rename("t", "f"),
    ),
    litmus(
        "rename_over",
        "Write a temporary file, rename it over the old one, no flush.",
        create("t", b"new"),
        rename("t", "f"),
        setup=[OLD],
    ),
    litmus(
        "rename_over_flushed",
        "The same with the file flushed first.",
        create("t", b"new"),
        flush("t"),
        rename("t", "f"),
        setup=[OLD],
    ),
    litmus(
        "rename_over_flushed_both",
        "And with the directory flushed afterwards.",
        create("t", b"new"),
        flush("t"),
        rename("t", "f"),
        flush("."),
        setup=[OLD],
    ),
    litmus(
        "rename_over_directory_flushed_only",
        "Rename over and a returned flush of the directory: is the content safe?",
        create("t", b"new"),
        rename("t", "f"),
        flush("."),
        setup=[OLD],
    ),
    litmus(
        "rename_over_then_flush_the_file",
        "Rename over, then flush the file under its new name.",
        create("t", b"new"),
        rename("t", "f"),
        flush("f"),
        setup=[OLD],
    ),
    litmus(
        "rename_over_two_writes",
        "A temporary file in two writes, renamed over.",
        create("t", b"n"),
        append("t", b"w"),
        rename("t", "f"),
        flush("."),
        setup=[OLD],
    ),
    litmus(
        "append_to_a_durable_temporary_file_then_rename_over",
        "A temporary file that has its block already is appended to and renamed over: nothing starts writeback.",
        append("t", b"mp"),
        rename("t", "f"),
        flush("."),
        setup=[OLD, create("t", b"te")],
    ),
    litmus(
        "rename_not_atomic",
        "Rename over with the option that a rename may be left half done.",
        rename("t", "f"),
        setup=[OLD, create("t", b"new")],
        models=SPLIT,
    ),
    litmus(
        "publish_unflushed",
        "A directory with a file, nothing flushed, renamed to its final name; then its parent is flushed.",
        mkdir("s"),
        create("s/x", b"ab"),
        rename("s", "p"),
        flush("."),
    ),
    litmus(
        "publish_flushed",
        "The same with the file and the directory flushed first.",
        mkdir("s"),
        create("s/x", b"ab"),
        flush("s/x"),
        flush("s"),
        rename("s", "p"),
        flush("."),
    ),
    litmus(
        "switch_a_pointer",
        "A pointer file is replaced by rename, then the file it named is removed.",
        rename("cur.new", "cur"),
        unlink("one"),
        setup=[create("cur", b"1"), create("cur.new", b"2"), create("one", b"x"), create("two", b"y")],
    ),
    litmus("two_files", "Two new files: may the second be there alone?", create("a", b"1"), create("b", b"2")),
    litmus(
        "two_files_second_flushed",
        "Two new files, the second flushed.",
        create("a", b"1"),
        create("b", b"2"),
        flush("b"),
    ),
    litmus(
        "two_files_first_flushed_last",
        "The first of two new files is flushed after the second was made.",
        create("a", b"1"),
        create("b", b"2"),
        flush("a"),
    ),
    litmus(
        "mkdir_chain_leaf_flushed",
        "Directories in directories, only the file in them flushed.",
        mkdir("d"),
        mkdir("d/e"),
        create("d/e/f", b"ab"),
        flush("d/e/f"),
    ),
    litmus("unlink", "A removed file may come back.", unlink("f"), setup=[OLD]),
    litmus("unlink_then_make_again", "Remove, make again.", unlink("f"), create("f", b"n"), setup=[OLD]),
    litmus(
        "link_then_unlink",
        "A flushed temporary file gets its name by link, then loses the temporary one.",
        create("t", b"ab"),
        flush("t"),
        link("t", "f"),
        unlink("t"),
    ),
    litmus(
        "link_then_unlink_unflushed",
        "The same without the flush.",
        create("t", b"ab"),
        link("t", "f"),
        unlink("t"),
    ),
    litmus(
        "rename_across_directories_source_flushed",
        "A rename from one directory to another; the one it left is flushed.",
        rename("d/f", "e/f"),
        flush("d"),
        setup=[mkdir("d"), mkdir("e"), create("d/f", b"old")],
    ),
    litmus(
        "rename_across_directories_target_flushed",
        "A rename from one directory to another; the one it went to is flushed.",
        rename("d/f", "e/f"),
        flush("e"),
        setup=[mkdir("d"), mkdir("e"), create("d/f", b"old")],
    ),
    litmus(
        "two_directories_one_flushed",
        "A name in each of two directories, one of them flushed.",
        mkdir("d/x"),
        mkdir("e/y"),
        flush("e"),
        setup=[mkdir("d"), mkdir("e")],
    ),
    litmus(
        "flush_of_an_unmodified_file",
        "A file that nobody changed is flushed after another one was made.",
        mkdir("d"),
        flush("f"),
        setup=[OLD],
    ),
    litmus(
        "fdatasync_of_an_overwrite",
        "fdatasync of a file that was overwritten, after another name was made.",
        mkdir("d"),
        overwrite("f", 0, b"n"),
        flush_data("f"),
        setup=[OLD],
    ),
    litmus(
        "fsync_of_an_overwrite",
        "fsync of a file that was overwritten between two new names.",
        mkdir("d"),
        overwrite("f", 0, b"n"),
        mkdir("e"),
        flush("f"),
        setup=[OLD],
    ),
    litmus(
        "exchange_with_an_unflushed_file",
        "EXCHANGE of the old file with an unflushed new one; then the directory is flushed.",
        create("t", b"new"),
        exchange("t", "f"),
        flush("."),
        setup=[OLD],
    ),
    litmus(
        "rename_of_a_directory_in_an_unflushed_parent",
        "A durable directory is moved into a new one; only the directory it left is flushed.",
        mkdir("p"),
        rename("d/q", "p/q"),
        flush("d"),
        setup=[mkdir("d"), mkdir("d/q"), create("d/q/f", b"x")],
    ),
    litmus(
        "rmdir",
        "A directory is emptied and removed.",
        unlink("d/f"),
        rmdir("d"),
        setup=[mkdir("d"), create("d/f", b"x")],
    ),
    litmus(
        "symlink_switched_by_rename",
        "A symlink is replaced by rename.",
        symlink("two", "new"),
        rename("new", "cur"),
        setup=[symlink("one", "cur")],
    ),
    litmus("sync_covers_everything", "sync, then one more name.", create("a", b"1"), flush_everything(), mkdir("d")),
)
ALL = (*CONTENT, *NAMES)
