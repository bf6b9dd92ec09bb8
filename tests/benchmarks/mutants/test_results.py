"""Results of a mutation run.

Covers benchmarks/mutants/page.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import binomtest

from benchmarks.mutants.page import END, START, summary, tables, write_page
from benchmarks.mutants.results import Known, Result, append, known, read, wilson

ONE = Result("n", "h", "curator/privacy", "curator/m.py", "f", "constant", 3, "x = 1", "x = 2", False, "", 1.0, 0.9)


@pytest.mark.parametrize(("hits", "number"), [(0, 5), (97, 100), (388, 400), (8, 8)])
def test_the_interval_is_wilsons(hits: int, number: int) -> None:
    exact = binomtest(hits, number).proportion_ci(0.95, method="wilson")
    assert wilson(hits, number) == pytest.approx((exact.low, exact.high), abs=1e-6)


def test_a_stopped_run_loses_half_a_line_alone(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    assert read(path) == {}
    append(path, ONE)
    path.write_text(f"{path.read_text()}{{'na")
    assert read(path) == {"n": [ONE]}
    append(path, replace(ONE, killed=True, by="test_m.py::test_f"))
    append(path, replace(ONE, name="other"))
    assert [len(found) for found in read(path).values()] == [2, 1]


def test_known_survivors_have_a_kind_and_a_reason(tmp_path: Path) -> None:
    known()
    path = tmp_path / "known.toml"
    entry = '[[survivor]]\nmodule = "m.py"\nfunction = "f"\nbefore = "x = 1"\nafter = "x = 2"\nkind = "equivalent"\n'
    path.write_text(f'{entry}reason = "x is not read"\n')
    assert known(path) == {("m.py", "f", "x = 1", "x = 2"): Known("equivalent", "x is not read")}
    path.write_text(f'{entry}reason = ""\n')
    with pytest.raises(ValueError, match="kind or reason"):
        known(path)


def test_the_score_counts_all_and_those_that_somebody_sees(tmp_path: Path) -> None:
    killed = replace(ONE, name="k", killed=True, by="test_m.py::test_f")
    later = [replace(ONE, name="l", before="y = 1"), replace(killed, name="l", by="test_m.py::test_new")]
    results = [[ONE], [killed], later, [replace(ONE, name="s", before="z = 1")]]
    same = {("curator/m.py", "f", "x = 1", "x = 2"): Known("equivalent", "x is not read")}
    text = "\n".join(tables(results, same, 14))
    for row in ("curator", "**all**"):
        assert f"| {row} | 4 | 1 | 25.0 % | 4.6 % to 69.9 % | 1 | 33.3 % | 6.1 % to 79.2 % |" in text  # the first run
        assert f"| {row} | 4 | 2 | 50.0 % | 15.0 % to 85.0 % | 1 | 66.7 % | 20.8 % to 93.9 % |" in text  # today
    unseen = {key: Known("unseen", known.reason) for key, known in same.items()}
    assert "\n".join(tables(results, unseen, 14)) == text.replace("Equivalent:", "Unseen:")
    left = {key: Known("left", known.reason) for key, known in same.items()}
    assert "| **all** | 4 | 1 | 25.0 % | 4.6 % to 69.9 % | 0 | 25.0 % |" in "\n".join(tables(results, left, 14))
    for said in ("Equivalent: x is not read", "Killed today by `test_m.py::test_new`", "No test sees it."):
        assert said in text
    assert "- z = 1" in summary(results, same, 4) and "- x = 1" not in summary(results, same, 4)
    page = tmp_path / "testing.md"
    page.write_text(f"before\n{START}\nold\n{END}\nafter\n")
    write_page(results, same, 14, page)
    assert page.read_text() == f"before\n{START}\n{text}\n{END}\nafter\n"
