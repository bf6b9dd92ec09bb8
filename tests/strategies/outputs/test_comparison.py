"""The sentence on a comparison: which method is best at an equal loss, by how much, and what asking gains."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.devices import atomic_files
from ldpsim.strategies.outputs.comparison import accuracy_interval, finding, smallest_difference
from ldpsim.strategies.outputs.groups import groups_of
from tests.strategies.outputs.test_tables import result


def said(*records: dict[str, Any], match: dict[str, Any] | None = None) -> str:
    return finding(groups_of(records), match).text


def test_the_best_method_at_an_equal_loss_and_the_next_one() -> None:
    """750 people each: the difference of .8 and .6 is measurable, that of .8 and .79 is not."""
    hogs, vote, raw = result("hogs", 0.6, 0), result("vote", 0.8, 0), result("raw", 0.9, 0, loss=None)
    vote["verdict"]["margin"] = {"value": 0.4, "low": 0.3, "high": 0.5}
    assert said(hogs, vote, raw) == (
        "At equal epsilon for a friendship (7), vote is 20.0 points above the next method, hogs. "
        "With vote, asking gains +40.0 points over graph alone (95 % CI +30.0 to +50.0): yes."
    )
    close = said(result("hogs", 0.79, 0), vote, raw)
    assert close.startswith(
        "At equal epsilon for a friendship (7), vote is 1.0 points above hogs, which is not measurable"
    )
    assert said(vote) == "Asking gains +40.0 points over graph alone (95 % CI +30.0 to +50.0): yes."
    vote["verdict"]["device"] = {"best": "device_alone", "margin": {"value": 0.003, "low": -0.01, "high": 0.016}}
    assert said(vote).endswith(
        ": yes; on the device +0.3 points over the device alone (95 % CI -1.0 to +1.6): not measurable (--repeats 5 "
        "would show 3 points)."
    )  # a yes alone would sell reports whose gain a device has without any


def test_where_losses_differ_it_says_how_to_make_them_equal() -> None:
    hogs, vote = result("hogs", 0.6, 0), result("vote", 0.8, 0)
    for record, loss in ((hogs, 900.0), (vote, 2.0)):
        record["privacy"]["holds"]["user"] |= {"status": "bounded", "value": loss}
        record["privacy"]["holds"]["relationship"] |= {"value": loss}
    assert said(hogs, vote) == (
        "Epsilons differ, for a person 2 (vote) to 900 (hogs), so accuracy alone does not rank the methods: "
        "`--match person 2` makes them equal."
    )


def test_methods_that_cannot_have_the_loss_are_named_with_the_reason() -> None:
    groups = groups_of([result("hogs", 0.6, 0), result("vote", 0.8, 0), result("sbp", 0.9, 0, loss=9.0)])
    found = finding(groups, {"level": "relationship", "target": 7.0, "unmatched": {"sbp": "no budget gives it"}})
    assert found.text.startswith("At equal epsilon for a friendship (7), vote is 20.0 points above")  # and not sbp
    assert found.unmatched == [("sbp", "no budget gives it")] and not found.equal


def test_the_difference_that_chance_explains() -> None:
    """One score of 750 people: 1.96 sqrt(2 * .25 / 750); of three scores Student's quantile of two degrees."""
    (one,), (other,) = groups_of([result("hogs", 0.5, 0)]), groups_of([result("vote", 0.5, 0)])
    assert smallest_difference(one, other) == pytest.approx(1.95996 * (0.5 / 750) ** 0.5, rel=1e-4)
    three = groups_of([result("hogs", test, seed) for seed, test in enumerate((0.5, 0.6, 0.7))])[0]
    assert smallest_difference(three, three) == pytest.approx(4.30265 * 0.1 * (2 / 3) ** 0.5, rel=1e-4)
    interval = accuracy_interval(three)
    assert interval is not None and interval.high == pytest.approx(0.6 + 4.30265 * 0.1 / 3**0.5, rel=1e-4)


def test_a_comparison_reads_each_result_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was read by the sweep, again for the table, and a third time for the page."""
    command = ["compare", "hogs", "raw", "--clients", "40", "--set", "epochs=2", "--no-nulls", "--out", str(tmp_path),
               "--workers", "1"]  # fmt: skip
    assert CliRunner().invoke(app, command).exit_code == 0
    read, real = list[str](), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path.name) or real(path))
    opened, real_read = list[str](), atomic_files.read_file

    def counted(path: Path, *limit: int) -> bytes:
        opened.append(path.name)
        return real_read(path, *limit)

    for module in ("ldpsim.strategies.results.folder", "ldpsim.cli.report.gather"):
        monkeypatch.setattr(f"{module}.read_file", counted)
    assert CliRunner().invoke(app, command).exit_code == 0
    assert opened.count("result.json") + read.count("result.json") == 2
