"""Public data of a setting, beside its reports: whose they are, and how much of an ordinary person's record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ldpsim.curator.privacy.level import LABEL, VOLUNTEERS

_OF_EVERYBODY = {"features": "features", "adjacency": "links"}


@dataclass(frozen=True)
class PublicData:
    """Data in clear.

    Args:
        parts: Attributes of everybody, keys of :data:`_OF_EVERYBODY`.
        labels: Whether the labels of some people are public.
        volunteers: Whether volunteers give label and features.
        share: Share of all people whose label is in clear; None where nobody says.

    >>> PublicData(("features",), labels=True, share=0.75).words
    "everybody's features, labels of 75 % of people"
    """

    parts: tuple[str, ...] = ()
    labels: bool = False
    volunteers: bool = False
    share: float | None = None

    @property
    def words(self) -> str:
        """All of it in words; empty for nothing."""
        some = "some people" if self.share is None else f"{100 * self.share:.3g} % of people"
        found = [f"everybody's {' and '.join(_OF_EVERYBODY[part] for part in self.parts)}"] if self.parts else []
        found += [f"labels of {some}"] if self.labels else []
        return ", ".join(found + ([f"label and features of {some}, who volunteer"] if self.volunteers else []))

    @property
    def rank(self) -> int:
        """0: nothing of a person who does not volunteer; 1: labels of some people; 2: a part of everybody's record."""
        return 2 if self.parts else 1 if self.labels else 0


def in_clear(holds: Mapping[str, Any], share: float | None = None) -> PublicData:
    """Return what is in clear, by the levels of a guarantee (``privacy.holds`` of a result).

    Args:
        holds: The levels.
        share: Share of all people whose label is public, or who volunteer.
    """
    public = {part for level in holds.values() for part in level["public"]}
    volunteers = any(VOLUNTEERS in level["not_counted"] for level in holds.values())
    return PublicData(tuple(part for part in _OF_EVERYBODY if part in public), LABEL in public, volunteers,
                   share if volunteers or LABEL in public else None)  # fmt: skip
