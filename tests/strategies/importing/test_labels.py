"""Labels as written, made class numbers."""

from __future__ import annotations

from typing import Any

import pytest

from ldpsim.strategies.importing.faults import WrongFiles
from ldpsim.strategies.importing.labels import numbered


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
    with pytest.raises(ValueError, match=r"row \d: '(pink|0)' is none of the classes of --class-names"):
        numbered(labels, ("red", "blue"), lambda row: f"row {row}")


def test_all_labels_outside_the_list_are_in_one_fault() -> None:
    with pytest.raises(WrongFiles) as caught:
        numbered(["red", "pink", "grey", "pink"], ("red", "blue"), lambda row: f"p.csv: row {row}")
    (fault,) = caught.value.faults
    assert fault.line == (
        "p.csv: row 1: 'pink' is none of the classes of --class-names (3 rows); write one of 'red, blue', or state "
        "all: --class-names red,blue,grey,pink"
    )
    assert fault.change == {"class_names": ("red", "blue", "grey", "pink")}
