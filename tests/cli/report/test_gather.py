from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.cli.report.gather import gather

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
        (b"{}", "schema None, this version reads schema 2"),
        (b'{"poison": {}}', "a result of `ldpsim poison`"),
        (b'{"schema": 1, "rows": []}', "a result of `ldpsim stress`"),
        (b'{"schema": 3}', "schema 3, this version reads schema 2"),
        (b'{"schema": true}', "schema True"),
        (b'{"schema": "<b>1</b>"}', "schema <b>1</b>"),
        (b'{"schema": 1}', "schema 1, this version reads schema 2"),
        (b'{"schema": 2}', "privacy.trust is missing"),
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
        write_result(comparison, f"elsewhere-{number}", {"dataset/digest": "00" * 32, "config/seed": number})
    cora = {"dataset/digest": "11" * 32, "dataset/name": "cora", "dataset/nodes": 2708}
    write_result(comparison, "on-cora", cora)
    found = gather([comparison])
    assert [entry.dataset for entry in found.results] == [("generated", 3000)] * 4 + [
        ("cora", 2708),
        ("generated", 3000),
    ]
    by_name = {problem.what: problem.why for problem in found.left_out}
    assert "schema 0" in by_name["old-0"]
    assert "2 results with a different population (generated, 3,000 people)" in by_name["elsewhere-0, elsewhere-1"]


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
    for damaged in ('{"failures": 5}', "{", "[]", '{"failures": {}, "match": {"level": []}, "methods": []}'):
        (comparison / "compare.json").write_text(damaged)
        (problem,) = gather([comparison]).left_out
        assert problem.what == "compare.json" and "cannot be read" in problem.why


TABLE = "cell,status,method,folder,population_seed,error\n"


def test_only_the_cells_of_a_sweeps_table_are_shown_and_old_ones_are_named(tmp_path: Path, write_result: Write) -> None:
    sweep = tmp_path / "sweep-grid"
    for number in range(4):
        write_result(sweep, f"hogs-{number}", {"config/seed": number, "accuracy/test": 0.5 + number / 100})
    (sweep / "table.csv").write_text(
        TABLE + "1,done,hogs,hogs-0,1,\n2,done,hogs,hogs-2,1,\n3,failed,rgnn,,1,no labels\n"
    )
    for folder in (sweep, tmp_path):
        found = gather([folder])
        assert [entry.row["folder"] for entry in found.results] == ["hogs-0", "hogs-2"]
        assert [(entry.what, entry.why) for entry in found.failed] == [("rgnn", "no labels")]
        (old,) = found.left_out
        assert old.what == "hogs" and "2 results that sweep-grid/table.csv does not list" in old.why
    assert [entry.row["folder"] for entry in gather([sweep / "hogs-3"]).results] == ["hogs-3"]
    write_result(sweep, "rgnn-0", {"method": "rgnn", "config/epsilon": 2.0})
    write_result(sweep, "rgnn-1", {"method": "rgnn", "config/epsilon": 4.0})
    (write_result(sweep, "broken-0") / "result.json").write_text("{")
    assert gather([sweep]).left_out[-1].what == "hogs, rgnn ε 2, rgnn ε 4, broken-0"
    found = gather([sweep, sweep / "hogs-3"])  # named itself
    assert [entry.row["folder"] for entry in found.results] == ["hogs-0", "hogs-2", "hogs-3"]


def test_other_populations_are_repeats_in_a_sweep_that_varies_their_seed_only(
    tmp_path: Path, write_result: Write
) -> None:
    sweep = tmp_path / "sweep-grid"
    for number in range(2):
        write_result(sweep, f"hogs-{number}", {"config/seed": number, "dataset/digest": f"{number:02}" * 32})
    write_result(tmp_path, "alone", {"config/seed": 7, "dataset/digest": "77" * 32})
    (sweep / "table.csv").write_text(TABLE + "1,done,hogs,hogs-0,1,\n2,done,hogs,hogs-1,2,\n")
    found = gather([tmp_path])
    assert [(entry.row["folder"], entry.is_repeat) for entry in found.results] == [
        ("alone", False), ("hogs-0", True), ("hogs-1", True)
    ]  # fmt: skip
    (sweep / "table.csv").write_text(TABLE + "1,done,hogs,hogs-0,1,\n2,done,hogs,hogs-1,1,\n")
    found = gather([sweep])
    assert [entry.row["folder"] for entry in found.results] == ["hogs-0"]
    assert "different population" in found.left_out[0].why


def test_the_same_simulation_twice_counts_once(comparison: Path, write_result: Write) -> None:
    write_result(comparison, "raw-0-again", {"method": "raw", "privacy/trust": "none"})
    write_result(comparison, "raw-0-once-more", {"method": "raw", "privacy/trust": "none"})
    found = gather([comparison])
    assert len(found.results) == 6  # the first of them is no copy of raw-0: its accuracy is another one
    (copy,) = found.left_out
    assert (copy.what, copy.why) == (
        "raw-0-once-more", "the same simulation as raw-0-again, with the same figures"
    )  # fmt: skip


def test_a_copy_of_a_run_with_noise_of_the_system_is_no_repeat_of_it(tmp_path: Path, write_result: Write) -> None:
    unseeded = {"simulation_seeded": False, "seeds/noise": None}
    first = write_result(tmp_path, "hogs-0", unseeded)
    shutil.copytree(first, tmp_path / "hogs-0.bak")
    write_result(tmp_path, "hogs-0-2", {**unseeded, "seconds/total": 77.0})  # the same figures by chance
    found = gather([tmp_path])
    assert [entry.row["folder"] for entry in found.results] == ["hogs-0", "hogs-0-2"]
    (copy,) = found.left_out
    assert (copy.what, copy.why) == ("hogs-0.bak", "the same simulation as hogs-0, with the same figures")


def test_copies_do_not_choose_the_population_that_is_shown(tmp_path: Path, write_result: Write) -> None:
    for number in range(2):
        write_result(tmp_path, f"hogs-{number}", {"config/seed": number})
    other = write_result(tmp_path, "other", {"dataset/digest": "77" * 32})
    for number in range(2):
        shutil.copytree(other, tmp_path / f"other-{number}.bak")
    assert [entry.row["folder"] for entry in gather([tmp_path]).results] == ["hogs-0", "hogs-1"]
