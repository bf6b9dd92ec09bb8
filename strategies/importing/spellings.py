"""Spellings of one text: words for an empty cell, and texts that differ in upper and lower case alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from ldpsim.strategies.importing.options import REFUSE, UNKNOWN, ImportOptions, and_more, short

if TYPE_CHECKING:
    from ldpsim.strategies.importing.files import Table

MISSING = ("", "na", "n/a", "nan", "null", "none", "?", "-", UNKNOWN)  # texts of an empty cell, in small letters
_CLASSES = ("", "none")  # a class may be called None; an empty label is none without any option


def is_missing(texts: Any, stated: Iterable[str]) -> Any:
    """Return where a Series of texts has an empty cell; a text that is stated as a value is one.

    >>> is_missing(pd.Series(["", "N/A", "-", "x"]), ["-"]).tolist()
    [True, True, False, False]
    """
    return texts.str.lower().isin(MISSING) & ~texts.isin([*stated])


def words_for_missing(texts: Any) -> str:
    """Return the words for the empty cells among some texts: ``empty``, and other spellings where there are some.

    >>> words_for_missing(["x", "", "n/a", "n/a", "-"]), words_for_missing(["x", ""])
    ("empty, '-' or 'n/a'", 'empty')
    """
    spelt = {text.strip() for text in texts if isinstance(text, str)}  # an attribute that a node lacks has none
    found = sorted(text for text in spelt if text.lower() in MISSING[1:])
    spellings = ["empty", *map(repr, found[:4])]
    return " or ".join([", ".join(spellings[:-1]), spellings[-1]]) if found else "empty"


def is_no_label(
    place: Callable[[Any], str], texts: Any, options: ImportOptions, faults: list[str], notes: list[str]
) -> Any:
    """Return where a person has no label; a word such as ``n/a`` is a fault until an option says what it is.

    Args:
        place: Returns the words for a row.
        texts: Series of the labels.
        options: The choices.
        faults, notes: Lists to which lines are added.
    """
    words = is_missing(texts, options.class_names) & ~texts.str.lower().isin(_CLASSES)
    if options.missing == REFUSE and words.any():
        found = sorted({*texts[words]})
        faults.append(
            f"{place(words.idxmax())}: {short(found[0])} may be a class or no label{and_more(int(words.sum()))}"
            "; --missing unknown takes it as no label, --class-names A,B,... states it as a class"
        )
    elif words.any():
        found = sorted({*texts[words]})
        notes.append(f"{place(words.idxmax())}: read as no label: {', '.join(found)}{and_more(int(words.sum()))}")
    return texts.eq("") | words


def cases(texts: Iterable[str], stated: Sequence[str] = ()) -> dict[str, str]:
    """Return the spelling that is kept of each text which differs from another one in case alone.

    It is the one that is stated, else the most frequent one, else the first one; two that are stated are two values.

    >>> cases(["Regular", "regular", "regular", "new"]), cases(["A", "a"], ["A", "a"]), cases(["a"], ["A"])
    ({'Regular': 'regular'}, {}, {'a': 'A'})
    """
    counts = pd.Series([*texts], dtype=object).value_counts()
    kept: dict[str, str] = {}
    for text in (*stated, *counts.index):
        kept.setdefault(text.casefold(), text)
    return {text: kept[text.casefold()] for text in counts.index
            if kept[text.casefold()] != text and text not in stated}  # fmt: skip


def spellings_in_words(spellings: dict[str, str]) -> str:
    """Return the words for texts that differ in case alone: ``'A' and 'a' differ in case alone``."""
    other, kept = next(iter(spellings.items()))
    return f"{short(other)} and {short(kept)} differ in case alone{and_more(len(spellings), 'spellings')}"


def of_one_case(
    place: Callable[[Any], str], texts: Any, stated: Sequence[str], options: ImportOptions, faults: list[str],
    notes: list[str], *, states: str,
) -> Any:  # fmt: skip
    """Return a Series of texts in which those that differ in case alone are one; a fault without ``--ignore-case``.

    Args:
        place: Returns the words for a row.
        texts: The texts.
        stated: Public values, which stay as they are.
        options: The choices.
        faults, notes: Lists to which lines are added.
        states: Option that states values, for the fault.
    """
    others = cases(texts[texts != ""], stated)
    if not others:
        return texts
    changed = texts.isin([*others])
    where = place(changed.idxmax())
    if options.ignore_case:
        other, kept = next(iter(others.items()))
        notes.append(f"{where}: {short(other)} is read as {short(kept)}{and_more(int(changed.sum()))} (--ignore-case)")
        return _replaced(texts, others)
    remedy = f"--ignore-case reads them as {short(next(iter(others.values())))}"
    remedy += f", {states} keeps them apart" if not stated else ""
    faults.append(f"{where}: {spellings_in_words(others)}; {remedy}")
    return texts if not stated else _replaced(texts, others)  # what is not stated would be told a second time


def names_of_one_case(tables: Sequence[Table], options: ImportOptions, notes: list[str]) -> list[Table]:
    """Return tables in which people's names that differ in case alone are one with ``--ignore-case``.

    The spelling of the first table of people is kept. Without the option such names are people of their own, with a
    note.
    """
    kept: dict[str, str] = {}
    others: dict[str, str] = {}
    for table in sorted(tables, key=lambda table: table.of_edges):  # people first
        for name in pd.unique(table.cells[[*table.keys]].to_numpy(object).ravel()):
            if kept.setdefault(name.casefold(), name) != name:
                others[name] = kept[name.casefold()]
    if not others:
        return [*tables]
    if not options.ignore_case:
        notes.append(f"names of people: {spellings_in_words(others)}; --ignore-case reads them as one person")
        return [*tables]
    notes.append(f"names of people in another case, read as one: {len(others):,} (--ignore-case)")
    return [replace(table, cells=table.cells.assign(**{key: _replaced(table.cells[key], others) for key in table.keys}))
            for table in tables]  # fmt: skip


def _replaced(texts: Any, others: dict[str, str]) -> Any:
    """Return a Series with other texts; pandas' own replacement compares each text with each key."""
    return texts.map(lambda text: others.get(text, text))
