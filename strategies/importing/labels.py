"""Labels as written, made class numbers with names."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ldpsim.devices.array_types import IntArray
from ldpsim.strategies.importing.faults import FileFault, WrongFiles, and_more, short

NO_LABEL = ("", "-1", "nan", "none")


def numbered(
    labels: Sequence[Any], stated: tuple[str, ...], place: Callable[[int], str]
) -> tuple[IntArray, tuple[str, ...]]:
    """Return int64 classes (n,), -1 where a person has none, and the names of the classes.

    Empty, -1 and nan are no label. Whole numbers 0 to k - 1 stay as they are, and have no
    names unless they are stated. Other labels are numbered in order and keep their text as name.

    Args:
        labels: One a person: text or numbers.
        stated: The public list of class names, or empty: the labels themselves make it.
        place: Words for a person's place.

    Raises:
        WrongFiles: for labels that are not in the stated list.
    """
    texts = [_text(label) for label in labels]
    here = dict.fromkeys(text for text in texts if text not in NO_LABEL)
    whole = all(text.isdecimal() and str(int(text)) == text for text in here)
    if whole:
        size = len(stated) if stated else len(here)
        if not set(here) <= set(stated) and all(int(text) < size for text in here):
            return np.array([int(text) if text in here else -1 for text in texts], np.int64), stated
    names = stated or tuple(sorted(here, key=int if whole else None))
    number = {name: k for k, name in enumerate(names)}
    outside = [k for k, text in enumerate(texts) if text in here and text not in number]
    if outside:
        k, unknown = outside[0], sorted({texts[k] for k in outside})
        every = shlex.quote(",".join((*names, *unknown)))
        what = f"{short(texts[k])} is none of the classes of --class-names{and_more(len(outside))}"
        remedy = f"write one of {short(', '.join(names))}, or state all: --class-names {every}"
        raise WrongFiles([FileFault(place(k), what, remedy, {"class_names": (*names, *unknown)})])
    return np.array([number.get(text, -1) if text in here else -1 for text in texts], np.int64), names


def is_none(label: Any) -> bool:
    """Return whether a label as written means that the person has none."""
    return not _text(label)


def _text(label: Any) -> str:
    """Return a label's text; a whole number that was written as ``2.0`` is ``2``."""
    text = str(label).strip()
    if text.lower() in NO_LABEL:
        return ""
    if text.endswith(".0") and text[:-2].lstrip("-").isdecimal():
        return _text(text[:-2])
    return text
