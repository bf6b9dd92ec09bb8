"""Labels as written, made class numbers."""

from __future__ import annotations

from typing import Any

import pytest

from strategies.importing.labels import numbered


@pytest.mark.parametrize(
    ("labels", "stated", "classes", "names"),
    [
        (["1", "0", "2", "-1"], (), [1, 0, 2, -1], ()),
        ([1.0, 0.0, float("nan"), None], (), [1, 0, -1, -1], ()),
        (["1.0", "0.0", ""], (), [1, 0, -1], ()),
        (["red", " blue ", "", "NaN", "red"], (), [1, 0, -1, -1, 1], ("blue", "red")),
        (["10", "9", "2"], (), [2, 1, 0], ("2", "9", "10")),
        (["1", "2"], (), [0, 1], ("1", "2")),
        (["07", "7"], (), [0, 1], ("07", "7")),
        (["red", ""], ("green", "red", "blue"), [1, -1], ("green", "red", "blue")),
        (["2", "0"], ("a", "b", "c"), [2, 0], ("a", "b", "c")),
        (["0", "1", "1"], ("1", "0"), [1, 0, 0], ("1", "0")),
        (["5", "3"], ("3", "5"), [1, 0], ("3", "5")),
        (["", "-1"], (), [-1, -1], ()),
    ],
)
def test_classes_and_names(labels: list[Any], stated: tuple[str, ...], classes: list[int], names: tuple) -> None:
    found, named = numbered(labels, stated, str)
    assert (found.tolist(), named) == (classes, names)


@pytest.mark.parametrize("labels", [["red", "pink"], ["0", "3"]])
def test_a_label_outside_the_stated_list(labels: list[str]) -> None:
    with pytest.raises(ValueError, match=r"row \d: '(pink|0)' is none of the classes of --class-names: 'red, blue'"):
        numbered(labels, ("red", "blue"), lambda row: f"row {row}")
