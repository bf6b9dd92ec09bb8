"""Chain of a device's answers: seal k covers answer k and seal k - 1.

The seal is HMAC-SHA256 under the device's own key. A row that was edited, inserted, moved
to another place or device, or deleted from the middle breaks the chain. Rows deleted from
the end do not: the ledger is then an older one, and only a counter that is kept apart can
tell (:mod:`ldpsim.devices.ledger.counter`).
"""

from __future__ import annotations

import hmac
import struct
from collections.abc import Mapping, Sequence

from ldpsim.devices.ledger.rows import Answer

_NUMBERS = struct.Struct("<qq3I").pack  # device, number; lengths of kind, collection and the seal before


def seals(answers: Sequence[Answer], previous: Sequence[bytes], keys: Sequence[bytes]) -> list[bytes]:
    """Return the seal of each answer; its own seal plays no part.

    Args:
        answers: Rows, of one or several devices.
        previous: Seal of the answer before each, empty for a device's first.
        keys: Each one's key for seals, 32 bytes.
    """
    rows = zip(answers, previous, keys, strict=True)
    return [hmac.digest(key, _canonical(answer, before), "sha256") for answer, before, key in rows]


def _canonical(answer: Answer, previous: bytes) -> bytes:
    kind, collection = answer.kind.encode(), answer.collection.encode()
    numbers = _NUMBERS(answer.device, answer.number, len(kind), len(collection), len(previous))
    return b"".join((numbers, kind, collection, previous, answer.body))


def verify_seals(answers: Sequence[Answer], keys: Mapping[int, bytes]) -> list[bool]:
    """Return whether each answer stands at its place in its device's chain and carries its seal.

    Args:
        answers: Rows in the order of devices and numbers.
        keys: The devices' keys for seals.
    """
    if not answers:
        return []
    previous, numbers, last = [], [], Answer(-1, -1, "", "", b"")
    for answer in answers:
        follows = answer.device == last.device
        previous.append(last.seal if follows else b"")
        numbers.append(last.number + 1 if follows else 0)
        last = answer
    expected = seals(answers, previous, [keys[answer.device] for answer in answers])
    return [
        answer.number == number and hmac.compare_digest(answer.seal, seal)
        for answer, number, seal in zip(answers, numbers, expected, strict=True)
    ]
