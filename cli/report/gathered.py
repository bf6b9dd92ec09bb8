"""Results that a page shows, and what it does not show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ldpsim.strategies.outputs.groups import Group, groups_of
from ldpsim.strategies.outputs.sums import AskedInAll, in_all


@dataclass(frozen=True)
class Problem:
    """Something that is not shown, and the reason, in one line each."""

    what: str
    why: str


@dataclass
class Gathered:
    """Content of the page.

    Args:
        records: Results by their folder: a comparison's in its order, others in the order of their folders.
        failed: Methods that failed.
        left_out: Files that are not shown.
        match: ``level``, ``target`` and ``unmatched`` of a comparison, None without ``--match``.
    """

    records: dict[Path, Mapping[str, Any]] = field(default_factory=dict)
    failed: list[Problem] = field(default_factory=list)
    left_out: list[Problem] = field(default_factory=list)
    match: dict[str, Any] | None = None

    @property
    def groups(self) -> list[Group]:
        """The results in groups that differ in their seeds alone."""
        return groups_of(list(self.records.values()))

    @property
    def sums(self) -> list[AskedInAll]:
        """Sums of what holds over all collections of people who were really asked more than once."""
        return list(in_all(self.records.values()).values())
