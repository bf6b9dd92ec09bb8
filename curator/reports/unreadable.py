"""Answers that no decoder reads. A device may send any bytes, and these must not end a collection.

Decoding is not tried twice: only where the answers of all cannot be read, the devices are looked at one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from curator.reports.decoding import AnswersByDevice
from curator.reports.question import Question
from devices.mechanisms import Mechanism


def unreadable(questions: Sequence[Question], answers: AnswersByDevice) -> list[int]:
    """Return the devices with bytes that a mechanism's ``decode`` refuses, sorted.

    Args:
        questions: The questions at their latest stage, of all parts.
        answers: Bytes of each device by attribute, one for each mechanism.
    """
    return sorted({device for device, mechanism, data in _parts(questions, answers)
                   if not _is_read(mechanism, data, device)})  # fmt: skip


def _parts(questions: Sequence[Question], answers: AnswersByDevice) -> Iterator[tuple[int, Mechanism, bytes]]:
    for question in questions:
        so_far = question.query.plan[: question.query.stage + 1]
        asks = {ask.attribute: ask for stage in so_far for ask in stage}
        for device in answers if question.devices is None else question.devices.tolist():
            for attribute, ask in asks.items():
                for mechanism, data in zip(ask.mechanisms, answers.get(device, {}).get(attribute, ()), strict=False):
                    yield device, mechanism, data


def _is_read(mechanism: Mechanism, data: bytes, device: int) -> bool:
    try:
        mechanism.decode(data, device=device)
    except ValueError:
        return False
    return True
