"""JSON of somebody else: one line for everything that two readers could understand in two ways."""

from __future__ import annotations

import json
import math

import pytest

from ldpsim.devices.foreign.strict_json import are_whole, read_json


@pytest.mark.parametrize("text", ['{"a":[1,-2.5e3,null,true,"x"],"b":{"a":{}}}', "18446744073709551615", '"\\u00e9"'])
def test_json_is_read_as_it_is(text: str) -> None:
    assert read_json(text) == read_json(text.encode()) == json.loads(text)


@pytest.mark.parametrize(("text", "says"), [
    ('{"a":1,"a":1}', "a is given twice"), ('[{"b":{"c":1,"d":2,"c":3}}]', "c is given twice"),
    ("1" * 400, "has more than 20 digits"), ('{"a":-' + "9" * 21 + "}", "has more than 20 digits"),
    ("1e400", "1e400 is not a finite number"), ("[NaN]", "not a finite"), ("-Infinity", "not a finite"),
    ("[" * 10**6, "nested too deep"), ('{"a":' * 10**6, "nested too deep"), ("", "Expecting value"),
    (b"\xff", "can't decode"), ("{'a':1}", "Expecting property name"), ('{"a":1} {}', "Extra data"),
])  # fmt: skip
def test_anything_else_is_one_short_line(text: str | bytes, says: str) -> None:
    with pytest.raises(ValueError, match=says) as caught:
        read_json(text)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 200


def test_a_policy_may_have_an_infinite_cap() -> None:
    assert read_json("[Infinity]", finite=False) == [math.inf]


def test_whole_numbers_are_no_text_no_fraction_and_no_truth_value() -> None:
    assert are_whole([1, -2]) and are_whole([])
    assert not any(are_whole(values) for values in (["1"], [1.0], [True], [None], (1,), {"1": 1}, "12", 3))
