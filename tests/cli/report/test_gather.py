from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.report.gather import gather

Write = Callable[..., Path]


def test_results_below_a_folder_in_order(comparison: Path) -> None:
    found = gather([comparison])
    assert [entry.row["method"] for entry in found.results] == ["dp-fedavg", "hogs", "lpgnn", "mlp", "raw"]
    assert not found.left_out and not found.failed and found.match is None
    # twice the same folder, and one run's own, are no more results
    assert len(gather([comparison, comparison / "hogs-0", comparison.parent]).results) == 5
    assert [entry.row["method"] for entry in gather([comparison / "raw-0"]).results] == ["raw"]


def test_folders_of_devices_are_not_searched(comparison: Path, write_result: Write) -> None:
    write_result(comparison / "hogs-0", "state")
    write_result(comparison / "hogs-0", "reports-1")
    assert len(gather([comparison]).results) == 5


def test_no_result_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no result\.json there"):
        gather([tmp_path])
    with pytest.raises(ValueError, match="nowhere: there is no such folder"):
        gather([tmp_path / "nowhere"])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
        (b"[]", "no JSON object"),
        (b"{}", "schema None, this version reads schema 1"),
        (b'{"schema": 2}', "schema 2, this version reads schema 1"),
        (b'{"schema": true}', "schema True"),
        (b'{"schema": "<b>1</b>"}', "schema <b>1</b>"),
        (b'{"schema": 1}', "privacy.trust is missing"),
        (b'{"schema": 1, "x": ' + b"[" * 200_000 + b"]" * 200_000 + b"}", "nested too deeply"),
        (b'{"schema": 1, "x": ' + b"9" * 10_000 + b"}", "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_is_shown(content: bytes, said: str, comparison: Path) -> None:
    bad = comparison / "bad-0"
    bad.mkdir()
    (bad / "result.json").write_bytes(content)
    found = gather([comparison])
    assert len(found.results) == 5
    (problem,) = found.left_out
    assert problem.what == "bad-0" and said in problem.why
    with pytest.raises(ValueError, match=r"none of 1 result\.json can be shown \(bad-0: "):
        gather([bad])


def test_other_schemas_and_populations_are_left_out_and_said(comparison: Path, write_result: Write) -> None:
    write_result(comparison, "old-0", {"schema": 0})
    for number in range(2):
        others = {"dataset/digest": "00" * 32, "dataset/name": "cora", "dataset/nodes": 2708}
        write_result(comparison, f"elsewhere-{number}", others)
    found = gather([comparison])
    assert len(found.results) == 5
    by_name = {problem.what: problem.why for problem in found.left_out}
    assert "schema 0" in by_name["old-0"]
    assert "2 results with a different population (cora, 2,708 people)" in by_name["elsewhere-0, elsewhere-1"]


def test_a_run_without_a_result_is_said(comparison: Path) -> None:
    (comparison / "privgnn-0").mkdir()
    (comparison / "privgnn-0" / "config.toml").write_text("")
    (problem,) = gather([comparison]).left_out
    assert problem.what == "privgnn-0" and "interrupted" in problem.why


def test_failures_of_a_sweep_and_of_a_comparison(comparison: Path) -> None:
    (comparison / "table.csv").write_text('cell,status,method,error\n1,failed,rgnn,"no, labels"\n2,done,hogs,\n')
    (failed,) = gather([comparison]).failed
    assert (failed.what, failed.why) == ("rgnn", "no, labels")
    document = {"format": 1, "methods": ["raw", "hogs"], "failures": {"blink": "no features"},
                "match": {"level": "user", "target": 2.0, "unmatched": {"raw": "raw data"}}}  # fmt: skip
    (comparison / "compare.json").write_text(json.dumps(document))
    found = gather([comparison])
    assert [(entry.what, entry.why) for entry in found.failed] == [("blink", "no features")]
    assert found.methods == ["raw", "hogs"]
    wanted = {"level": "user", "target": 2.0, "unmatched": {"raw": "raw data"}, "of_reports": []}
    assert found.match == wanted
    assert found.paired == [] == found.unpaired
    shared = {"groups": [{"methods": ["raw", "hogs", "rr"], "to": "raw",
                          "differences": {"hogs": {"value": 0.1, "low": 0, "high": 0.2}, "rr": None}}],
              "alone": {"blink": "blink asks another question"}}  # fmt: skip
    (comparison / "compare.json").write_text(json.dumps({**document, "same_reports": shared}))
    found = gather([comparison])
    assert found.paired == [("hogs", "raw", {"value": 0.1, "low": 0.0, "high": 0.2}), ("rr", "raw", None)]
    assert [(entry.what, entry.why) for entry in found.unpaired] == [("blink", "blink asks another question")]
    shared["groups"] = [{"methods": [], "to": "raw", "differences": {"hogs": {"value": "x", "low": 0, "high": 1}}}]
    bad = json.dumps({**document, "same_reports": shared})
    for damaged in (bad, '{"failures": 5}', "{", "[]", '{"failures": {}, "match": {"level": []}, "methods": []}'):
        (comparison / "compare.json").write_text(damaged)
        (problem,) = gather([comparison]).left_out
        assert problem.what == "compare.json" and "cannot be read" in problem.why
