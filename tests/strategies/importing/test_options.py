"""Choices of an import: declared once, changed by faults, and said as options of the command line.

It covers ``strategies/importing/faults.py`` and ``strategies/importing/__init__.py`` too.
"""

from __future__ import annotations

import pytest

from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.setup.option_spec import declared


def test_names_of_columns_are_added_and_other_choices_replaced() -> None:
    made = ImportOptions(ignore=("a",), missing="mean").changed(
        [{"ignore": ("b",)}, {"ignore": ("a",), "missing": "drop"}]
    )
    assert (made.ignore, made.missing) == (("a", "b"), "drop")


def test_words_of_the_command_line() -> None:
    assert ImportOptions().words() == []
    made = ImportOptions(
        source="from", label="my class", ignore=("a", "b"), one_hot=("city=Rome,Oslo",), class_names=("x", "y z"),
        feature_range=(0.5, 1000000.25), masks="drop",
    )  # fmt: skip
    assert " ".join(made.words()) == (
        "--source from --label 'my class' --ignore a --ignore b --one-hot city=Rome,Oslo --class-names 'x,y z' "
        "--feature-range 0.5,1000000.25 --masks drop"
    )


@pytest.mark.parametrize("name", [name for name, spec in declared(ImportOptions).items() if spec.values])
def test_other_words_are_refused_with_the_list(name: str) -> None:
    spec = declared(ImportOptions)[name]
    with pytest.raises(ValueError, match=f"^{spec.option} other: must be one of {', '.join(spec.values)}$"):
        ImportOptions(**{name: "other"})
    for value in spec.values:
        assert getattr(ImportOptions(**{name: value}), name) == value
