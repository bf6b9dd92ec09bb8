"""Page of growth: exponents, tables, and what moved between two files."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from benchmarks import RESULTS
from benchmarks.speed.scale_page import compared, exponent, page


def _run(people: int, cpu: float, **changes: Any) -> dict[str, Any]:
    phases = {"population": {"cpu": 1.0, "wall": 1.0, "peak": 300.0}, "start": {"cpu": 0.5, "wall": 1.0, "peak": 1.0},
              "train": {"cpu": cpu - 1.5, "wall": 1.0, "peak": 400.0}}  # fmt: skip
    return {
        "method": "lpgnn", "people": people, "graph": "generated-v1", "epochs": 100, "drawn": False, "nulls": False,
        "phases": phases, "cpu": cpu, "peak": 400.0, "test": 0.5, "uplink_bytes": 54 * people, "ledger_bytes": 0,
        "folder_bytes": 10 * people,        "load": 1.0, **changes,
    }  # fmt: skip


def _kept(*runs: dict[str, Any]) -> dict[str, Any]:
    machine = {"processor": "a processor", "cores": 2, "memory_gib": 24, "python": "3.11", "torch": "2"}
    return {"machine": machine, "runs": list(runs)}


@pytest.mark.parametrize("slope", [0.5, 1.0, 2.0])
def test_an_exponent_is_the_slope_from_30_000_on(slope: float) -> None:
    people = [3_000, 30_000, 100_000, 1_000_000]
    seconds = [1e9, *(n**slope for n in people[1:])]
    assert exponent(people, seconds) == pytest.approx(slope)
    assert exponent(people[:2], seconds[:2]) is None


def test_the_page_names_every_phase_and_counts_the_rest_as_population() -> None:
    text = page(_kept(_run(30_000, 10.0), _run(300_000, 100.0)))
    assert "| 30,000 | 1.5 | 8.5 | 10.0 | 400 | 54 | - | 10 | 50.0 |" in text
    assert "| exponent | 0.00 | 1.06 | 1.00 | | | | | |" in text
    assert "The largest run has 300,000 people" in text


def test_a_machine_that_is_not_the_pages_is_named() -> None:
    other = {"processor": "other processor", "cores": 3, "memory_gib": 5, "python": "3.12", "torch": "2"}
    text = page(_kept(_run(30_000, 10.0), _run(30_000, 10.0, method="vote", machine=other)))
    said = "## `vote` on generated-v1, 5 % volunteers\n\nOn another machine, shared with other work too: "
    assert said + "other processor, 3 cores, 5 GiB, Python 3.12.\n\n| people" in text
    assert text.count("On another machine") == 1


def test_what_moved_is_named_with_its_ratio() -> None:
    base = _kept(_run(30_000, 10.0), _run(100_000, 30.0))
    assert compared(base, copy.deepcopy(base)) == ["nothing moved by more than a tenth"]
    lines = compared(base, _kept(_run(30_000, 20.0, peak=800.0), _run(300_000, 1.0)))
    start = "`lpgnn` on generated-v1, 100 epochs"
    assert f"{start}, 30,000 people: all 10.0 -> 20.0 CPU s (2.00 x)" in lines
    assert f"{start}, 30,000 people: peak 400.0 -> 800.0 MiB (2.00 x)" in lines
    assert f"{start}, 100,000 people: only in the base file" in lines
    assert f"{start}, 300,000 people: only in the new file" in lines


@pytest.mark.skipif(not (RESULTS / "scale.json").is_file(), reason="nothing was measured yet")
def test_the_page_in_the_documents_is_that_of_its_figures() -> None:
    assert (RESULTS / "scale.md").read_text() == page(json.loads((RESULTS / "scale.json").read_text()))
