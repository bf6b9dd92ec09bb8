"""PrivGnn, PATE and the baselines through ``simulate``: devices in owner mode, a student, three epsilons."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices.client_app import open_state
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies import Refused, RunOptions, simulate
from ldpsim.strategies.people.owner_graphs import divide
from ldpsim.strategies.runs import set_up as set_up_module
from tests import warm

QUICK = {"queries": "45", "K": "15", "epochs": "6", "hidden": "8"}


def options(out: Path | None, method: str = "privgnn", **more: Any) -> RunOptions:
    settings = {**QUICK, **more.pop("settings", {})}
    if method != "privgnn":
        settings.pop("K")
    if method.startswith("b"):
        settings.pop("queries")
    return RunOptions(method=method, clients=160, out=out, settings=settings, **{"nulls": False, "workers": 1, **more})


def test_a_run_ends_with_a_student_three_epsilons_and_the_trust_model(tmp_path: Path) -> None:
    result = simulate(options(tmp_path))
    record, folder = result.record, result.folder
    assert folder is not None
    privacy, teachers = record["privacy"], record["teachers"]
    assert privacy["trust"] == "trusted curator"
    central = privacy["holds"]["central_node"]
    assert central["status"] == "bounded" and central["value"] == teachers["epsilon"]["label"]
    assert "noisy vectors" in central["detail"] and teachers["epsilon"]["vector"] > central["value"]
    assert privacy["claimed"]["value"] == teachers["epsilon"]["printed"]
    assert privacy["holds"]["user"]["status"] == "unprotected"
    assert privacy["lifetime_per_device"]["user"]["max"] is None  # the ledgers say that records left in clear
    assert record["devices"]["asked"] == record["devices"]["reported"] == teachers["private"] == 64
    assert record["accuracy"]["test"] is not None and record["accuracy"]["val"] is None
    assert record["reference"]["nonprivate_test"] is not None and record["gnn"] == "sage"
    assert (record["config"]["parameters"]["epochs"], record["config"]["parameters"]["hidden"]) == (6, 8)
    assert {path.name for path in folder.iterdir()} >= {"result.json", "model.safetensors", "config.toml", "state"}


def test_the_same_seed_gives_the_same_student_and_another_lambda_other_labels(tmp_path: Path) -> None:
    first = simulate(options(tmp_path / "a")).record
    again = simulate(options(tmp_path / "b")).record
    assert first["accuracy"] == again["accuracy"] and first["teachers"] == again["teachers"]
    other = simulate(options(tmp_path / "a", settings={"lambda_": "1.0"})).record["teachers"]
    assert (other["reused"], other["labels_released_in_all"]) == (0, 45)
    assert other["epsilon_in_all"] == other["epsilon"]["label"] > first["teachers"]["epsilon"]["label"]
    assert other["labels_sha256"] != first["teachers"]["labels_sha256"]
    unbounded = simulate(options(tmp_path / "a", settings={"scores": "log-posterior"})).record["teachers"]
    assert unbounded["epsilon_in_all"] is None


def test_only_its_owner_may_read_what_lies_in_clear(tmp_path: Path) -> None:
    result = simulate(options(tmp_path / "out"))
    assert result.folder is not None
    assert (result.folder / "state").stat().st_mode & 0o077 == 0


def test_devices_hand_over_once(tmp_path: Path) -> None:
    state = tmp_path / "state"
    simulate(options(tmp_path / "a", state=state))
    with pytest.raises(Refused, match="REPORT_COLLECTED 64"):
        simulate(options(tmp_path / "b", state=state))
    open_state.cache_clear()
    division = divide_of(tmp_path)
    opened = State(state)
    assert [sum(len(a.parts) for a in opened.ledger(i).answers(i)) for i in range(160)] == [
        3 * (i in division.private) for i in range(160)
    ]
    with pytest.raises(Refused, match="MODE_REFUSED"):
        simulate(RunOptions(method="hogs", clients=160, out=tmp_path / "c", state=state))


@pytest.mark.parametrize("method", ["privgnn", "pate-g"])
def test_the_student_learns_from_the_released_labels_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """With other true labels of the people asked about, the teachers, their labels and the student stay the same."""
    plain = set_up_module.load_population
    moved = []

    def relabelled(given: RunOptions) -> Population:
        people = plain(given)
        division = divide(people, given.seeds_of(0).split)
        labels = people.labels.copy()
        labels[division.asked] = (labels[division.asked] + 1) % people.facts.classes
        moved.append(len(division.asked))
        return replace(people, labels=labels)

    settings = {"teachers": "3"} if method == "pate-g" else {}
    first = simulate(options(tmp_path / "a", method, settings=settings))
    monkeypatch.setattr(set_up_module, "load_population", relabelled)
    again = simulate(options(tmp_path / "b", method, settings=settings))
    assert first.folder is not None and again.folder is not None and moved == [48]
    labels = "pseudo_label_accuracy"
    assert again.record["teachers"][labels] != first.record["teachers"][labels]
    assert again.record["teachers"]["labels_sha256"] == first.record["teachers"]["labels_sha256"]
    assert again.record["accuracy"]["test"] == first.record["accuracy"]["test"]
    assert again.record["reference"] == first.record["reference"]  # B1 learns from private people alone
    model = "model.safetensors"
    assert (again.folder / model).read_bytes() == (first.folder / model).read_bytes()


def divide_of(out: Path) -> Any:
    from ldpsim.devices.datasets import load

    seeds = options(out).seeds_of(0)
    return divide(load("generated", clients=160, seed=seeds.population), seeds.split)


def test_a_kill_among_the_teachers_and_a_second_start(tmp_path: Path) -> None:
    whole = simulate(options(tmp_path / "whole")).record
    out = tmp_path / "killed"
    script = (
        f"import os, signal, sys; sys.path.insert(0, {str(Path(__file__).parent)!r})\nfrom pathlib import Path\n"
        "from test_owner import options, simulate\n"
        "def die(phase, share):\n    if phase == 'teachers' and share: os.kill(os.getpid(), signal.SIGKILL)\n"
        f"simulate(options(Path({str(out)!r})), progress=die)\n"
    )
    root = Path(__file__).resolve().parents[3]
    died = warm.run([sys.executable, "-c", script], cwd=root, env={**os.environ, "PYTHONPATH": str(root)},
                          check=False)  # fmt: skip
    assert died.returncode == -signal.SIGKILL
    assert [path.name for path in out.glob("*/teachers-*/chunk-*.npy")] == ["chunk-00000.npy"]
    assert not list(out.glob("*/result.json"))
    result = simulate(options(out))
    assert result.record["accuracy"] == whole["accuracy"]
    same = ("labels_sha256", "pseudo_label_accuracy", "teacher_accuracy", "epsilon")
    assert {k: result.record["teachers"][k] for k in same} == {k: whole["teachers"][k] for k in same}
    assert (result.record["teachers"]["reused"], whole["teachers"]["reused"]) == (20, 0)
    assert not list(out.glob("*/teachers-*"))  # the records in clear go with the result
    # nobody was asked a second time: the one release of each was given again
    assert result.record["devices"]["replayed"] == 64 and result.record["devices"]["reported"] == 0
    assert result.folder is not None
    opened = State(result.folder / "state")
    assert sum(sum(len(a.parts) for a in opened.ledger(i).answers(i)) for i in range(160)) == 3 * 64
