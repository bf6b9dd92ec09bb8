from __future__ import annotations

import numpy as np

from ldpsim.curator.methods import Question
from ldpsim.curator.reports.decoding import Decoder, reports_digest
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


def test_the_digest_of_all_reports() -> None:
    assert reports_digest({1: b"a", 0: b"b"}) == reports_digest({0: b"b", 1: b"a"})
    different = [{}, {0: b""}, {0: b"a"}, {1: b"a"}, {0: b"a", 1: b""}, {0: b"", 1: b"a"}]
    assert len({reports_digest(d) for d in different}) == len(different)
