from __future__ import annotations

from dataclasses import dataclass

import pytest

from ldpsim.curator.methods.base import MethodSpec
from ldpsim.curator.methods.parameters import ABOVE_0, parameter, unread_parameters, unused


@dataclass(frozen=True)
class Painter:
    spec = MethodSpec(name="painter")

    colour: str = "none"
    coats: int = 0
    shade: float = parameter(0.5, colour=("red", "blue"), coats=ABOVE_0)
    wood: str = parameter("oak", public_features=(True,))
    brush: str = unused("flat")


@pytest.mark.parametrize(
    ("painter", "public", "unread"),
    [
        (Painter(), True, {"shade": "it is read beside coats above 0 alone", "brush": "painter does not read it"}),
        (Painter("blue", 1), True, {"brush": "painter does not read it"}),
        (
            Painter("blue"),
            True,
            {"shade": "it is read beside coats above 0 alone", "brush": "painter does not read it"},
        ),
        (
            Painter("green", 1),
            False,
            {
                "shade": "it is read beside colour=red or colour=blue alone",
                "wood": "it is read beside public_features=true alone",
                "brush": "painter does not read it",
            },
        ),
    ],
)
def test_a_parameter_is_unread_beside_other_values(painter: Painter, public: bool, unread: dict[str, str]) -> None:
    assert unread_parameters(painter, {"public_features": public}) == unread
