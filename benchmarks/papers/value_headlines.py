"""Headlines of the papers, and the rows of ``docs/results/value.csv`` that belong to each."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.papers.value_row import ValueRow


@dataclass(frozen=True)
class Headline:
    """A paper's headline: the rows that it is about.

    Args:
        title: Name of the paper and the setting.
        page: Page of the rows.
        claim: The paper's setting, in a sentence.
        of: Columns of the rows and their values.
        x: Budget on the axis of the picture; empty without a panel.
        panel: Columns of the panel's rows, beside ``of``.
        fixed: Part of the budget that is the same in the whole panel.
        log: Whether the axis is logarithmic.
    """

    title: str
    page: str
    claim: str
    of: Mapping[str, str]
    x: str = ""
    panel: Mapping[str, str] = field(default_factory=lambda: {"data set": "cora"})
    fixed: str = ""
    log: bool = False


_BLINK = ("Links are private, with epsilon for a bit of the list and the degree together; features and labels are "
          "public.")  # fmt: skip
HEADLINES = (
    Headline("HoGS, public features", "hogs", "Links are private with epsilon a bit; features and labels are "
             "public (Table III).", {"table": "Table III: public features"}, "epsilon",
             {"data set": "cora", "network": "gcn"}),
    Headline("HoGS, private features", "hogs", "Links and features are private; epsilon is for a bit and a feature "
             "together. Labels are public.", {"table": "Private features"}, "epsilon"),
    Headline("LPGNN, features", "lpgnn", "Features are private, graph and labels are public (Table 3, one split).",
             {"table": "Table 3 (version text)"}),
    Headline("LPGNN, features, new splits", "lpgnn", "The same with a new split in every run, and once more with an "
             "epsilon at which the features are noise alone.",
             {"table": "Table 3 (version text), a new split in every run"}, "eps_x", log=True),
    Headline("LPGNN, features and labels", "lpgnn", "Features and labels are private, the graph is public (the "
             "published code).", {"table": "Features and labels (version ccs), Cora"}, "eps_y", fixed="eps_x 1"),
    Headline("RGNN", "rgnn", "Features and labels are private, the graph is public (Table 1). A feature vector loses "
             "m eps_x with m = 10.", {"table": "Table 1"}, "eps_y", fixed="eps_x 1"),
    Headline("Solitude", "solitude", "Links and features are private, labels are public (Table 3, eps_x 1).",
             {"table": "Table 3 (eps_x 1)"}, "eps_a", {"data set": "cora", "network": "sage"}),
    Headline("Blink-hard", "blink", _BLINK, {"model": "blink-hard"}, "epsilon", {"data set": "cora", "network": "gcn"}),
    Headline("Blink-soft", "blink", _BLINK, {"model": "blink-soft"}, "epsilon", {"data set": "cora", "network": "gcn"}),
)  # fmt: skip


def rows_of(headline: Headline, rows: Sequence[ValueRow]) -> list[ValueRow]:
    """Return the rows of a headline."""
    wanted = {"page": headline.page, **headline.of}
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def points_of(headline: Headline, rows: Sequence[ValueRow]) -> list[tuple[float, ValueRow]]:
    """Return the points of a headline's panel: budget and row, by budget."""
    points = []
    for row in rows_of(headline, rows) if headline.x else ():
        parts = row["budget"].split(", ")
        budget = dict(part.split(" ") for part in parts)
        fits = not headline.fixed or headline.fixed in parts
        if fits and all(row[name] == value for name, value in headline.panel.items()):
            points.append((float(budget[headline.x]), row))
    return sorted(((x, row) for x, row in points if x < math.inf), key=lambda point: point[0])
