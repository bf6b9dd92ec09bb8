from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator.methods import BUILT_IN, find
from ldpsim.strategies.outputs.shell import command_of, comparison_of
from ldpsim.strategies.setup.options import RunOptions


@pytest.fixture
def record() -> dict[str, Any]:
    return {"method": "hogs", "dataset": {"name": "generated"}}


def test_a_plain_run_says_only_what_it_is(record: dict[str, Any]) -> None:
    record["config"] = {name: value for name, value in asdict(RunOptions()).items() if name != "data_dir"}
    assert command_of(record) == "ldpsim run --method hogs --dataset generated"


def test_every_option_that_matters_is_said_and_reads_back(record: dict[str, Any]) -> None:
    options = RunOptions(
        method="hogs", dataset="cora", clients=500, epsilon=4.5, feature_share=0.2, private_labels=True, eps_labels=1.0,
        reporting="one-end", gnn="gat", settings={"tau": "0.7"}, seed=3, seeds={"noise": None, "split": 9}, repeats=5,
        repeats_vary="noise", dropout=0.1, on_requery="replay", caps={"bit": 4.0}, out=Path("elsewhere"),
        data_dir=Path("/data"), workers=3,
    )  # fmt: skip
    record["config"] = {**asdict(options), "out": "elsewhere", "data_dir": "/data"}
    command = command_of(record)
    assert command == (
        "ldpsim run --method hogs --dataset cora --clients 500 --epsilon 4.5 --eps-labels 1 --feature-share 0.2 "
        "--private-labels --reporting one-end --gnn gat --set tau=0.7 --seed 3 --noise-seed os --split-seed 9 "
        "--repeats 5 --repeats-vary noise --dropout 0.1 --on-requery replay --cap bit=4"
    )


@pytest.mark.parametrize("config", [None, 5, [], {"settings": 3, "seeds": [1], "caps": "x"}, {"dataset": 5}])
def test_a_configuration_that_is_none_gives_a_command_still(config: Any, record: dict[str, Any]) -> None:
    record["config"] = config
    assert command_of(record).startswith("ldpsim run --method hogs --dataset generated")


def test_nothing_in_a_record_becomes_another_command(record: dict[str, Any]) -> None:
    record["method"] = "hogs; rm -rf ~ #"
    record["config"] = {"dataset": "$(reboot)\nreboot", "settings": {"`x`": "'; y"}, "gnn": "\x1b]0;z\x07"}
    command = command_of(record)
    assert "\n" not in command and "\x1b" not in command
    assert shlex.split(command) == [
        "ldpsim", "run", "--method", "hogs; rm -rf ~ #", "--dataset", "$(reboot) reboot", "--gnn", "]0;z", "--set",
        "`x`='; y",
    ]  # fmt: skip


def test_a_comparison_has_the_options_of_the_run_and_reads_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDPSIM_DATA", "/data")
    options = RunOptions(
        method="hogs", dataset="my graphs/a.npz", clients=500, epsilon=4.5, feature_share=0.2, settings={"tau": "0.7"},
        seed=3, seeds={"noise": None}, repeats=5, caps={"bit": 4.0}, state=None, data_dir=Path("/data"), workers=3,
        out=Path("else where"),
    )  # fmt: skip
    command = comparison_of(options)
    assert command == (
        "ldpsim compare hogs sbp vote raw --dataset 'my graphs/a.npz' --clients 500 --epsilon 4.5 --feature-share 0.2 "
        "--set tau=0.7 --seed 3 --noise-seed os --repeats 5 --out 'else where'"
    )
    monkeypatch.delenv("LDPSIM_DATA")
    assert "--data-dir /data" in comparison_of(options)


@pytest.mark.parametrize("method", sorted(BUILT_IN))
def test_every_method_has_a_comparison_with_its_own_kind(method: str) -> None:
    words = shlex.split(comparison_of(RunOptions(method=method)))
    assert words[:3] == ["ldpsim", "compare", method] and len(set(words)) == len(words)
    compared = words[3:]
    assert compared and all(find(name).spec.name == name for name in compared)
    assert (
        any(find(name).spec.trained_by == find(method).spec.trained_by for name in compared)
        or find(method).spec.trained_by == "alone"
    )
