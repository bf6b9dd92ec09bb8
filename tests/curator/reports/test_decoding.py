from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.decoding import Decoder
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.query import Ask, Query

FACTS = PublicFacts(6, 3, 3)
MECHANISM = GRR.from_epsilon(1.0, categories=3)
QUESTION = Question(Query("c", ((Ask("label", (MECHANISM,)),),)), np.array([0, 2, 3, 5]))


def test_batches_give_the_reports_of_all_answers() -> None:
    answers = {device: {"label": (bytes([device % 3, 0]),)} for device in (0, 3, 5)}
    decoder = Decoder(FACTS, [QUESTION])
    for batch in ((0,), (), (3, 5)):
        decoder.add({device: answers[device] for device in batch})
    (got, wrong), whole = Reports.decoded(decoder), Reports.from_bytes(FACTS, [QUESTION], answers)
    assert not wrong and got.labels is not None and whole.labels is not None
    assert got.labels.tolist() == whole.labels.tolist() == [0, -1, -1, 0, -1, 2]
    assert got.answered.tolist() == whole.answered.tolist() == [True, False, False, True, False, True]
    assert got.query() == whole.query() and got.asked["label"].tolist() == whole.asked["label"].tolist()


@pytest.mark.parametrize(
    ("answers", "line"),
    [({1: {"label": (b"\0\0",)}}, "without being asked"), ({2: {}}, "did not report it"),
     ({2: {"label": ()}}, "0 parts")],
)  # fmt: skip
def test_what_no_device_was_asked_for_is_refused(answers: dict[int, dict[str, tuple[bytes, ...]]], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        Decoder(FACTS, [QUESTION]).add(answers)


def test_malformed_bytes_are_left_out_and_named() -> None:
    decoder = Decoder(FACTS, [QUESTION])
    answers = {2: {"label": (b"\x09\0",)}, 5: {"label": (b"\0\0",)}}
    decoder.add(answers)
    found, wrong = decoder.arrays()
    assert found["labels"].tolist() == [-1, -1, -1, -1, -1, 0] and list(wrong) == [2]
    with pytest.raises(ValueError, match="device 2: not a report"):
        Reports.from_bytes(FACTS, [QUESTION], answers)


def test_parts_are_added_as_answers_are() -> None:
    decoder = Decoder(FACTS, [QUESTION])
    decoder.add_part("label", 0, [0, 3], [b"\0\0", b"\1\0"])
    decoder.add_part("label", 0, [5], [b"\2\0"])
    found, wrong = decoder.arrays()
    assert found["labels"].tolist() == [0, -1, -1, 1, -1, 2] and not wrong
    assert decoder.answered.tolist() == [True, False, False, True, False, True]
