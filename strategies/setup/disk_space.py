"""Disk space of a run: the estimate before anybody is asked, and the error of a disk that is full.

The space of the answers is estimated from one answer of an empty record, and the bytes that a
ledger adds to it. Answers that grow with the record need more, so the estimate is too small there:
a run is never refused for want of space that it does not need.
"""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ldpsim.curator.methods import Question
from ldpsim.devices.atomic_files import DISK_FULL
from ldpsim.devices.data.population import Population, Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.noise import NoiseStream
from ldpsim.devices.query import Query
from ldpsim.devices.report import pack_parts

ROW_BYTES = 200  # that a ledger needs for an answer beside its report: seal, digests, ids, index
_TEXTS = ("no space left on device", "os error 28", "disk is full", "requested and")  # of libraries without an errno


def answers_bytes(facts: PublicFacts, questions: Sequence[Question]) -> int:
    """Estimate the size of all answers to the questions in the devices' ledgers."""
    asked = (facts.n if question.devices is None else len(question.devices) for question in questions)
    return sum(count * _answer_bytes(question.query) for count, question in zip(asked, questions, strict=True))


def _answer_bytes(query: Query) -> int:
    """Estimate the size of one answer in a ledger, by the answer of a record without neighbours and features."""
    empty = Record(np.empty(0, np.int32), np.empty(0, np.float32), np.empty(0, np.int32), 0)
    noise = NoiseStream(bytes(32))
    reports = (
        pack_parts(m.respond([empty], [noise], devices=[0], grouping=query.grouping)[0] for m in ask.mechanisms)
        for ask in query.asks
    )
    return sum(map(len, reports)) + ROW_BYTES


def check_space(folder: Path, population: Population, questions: Sequence[Question], *, enrolments: int) -> None:
    """Check that new devices and their answers have room on the disk of a folder.

    Args:
        folder: Folder of the devices, or the one in which it will be made.
        population: The people.
        questions: What every device is asked.
        enrolments: Number of times that devices of all people are made.

    Raises:
        ValueError: one line with the folder, the free space and the space that is needed.
    """
    needed = enrolments * (population.nbytes + 32 * len(population) + answers_bytes(population.facts, questions))
    free = free_bytes(folder)
    if needed > free:
        raise ValueError(
            f"{folder}: {in_words(free)} are free on its disk, and the devices and their answers need about "
            f"{in_words(needed)}: free some space, or name a folder on another disk"
        )


def free_bytes(folder: Path) -> int:
    """Return the free space on the disk of a folder, which may not be there yet."""
    return shutil.disk_usage(next(path for path in (folder, *folder.absolute().parents) if path.exists())).free


def check_refused(folder: Path, refused: int, facts: PublicFacts, questions: Sequence[Question]) -> None:
    """Check whether devices could not write their ledgers because the disk is full.

    Args:
        folder: Their folder.
        refused: Number of devices that answered ``LEDGER_DAMAGED``.
        facts: Public facts.
        questions: What was asked.

    Raises:
        OSError: if their answers have no room; its text says how much is needed.
    """
    # Once in the ledger, once in its write-ahead log, of which all pages are written anew.
    needed = 2 * answers_bytes(facts, questions) * refused // facts.n + (1 << 16)
    if refused and free_bytes(folder) < needed:
        raise OSError(
            errno.ENOSPC,
            f"No space left on device: {refused:,} devices could not answer, about {in_words(needed)} are needed; "
            "then the same command goes on",
            str(folder),
        )


@contextmanager
def naming_full_disk(folder: Path, *, but: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Name a folder in the error of a full disk that names no path; libraries raise many kinds of it.

    Args:
        folder: The folder that is written to.
        but: Errors that name their own path.

    Raises:
        OSError: with the folder as its path.
    """
    try:
        yield
    except but:
        raise
    except Exception as error:
        if isinstance(error, OSError) and (error.filename or error.errno not in (None, *DISK_FULL)):
            raise
        full = isinstance(error, OSError) and error.errno in DISK_FULL
        full |= isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_FULL
        if not full and not any(text in str(error).lower() for text in _TEXTS):
            raise
        raise OSError(errno.ENOSPC, "No space left on device", str(folder)) from error


def in_words(size: int) -> str:
    """Return a size in words."""
    return f"{size / 1e6:,.1f} MB" if size >= 1_000_000 else f"{size / 1e3:,.0f} kB"
