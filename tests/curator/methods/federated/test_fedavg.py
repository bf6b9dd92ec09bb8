"""Settings of the methods that train in rounds on devices.

It covers ``ldpsim.curator.methods.federated.private`` too.
"""

from __future__ import annotations

import pytest

from ldpsim.curator.methods.federated.private import LDPFedAvg


@pytest.mark.parametrize(
    "rounds, fraction, answers", [(10, 0.2, 2), (11, 0.2, 3), (1, 0.2, 1), (8, 0.25, 2), (3, 1, 3)]
)
def test_the_answers_of_a_device_are_those_of_the_one_that_is_asked_most(
    rounds: int, fraction: float, answers: int
) -> None:
    """Devices take turns; where the rounds are no multiple of the turns, some have a turn more than others."""
    turns = round(1 / fraction)
    given = [len(range(first, rounds, turns)) for first in range(turns)]
    assert LDPFedAvg(rounds=rounds, fraction=fraction).answers == max(given) == answers
