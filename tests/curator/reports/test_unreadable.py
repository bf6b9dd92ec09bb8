"""Answers that no decoder reads are found, and nobody else."""

from __future__ import annotations

import numpy as np

from curator.reports.question import Question
from curator.reports.unreadable import unreadable
from devices.mechanisms import GRR, Degree, RandomizedResponse
from devices.query import Ask, Query

ROW, LABEL = RandomizedResponse.from_epsilon(1.0, n=4), GRR.from_epsilon(1.0, categories=3)


def test_devices_with_unreadable_bytes() -> None:
    good = ROW.encode(np.array([True, False, False]))
    query = Query("a", ((Ask("adjacency", (ROW, Degree.from_epsilon(1.0, n=4))), Ask("label", (LABEL,))),))
    number = Degree.from_epsilon(1.0, n=4).encode(3)
    answers = {
        0: {"adjacency": (good, number), "label": (b"\x02\x00",)},
        1: {"adjacency": (good, number), "label": (b"\x03\x00",)},  # no such class
        2: {"adjacency": (b"", number), "label": (b"\x00\x00",)},
        3: {"adjacency": (good, b"\x02\x01\x00"), "label": (b"\x00\x00",)},  # wider than it need be
    }
    assert unreadable([Question(query)], answers) == [1, 2, 3]


def test_only_the_asked_people_are_looked_at() -> None:
    query = Query("a", ((Ask("label", (LABEL,)),),))
    answers = {0: {"label": (b"bad",)}, 1: {"label": (b"bad",)}}
    assert unreadable([Question(query, np.array([1]))], answers) == [1]
