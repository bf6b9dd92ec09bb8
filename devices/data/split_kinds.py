"""Forms of ``--split``. Imports nothing: the command line reads it."""

from __future__ import annotations

import re

NAMED = ("random", "split42", "file")
FORMS = "random, split42, file, percentages as 75/10/15, or 20-each/500: people of each class who train, who validate"


def percentages(kind: str) -> tuple[int, ...] | None:
    """Return the percentages of training, validation and test people, whose sum is 100; None for another form.

    >>> percentages("75/10/15"), percentages("75/10/10"), percentages("100/0/0")
    ((75, 10, 15), None, None)
    """
    if not re.fullmatch(r"\d{1,2}/\d{1,2}/\d{1,2}", kind, re.ASCII):
        return None
    shares = tuple(int(share) for share in kind.split("/"))
    return shares if sum(shares) == 100 and min(shares) > 0 else None


def people_of_each_class(kind: str) -> tuple[int, int] | None:
    """Return the number of training people of each class, and of all validation people; None for another form.

    >>> people_of_each_class("20-each/500"), people_of_each_class("0-each/500")
    ((20, 500), None)
    """
    found = re.fullmatch(r"([1-9]\d{0,8})-each/([1-9]\d{0,8})", kind, re.ASCII)
    return None if found is None else (int(found[1]), int(found[2]))


def is_kind(kind: str) -> bool:
    """Return whether a text is a form of ``--split``."""
    return kind in NAMED or percentages(kind) is not None or people_of_each_class(kind) is not None
