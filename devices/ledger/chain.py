"""Chain of a device's answers: seal k covers answer k and seal k - 1.

The seal is HMAC-SHA256 under the device's own key. A row that was edited, inserted, moved
to another place or device, or deleted from the middle breaks the chain. Rows deleted from
the end do not: the ledger is then an older one, and only a counter that is kept apart can
tell (:mod:`ldpsim.devices.ledger.counter`).
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ldpsim.devices.keyed.hashes import KeyedHashes
from ldpsim.devices.ledger.columns import LedgerDamaged
from ldpsim.devices.ledger.rows import QUERY_ANSWERS, TRAINING_ANSWERS, Answer, FirstAnswers, Head, QueryAnswer


def seal_of(answer: Answer, previous: bytes, key: bytes) -> bytes:
    """Return the seal of an answer.

    Args:
        answer: The row; its own seal plays no part.
        previous: Seal of the device's answer before it, empty for the first.
        key: The device's key for seals.
    """
    if isinstance(answer, QueryAnswer):
        name, packed = QUERY_ANSWERS.name, QUERY_ANSWERS.pack(answer)
    else:
        name, packed = TRAINING_ANSWERS.name, TRAINING_ANSWERS.pack(answer)
    return hmac.digest(key, _sealed_name(name, previous) + packed, "sha256")


def first_seals(answers: FirstAnswers, keys: Sequence[bytes]) -> list[bytes]:
    """Return :func:`seal_of` of the first answers of several devices, under their keys of 32 bytes."""
    name = _sealed_name(QUERY_ANSWERS.name, b"")
    return _hashes(keys).macs(name + packed for packed in answers.canonical())


def sound_alone(answers: Sequence[QueryAnswer], keys: Sequence[bytes]) -> list[bool]:
    """Return whether each answer, the only one of its device, passes :func:`checked` under the device's key."""
    name = _sealed_name(QUERY_ANSWERS.name, b"")
    seals = _hashes(keys).macs(name + QUERY_ANSWERS.pack(answer) for answer in answers)
    return [
        answer.number == 0 and hmac.compare_digest(answer.seal, seal)
        for answer, seal in zip(answers, seals, strict=True)
    ]


def _hashes(keys: Sequence[bytes]) -> KeyedHashes:
    return KeyedHashes(np.frombuffer(b"".join(keys), np.uint8).reshape(len(keys), -1))


def _sealed_name(table: str, previous: bytes) -> bytes:
    return b"%s\0%c%s" % (table.encode(), len(previous), previous)


def checked(answers: Iterable[Answer], key: bytes) -> Iterator[Answer]:
    """Yield a device's answers, in the order of their numbers, each after its place and seal were checked.

    Raises:
        LedgerDamaged: at the first answer that is missing or does not carry its seal.
    """
    previous = b""
    for number, answer in enumerate(answers):
        if answer.number != number:
            raise LedgerDamaged(f"answer {number} of device {answer.device} is missing or there twice")
        if not hmac.compare_digest(answer.seal, seal_of(answer, previous, key)):
            raise LedgerDamaged(f"answer {number} of device {answer.device} does not carry its seal")
        previous = answer.seal
        yield answer


def head_of(answers: list[Answer]) -> Head:
    """Return the end of a checked chain."""
    return Head(len(answers), answers[-1].seal) if answers else Head()
