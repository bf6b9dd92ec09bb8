"""Choices of an import, and the faults of its files."""

from __future__ import annotations

import csv
import io
import math
import reprlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ldpsim.strategies.setup.option_spec import option, set_checked

COLUMNS, FEATURES, PEOPLE = "Columns", "Features", "People"
REFUSE, UNKNOWN = "refuse", "unknown"


class WrongFiles(ValueError):
    """All faults of the files, a line each.

    Args:
        faults: The lines: where, what is wrong, and what mends it.
    """

    def __init__(self, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join(self.faults))


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
        decimal: Sign before the decimals of a number.
        scale: What is done with values outside the range; None: they are refused.
        missing: What is done with empty cells of features.
        ignore_case: Whether texts that differ in case alone are one: names, classes, values.
        duplicates: Which row is taken of a person who has several.
        without_row: What is done with people whom one table names and another one does not.
        masks: ``keep`` or ``drop``: training, validation and test people of the files.
    """

    source: str | None = option(None, "Column of an edge's first end", COLUMNS, "NAME", shown="source")
    target: str | None = option(None, "Column of an edge's second end", COLUMNS, "NAME", shown="target")
    id: str | None = option(None, "Column of a person's name", COLUMNS, "NAME", shown="id")
    label: str | None = option(None, "Column or attribute of the class", COLUMNS, "NAME", shown="label")
    ignore: tuple[str, ...] = option((), "Column or attribute to leave out; repeatable", COLUMNS, "NAME", several=True)
    one_hot: tuple[str, ...] = option(
        (), "Column of text (NAME=A,B,... for its values)", COLUMNS, "NAME", several=True,
    )  # fmt: skip
    class_names: tuple[str, ...] = option((), "Public list of classes", PEOPLE, "A,B,...", shown="of the labels")
    feature_range: tuple[float, float] | None = option(
        None, "Public range of each feature", FEATURES, "LOW,HIGH", shown="0,1"
    )
    decimal: str = option(".", "Sign before decimals", FEATURES, "SIGN", values=(".", ","))
    scale: str | None = option(
        None, "clip, binary, or minmax (a release)", FEATURES, "HOW", values=("clip", "binary", "minmax"),
        shown="refuse outside",
    )  # fmt: skip
    missing: str = option(
        REFUSE, "Empty cells: unknown, zero, mean, drop", FEATURES, "HOW",
        values=(REFUSE, UNKNOWN, "zero", "mean", "drop"),
    )  # fmt: skip
    duplicates: str = option(
        REFUSE, "Person with several rows: first or last", PEOPLE, "HOW", values=(REFUSE, "first", "last")
    )
    without_row: str = option(
        REFUSE, "People of edges alone: drop or keep", PEOPLE, "HOW", values=(REFUSE, "drop", "keep"),
    )  # fmt: skip
    ignore_case: bool = option(False, "Texts in another case are one: Rome, ROME", COLUMNS)
    masks: str = option("keep", "Training, validation and test people", PEOPLE, values=("keep", "drop"))

    def __post_init__(self) -> None:
        set_checked(self)
        if self.scale in ("minmax", "binary") and self.feature_range is not None:
            raise ValueError(f"--scale {self.scale}: the range is then 0 to 1; leave --feature-range out")
        span = self.feature_range
        if span is not None and not (math.isfinite(span[0]) and math.isfinite(span[1]) and span[0] < span[1]):
            raise ValueError(f"--feature-range {span[0]:g},{span[1]:g}: two finite numbers, the smaller one first")
        for name, values in {"--class-names": self.class_names, **self.categories}.items():
            if len(set(values)) != len(values):
                raise ValueError(f"{name}: a name is given twice")

    @cached_property
    def categories(self) -> dict[str, tuple[str, ...]]:
        """Columns of text -> their public values, empty where they are not stated."""
        columns = {}
        for text in self.one_hot:
            name, _, values = text.partition("=")
            columns[name] = of_commas(values) if values else ()
        return columns


def of_commas(text: str) -> tuple[str, ...]:
    """Read texts with commas between them; one that has a comma itself stands in double quotes.

    >>> of_commas('A, "B, C"')
    ('A', 'B, C')
    """
    return tuple(part.strip() for part in next(csv.reader([text], skipinitialspace=True), ()))


def in_commas(texts: Iterable[str]) -> str:
    """Return texts as :func:`of_commas` reads them."""
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(texts)
    return line.getvalue()


def and_more(number: int, words: str = "rows") -> str:
    """Return the words after the first of several: `` (3 rows)``, or nothing for one.

    >>> and_more(1), and_more(1200)
    ('', ' (1,200 rows)')
    """
    return f" ({number:,} {words})" if number > 1 else ""


def short(text: Any) -> str:
    """Return a text from a file in quotes, cut where it is long."""
    return reprlib.repr(text)
