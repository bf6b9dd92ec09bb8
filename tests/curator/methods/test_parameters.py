from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pytest

from ldpsim.curator.methods.base import Method, MethodSpec
from ldpsim.curator.methods.parameters import (
    ABOVE_0,
    FRACTION,
    NUMBER,
    POSITIVE,
    SHARE,
    between,
    one_of,
    parameter,
    unread_parameters,
    unused,
    whole,
)


@dataclass(frozen=True)
class Painter(Method):
    spec = MethodSpec(name="painter")

    colour: str = parameter("none", one_of("none", "red", "blue", "green"))
    coats: int = parameter(0, whole(0, 9))
    shade: float = parameter(0.5, SHARE, colour=("red", "blue"), coats=ABOVE_0)
    wood: str = parameter("oak", public_features=(True,))
    brush: str = unused("flat")
    thin: float = parameter(0.0, between(0, 1))
    part: float = parameter(1.0, FRACTION)
    price: float = parameter(1.0, POSITIVE)
    rebate: float = parameter(0.0, NUMBER)


UNUSED = {"brush": "painter does not read it"}


@pytest.mark.parametrize(("given", "public", "unread"), [
    ({"coats": 1, "colour": "blue"}, True, {}),
    ({"colour": "blue"}, True, {"shade": "it is read beside coats above 0 alone"}),
    ({"colour": "green", "coats": 1}, False, {"shade": "it is read beside colour=red or colour=blue alone",
                                              "wood": "it is read beside public_features=true alone"}),
])  # fmt: skip
def test_a_parameter_is_unread_beside_other_values(given: dict[str, Any], public: bool, unread: dict[str, str]) -> None:
    options = {"public_features": public, "colour": None}  # an option of a parameter's name says nothing of it
    assert unread_parameters(Painter(**given), options) == unread | UNUSED


@pytest.mark.parametrize(("name", "fits", "wrong"), [
    ("colour", ("none", "green"), ("", "black")), ("coats", (0, 9), (-1, 10)), ("shade", (1e-9, 0.5), (0.0, 1.0)),
    ("thin", (0.0, 0.99), (-0.1, 1.0)), ("part", (0.1, 1.0), (0.0, 1.1)), ("price", (1e-9, 1e9), (0.0, -1.0, 2e9)),
    ("rebate", (0.0, 1e9), (-1.0, 1e-12)), ("price", (), (math.nan, math.inf)), ("part", (), (math.nan,)),
])  # fmt: skip
def test_a_value_outside_its_range_is_one_line_with_the_option(name: str, fits: Any, wrong: Any) -> None:
    for value in fits:
        assert getattr(Painter(**{name: value}), name) == value
    for value in wrong:
        with pytest.raises(ValueError, match=f"^--set {name}="):
            Painter(**{name: value})
