"""Choices of an import, each declared once: the command's options, its messages and Python callers read them here."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from ldpsim.strategies.setup.option_spec import declared, option

COLUMNS, FEATURES, PEOPLE = "Columns", "Features", "People"
REFUSE = "refuse"


@dataclass(frozen=True)
class ImportOptions:
    """Choices of an import.

    Args:
        source, target: Columns of an edge's ends in a table; None: ``source`` and ``target``.
        id: Column of a person's name in a table; None: ``id``.
        label: Column of the class; None: the form's usual name.
        ignore: Columns to leave out.
        one_hot: Columns of text, ``COLUMN`` or ``COLUMN=A,B,...`` with the public list of its values.
        class_names: Public list of the classes; empty: taken from the file or the labels.
        feature_range: Public smallest and largest value; None: of the file, else 0 and 1.
        scale: What is done with values outside the range; None: they are refused.
        missing: What is done with empty cells of features.
        duplicates: Which row is taken of a person who has several.
        without_row: What is done with people whom one table names and another one does not.
        masks: ``keep`` or ``drop``: training, validation and test people of the files.
    """

    source: str | None = option(None, "Column of an edge's first end.", COLUMNS, "NAME", shown="source")
    target: str | None = option(None, "Column of an edge's second end.", COLUMNS, "NAME", shown="target")
    id: str | None = option(None, "Column of a person's name.", COLUMNS, "NAME", shown="id")
    label: str | None = option(None, "Column or attribute of the class.", COLUMNS, "NAME", shown="label")
    ignore: tuple[str, ...] = option(
        (), "Column or attribute to leave out (repeatable).", COLUMNS, "NAME", several=True, shown="none"
    )
    one_hot: tuple[str, ...] = option(
        (), "Column of text: each value becomes a feature of 0 and 1. NAME=A,B,... states its values (repeatable).",
        COLUMNS, "NAME", several=True, shown="none",
    )  # fmt: skip
    class_names: tuple[str, ...] = option((), "Public list of classes.", PEOPLE, "A,B,...", shown="those of the labels")
    feature_range: tuple[float, float] | None = option(
        None, "Public range of each feature.", FEATURES, "LOW,HIGH", shown="0,1"
    )
    scale: str | None = option(
        None, "Cut at the range, 1 where not 0, or by range of the data (a release).", FEATURES,
        values=("clip", "binary", "minmax"), shown="values outside are refused",
    )  # fmt: skip
    missing: str = option(
        REFUSE, "Empty cells of features: 0, the column's mean (a release), 0 and one more feature that says so, or "
        "leave the person out.", FEATURES, values=(REFUSE, "zero", "mean", "mark", "drop"),
    )  # fmt: skip
    duplicates: str = option(
        REFUSE, "Person with several rows: take the first, the last, or of each column the first cell that is not "
        "empty. (A repeated edge is one edge.)", PEOPLE, values=(REFUSE, "first", "last", "merge"),
    )  # fmt: skip
    without_row: str = option(
        REFUSE, "People of an edge without a row of features: leave them out, or keep them with empty cells.", PEOPLE,
        values=(REFUSE, "drop", "keep"),
    )  # fmt: skip
    masks: str = option("keep", "Training, validation and test people of the file.", PEOPLE, values=("keep", "drop"))

    def __post_init__(self) -> None:
        for name, spec in declared(ImportOptions).items():
            spec.check(getattr(self, name))
        if self.scale in ("minmax", "binary") and self.feature_range is not None:
            raise ValueError(f"--scale {self.scale}: the range is then 0 to 1; leave --feature-range out")
        span = self.feature_range
        if span is not None and not (math.isfinite(span[0]) and math.isfinite(span[1]) and span[0] < span[1]):
            raise ValueError(f"--feature-range {span[0]:g},{span[1]:g}: two finite numbers, the smaller one first")
        if len(set(self.class_names)) != len(self.class_names):
            raise ValueError("--class-names: a name is given twice")
        for column, values in self.categories.items():
            if len(set(values)) != len(values):
                raise ValueError(f"--one-hot {column}: a value is given twice")

    @cached_property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """Columns of text -> their public values, empty where they are not stated."""
        found = {}
        for text in self.one_hot:
            name, _, values = text.partition("=")
            found[name] = tuple(value.strip() for value in values.split(",")) if values else ()
        return found

    def changed(self, changes: Iterable[dict[str, Any]]) -> ImportOptions:
        """Return the choices with others in their place; names of columns are added to those that are given."""
        specs = declared(ImportOptions)
        values: dict[str, Any] = {name: getattr(self, name) for name in specs}
        names = {name: list(values[name]) for name, spec in specs.items() if spec.several}
        for name, value in chain.from_iterable(change.items() for change in changes):
            if name in names:
                names[name] += value
            else:
                values[name] = value
        return ImportOptions(**values | {name: tuple(dict.fromkeys(several)) for name, several in names.items()})

    def keeps(self, changes: Iterable[dict[str, Any]]) -> bool:
        """Return whether these choices hold every change: two of them may want different values of one option."""
        held = {name: set(getattr(self, name)) for name, spec in declared(ImportOptions).items() if spec.several}
        return all(
            held[name].issuperset(value) if name in held else getattr(self, name) == value
            for name, value in chain.from_iterable(change.items() for change in changes)
        )

    def words(self) -> list[str]:
        """Return the options of the command line that say these choices, quoted for a shell."""
        found: list[str] = []
        for name, spec in declared(ImportOptions).items():
            value = getattr(self, name)
            if not spec.is_given(value):
                continue
            if name == "feature_range":
                value = ",".join(repr(float(end)).removesuffix(".0") for end in value)
            texts = value if spec.several else (value if isinstance(value, str) else ",".join(value),)
            for text in texts:
                found += [spec.option, shlex.quote(text)]
        return found
