"""Whole runs, small: what the same, a changed and an interrupted command do, also in threads."""

from __future__ import annotations

import json
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from pathlib import Path

import pytest

from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.steps import track
from ldpsim.devices.curator_key import generate
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies import Refused, RunOptions, simulate
from ldpsim.strategies.runs.judging import side_by_side

QUICK = {"epochs": "3"}


def options(tmp_path: Path, **given: object) -> RunOptions:
    return RunOptions(
        **{"clients": 60, "settings": QUICK, "reference": False, "nulls": False, "out": tmp_path / "runs", **given}
    )  # type: ignore[arg-type]


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_run_writes_a_whole_result(tmp_path: Path) -> None:
    result = simulate(options(tmp_path, reference=True))
    assert {
        "device-model.json",
        "config.toml",
        "deployment.toml",
        "log.txt",
        "model.safetensors",
        "result.json",
        "state",
    } == {p.name for p in result.folder.iterdir()}
    record = json.loads((result.folder / "result.json").read_text())
    assert record == json.loads(json.dumps(result.record))
    devices = record["devices"]
    counted = [devices[name] for name in ("reported", "replayed", "refused", "silent", "failed")]
    assert devices["asked"] == 60 == sum(counted)
    assert record["privacy"]["holds"]["bit_adjacency"]["value"] == pytest.approx(7.2)
    assert record["privacy"]["holds"]["user"]["value"] == pytest.approx(59 * 7.2 + record["dataset"]["features"] * 0.8)
    assert record["privacy"]["lifetime_per_device"]["user"]["max"] == record["privacy"]["holds"]["user"]["value"]
    assert record["privacy"]["lifetime_per_device"]["complete"] is True
    assert record["simulation_seeded"] is True
    assert not (result.folder / "state" / "collection.json").exists()


def test_the_reports_of_each_repeat_are_kept_in_a_place_of_their_own(tmp_path: Path) -> None:
    folder = simulate(options(tmp_path, save_reports=True, repeats=2)).folder
    kept = [Reports.load(folder / name) for name in ("reports", "reports-1")]
    assert (kept[0].adjacency != kept[1].adjacency).nnz  # other noise
    alone = simulate(options(tmp_path / "alone", save_reports=True)).folder
    assert not (Reports.load(alone / "reports").adjacency != kept[0].adjacency).nnz


def test_a_level_in_clear_has_no_value_and_its_private_part_has_its_loss(tmp_path: Path) -> None:
    holds = simulate(options(tmp_path, public_features=True)).record["privacy"]["holds"]
    for level, loss in (("user", 59 * 8.0), ("node", 2 * 59 * 8.0)):  # own list, and what others say of the person
        assert (holds[level]["status"], holds[level]["value"], holds[level]["delta"]) == ("unprotected", None, 0.0)
        assert holds[level]["private_value"] == pytest.approx(loss) and holds[level]["private_delta"] == 0.0
    assert (holds["vector"]["status"], holds["vector"]["value"]) == ("unprotected", None)


def test_a_run_with_a_key_enrols_devices_that_answer_nobody_else(tmp_path: Path) -> None:
    """The key changes no report and no hash; only the size of the signed messages is another."""
    public = generate(tmp_path / "key")
    plain = simulate(options(tmp_path / "plain")).record
    signed = options(tmp_path / "signed", collector_key=tmp_path / "key", state=tmp_path / "people")
    first = simulate(signed).record
    assert State(tmp_path / "people").policy.collector == public
    assert first["config_hash"] == plain["config_hash"]
    assert first["devices"]["reports_sha256"] == plain["devices"]["reports_sha256"]
    with pytest.raises(Refused, match="COLLECTOR_REFUSED 60"):
        simulate(options(tmp_path / "other", state=tmp_path / "people"))
    with pytest.raises(Refused, match="REPORT_COLLECTED 60"):
        simulate(options(tmp_path / "more", state=tmp_path / "people", collector_key=tmp_path / "key"))
    with pytest.raises(ValueError, match="ldp-fedavg collects updates, not reports: it takes no --curator-key"):
        simulate(options(tmp_path, method="ldp-fedavg", settings={}, collector_key=tmp_path / "key"))


def test_a_finished_run_is_left_alone_and_the_next_has_fresh_devices(tmp_path: Path) -> None:
    first = simulate(options(tmp_path))
    before = listing(first.folder)  # type: ignore[arg-type]
    second = simulate(options(tmp_path))
    assert second.folder == first.folder.with_name(first.folder.name + "-2")  # type: ignore[union-attr]
    assert second.record["devices"]["reported"] == 60
    assert listing(first.folder) == before  # type: ignore[arg-type]


def test_devices_that_replay_give_the_same_bytes(tmp_path: Path) -> None:
    state = tmp_path / "people"
    first = simulate(options(tmp_path, state=state, on_requery="replay")).record
    # They were enrolled so, and a later run changes nothing.
    again = simulate(options(tmp_path, state=state, on_requery="refuse")).record
    assert again["devices"]["replayed"] == 60
    assert again["devices"]["reports_sha256"] == first["devices"]["reports_sha256"]
    assert again["privacy"]["lifetime_per_device"] == first["privacy"]["lifetime_per_device"]
    for epsilon in (4.0, 9.0):
        with pytest.raises(Refused):
            simulate(options(tmp_path, state=state, epsilon=epsilon))


def figures_of(seed: int) -> tuple[int, float, str]:
    options = RunOptions(method="rr", clients=100, out=None, reference=False, nulls=False, groups=False,
                         settings={"epochs": "5"}, seed=seed)  # fmt: skip
    record = simulate(options).record
    return record["devices"]["reported"], record["accuracy"]["test"], record["devices"]["refused"]


def test_runs_at_once_have_the_results_that_they_have_alone() -> None:
    """One run closed the ledgers of another before: a crash, or LEDGER_DAMAGED."""
    alone = [figures_of(seed) for seed in (0, 1)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(figures_of, [0, 1] * 4)) == alone * 4
    assert [reported for reported, *_ in alone] == [100, 100]


def test_an_error_in_the_block_stops_what_runs_at_its_next_step() -> None:
    begun, go_on, seen = threading.Event(), threading.Event(), []

    def training() -> None:
        for epoch in track(range(200), 200):
            seen.append(epoch)
            begun.set()
            go_on.wait(5)

    with pytest.raises(KeyboardInterrupt), side_by_side(2) as start:
        running = start(training)
        begun.wait()
        threading.Timer(0.1, go_on.set).start()
        raise KeyboardInterrupt
    with pytest.raises(CancelledError):
        running()
    assert len(seen) < 200


def test_the_thread_that_waits_does_what_no_other_has_begun() -> None:
    go_on = threading.Event()
    with side_by_side(2) as start:
        busy, own = start(lambda: go_on.wait(30)), start(threading.get_ident)
        assert own() == threading.get_ident()
        go_on.set()
        assert busy()
