"""Content for the trackers: options in words, without places. Covers tracker."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ldpsim.strategies import simulate
from ldpsim.strategies.runs.set_up import set_up
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.tracking.targets import dotted, tags_of, tracked_run, without_places
from tests.strategies.tracking.conftest import small


def test_every_option_that_is_not_personal_is_a_parameter(tmp_path: Path) -> None:
    run = tracked_run(set_up(small(tmp_path, epsilon=4.0, settings={"tau": "0.8"})))
    given = {name for name, spec in declared(RunOptions).items() if not spec.personal and not spec.is_table}
    assert given <= set(run.parameters) and "out" not in run.parameters and "state" not in run.parameters
    assert run.parameters["parameters.tau"] == "0.8" and run.parameters["budget.epsilon"] == "4.0"
    assert run.tags["method"] == "hogs" and run.tags["trust"] == "untrusted curator"


def test_a_file_of_data_is_named_without_its_folder(tmp_path: Path) -> None:
    path = tmp_path / "friends.npz"
    rng = np.random.default_rng(0)
    np.savez(path, edge_index=rng.integers(0, 60, (2, 90)), labels=np.arange(60) % 3, x=np.eye(60, 9))
    options = small(None, dataset=str(path), clients=None, data_dir=tmp_path)
    run, record = tracked_run(set_up(options)), simulate(options).record
    assert run.parameters["dataset"] == "friends" and run.name.startswith("hogs-friends-")
    open_record = without_places(record)
    assert str(tmp_path) in repr(record) and str(tmp_path) not in repr(open_record)
    assert open_record["config"].keys() == record["config"].keys() and open_record["privacy"] is record["privacy"]


def test_tags_have_the_verdict_and_each_level() -> None:
    holds = {"node": {"status": "unprotected"}, "label": {"status": "bounded"}}
    record = {"devices": {"reports_sha256": "ab"}, "privacy": {"holds": holds},
              "verdict": {"text": "hogs is at chance", "above_chance": False, "margin": None}}  # fmt: skip
    assert tags_of(record) == {
        "verdict": "hogs is at chance", "standing": "chance", "holds.node": "unprotected", "holds.label": "bounded",
        "reports_sha256": "ab",
    }  # fmt: skip


def test_nested_entries_are_flat() -> None:
    assert dotted({"a": {"b": {"c": 1}}, "d": None}) == {"a.b.c": "1", "d": "None"}
