"""First screen of a run: 17 lines and 140 words at most on 80 columns, whatever the method; nothing is cut on others.

A group that is worse off has one more line, of at most 12 words.

Covers summary.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from ldpsim.cli.summary import first_screen
from ldpsim.curator.methods import BUILT_IN
from ldpsim.devices.datasets.generated import generate
from ldpsim.strategies.experiments.compare import guarantee_before
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.options import RunOptions

LINES, WORDS = 17, 140
PEOPLE = generate(3600, seed=0)


def shown(record: Mapping[str, Any], width: int) -> list[str]:
    screen = Console(width=width, highlight=False)
    folder = Path("runs") / f"{record['method']}-generated-0123456789ab-0"
    with screen.capture() as capture:
        following = f"ldpsim compare {record['method']} hogs sbp vote raw --clients 3000 --epsilon 4"
        screen.print(first_screen(record, folder=folder, next_command=following, more=True), crop=False)
    return capture.get().splitlines()


@pytest.mark.parametrize(
    ("method", "chance"), [*((method, False) for method in sorted(BUILT_IN)), ("hogs", True), ("vote", True)]
)
def test_it_is_short_for_every_method(with_nulls: dict[str, Any], method: str, chance: bool) -> None:
    found = guarantee_before(set_up(RunOptions(method=method, clients=len(PEOPLE)), population=PEOPLE))
    accuracy = {**with_nulls["accuracy"], "per_repeat": [0.6] * 10, "std": 0.0141}
    with_nulls["verdict"]["above_chance"] = not chance
    record = {**with_nulls, "method": method, "accuracy": accuracy}
    record["nulls"] = {**with_nulls["nulls"], "device_alone": {"test": 0.672, "std": None}}
    record["privacy"] = {**with_nulls["privacy"], **found.to_dict()}
    lines = shown(record, 80)
    words = [word for line in lines for word in line.split() if any(letter.isalnum() for letter in word)]
    assert len(lines) <= LINES and len(words) <= WORDS, "\n".join(lines)
    for width in (40, 80, 120):
        lines = shown(record, width)
        assert not any("…" in line for line in lines)
        assert max(len(line) for line in lines if not line.startswith(("Result: ", "Next: "))) <= width


def test_a_group_that_is_worse_off_costs_one_line(with_nulls: dict[str, Any]) -> None:
    share = {"value": 0.5, "low": 0.4, "high": 0.6}
    row = {"by": "labelled_neighbour", "group": "no", "people": 40, "worse": True, "best_null": None,
           "more_lost": {"value": 0.2, "low": 0.1}, "method": share, "without_noise": share}  # fmt: skip
    groups = {"rows": [{**row, "by": "everybody", "worse": None}, {**row, "without_noise": {**share, "value": 0.6}}]}
    without, found = shown(with_nulls, 80), shown({**with_nulls, "groups": groups}, 80)
    added = [line.strip() for line in found if line not in without]
    assert added == ["worse off: no labelled neighbour -10.0 points by noise (all +0.0)"]
    assert len(found) == len(without) + 1
    fair = {"rows": [{**each, "worse": False} for each in groups["rows"]]}
    assert shown({**with_nulls, "groups": fair}, 80) == without
