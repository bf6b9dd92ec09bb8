from __future__ import annotations

import numpy as np
import pytest

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.decoding import Decoder
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import GRR, GroupDegrees
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
def test_what_is_wrong_is_said_at_the_end(answers: dict[int, dict[str, tuple[bytes, ...]]], line: str) -> None:
    """A collection goes on: every device was asked, and repeats its answer in the next run."""
    decoder = Decoder(FACTS, [QUESTION])
    decoder.add(answers)
    decoder.add({5: {"label": (b"\0\0",)}})
    with pytest.raises(ValueError, match=line):
        decoder.arrays()


def test_malformed_bytes_are_left_out_and_named() -> None:
    decoder = Decoder(FACTS, [QUESTION])
    answers = {2: {"label": (b"\x09\0",)}, 5: {"label": (b"\0\0",)}}
    decoder.add(answers)
    found, wrong = decoder.arrays()
    assert found["labels"].tolist() == [-1, -1, -1, -1, -1, 0] and list(wrong) == [2]
    with pytest.raises(ValueError, match="device 2: not a report"):
        Reports.from_bytes(FACTS, [QUESTION], answers)


def staged(grouping: tuple[int, ...] | None, devices: list[int], *, mechanism: GRR = MECHANISM) -> Question:
    groups = GroupDegrees.from_epsilon(1.0, n=6, groups=2)
    plan = ((Ask("label", (mechanism,)),), (Ask("adjacency", (groups,)),))
    return Question(Query("c", plan, stage=0 if grouping is None else 1, grouping=grouping), np.array(devices))


def test_a_grouping_is_that_of_the_questions() -> None:
    assert Decoder(FACTS, [staged(None, [0]), staged(None, [1])]).grouping is None
    one = Decoder(FACTS, [staged((0, 0, 1, 1, 0, 1), [0, 2]), staged((0, 0, 1, 1, 0, 1), [3])])
    assert one.grouping is not None and one.grouping.tolist() == [0, 0, 1, 1, 0, 1]
    assert Decoder(FACTS, [staged((0, 0, 1, 1, 0, 1), [0]), staged(None, [3])]).grouping is not None
    with pytest.raises(ValueError, match="group people differently"):
        Decoder(FACTS, [staged((0, 0, 1, 1, 0, 1), [0, 2]), staged((1, 0, 1, 1, 0, 1), [3])])


def test_what_was_asked_so_far_of_a_plan_in_stages() -> None:
    both = Decoder(FACTS, [staged((0, 0, 1, 1, 0, 1), [0, 2]), staged(None, [3])])
    assert {name: who.tolist() for name, who in both.asked.items()} == {
        "label": [True, False, True, True, False, False],
        "adjacency": [True, False, True, False, False, False],
    }
    assert [[ask.attribute for ask in stage] for stage in both.plan] == [["label"], ["adjacency"]]
    everybody = Decoder(FACTS, [Question(staged(None, []).query, None)])
    assert everybody.asked["label"].all() and everybody.asked.keys() == {"label"}


def test_two_asks_about_one_attribute_are_refused() -> None:
    other = GRR.from_epsilon(2.0, categories=3)
    with pytest.raises(ValueError, match="ask differently about label"):
        Decoder(FACTS, [staged(None, [0]), staged(None, [1], mechanism=other)])


def test_parts_are_added_as_answers_are() -> None:
    decoder = Decoder(FACTS, [QUESTION])
    decoder.add_part("label", 0, [0, 3], [b"\0\0", b"\1\0"])
    decoder.add_part("label", 0, [5], [b"\2\0"])
    found, wrong = decoder.arrays()
    assert found["labels"].tolist() == [0, -1, -1, 1, -1, 2] and not wrong
    assert decoder.answered.tolist() == [True, False, False, True, False, True]
