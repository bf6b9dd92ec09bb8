"""Whole runs, small: what the same, a changed and an interrupted command do.

Covers run, set_up, one_report, asking, reference, results/outcome, results/record and setup/run_setup.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest

from ldpsim.devices.client_app import open_state
from ldpsim.devices.collector import generate
from ldpsim.devices.enrolment import state as enrolment
from ldpsim.devices.enrolment.state import State
from ldpsim.strategies import Refused, RunOptions, simulate
from ldpsim.strategies.results.lifetime import lifetime
from ldpsim.strategies.rounds import messages as outbox
from tests.strategies.forks import Forks

QUICK = {"epochs": "3"}


def options(tmp_path: Path, **given: object) -> RunOptions:
    return RunOptions(
        **{"clients": 60, "settings": QUICK, "reference": False, "nulls": False, "out": tmp_path / "runs", **given}
    )  # type: ignore[arg-type]


def listing(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def lifetime_in(folder: Path) -> object:
    state = State(folder)
    try:
        return lifetime(state)
    finally:
        state.close()


def test_a_run_writes_a_whole_result(tmp_path: Path) -> None:
    result = simulate(options(tmp_path, reference=True))
    assert result.folder is not None
    assert {"config.toml", "log.txt", "model.safetensors", "result.json", "state"} == {
        p.name for p in result.folder.iterdir()
    }
    record = json.loads((result.folder / "result.json").read_text())
    assert record == json.loads(json.dumps(result.record))
    devices = record["devices"]
    assert (
        devices["asked"] == 60 == sum(devices[name] for name in ("reported", "replayed", "refused", "silent", "failed"))
    )
    assert record["privacy"]["holds"]["bit_adjacency"]["value"] == pytest.approx(7.2)
    assert record["privacy"]["holds"]["user"]["value"] == pytest.approx(59 * 7.2 + record["dataset"]["features"] * 0.8)
    assert record["privacy"]["lifetime_per_device"]["user"]["max"] == record["privacy"]["holds"]["user"]["value"]
    assert record["privacy"]["lifetime_per_device"]["complete"] is True
    assert record["simulation_seeded"] is True
    assert not (result.folder / "state" / "collection.json").exists()


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
    with pytest.raises(ValueError, match="--collector-key .*: ldp-fedavg does not read it"):
        simulate(options(tmp_path, method="ldp-fedavg", settings={}, collector_key=tmp_path / "key"))


def test_one_seed_one_result_and_another_seed_another(tmp_path: Path) -> None:
    first = simulate(options(tmp_path / "a")).record
    again = simulate(options(tmp_path / "b")).record
    other = simulate(options(tmp_path / "c", seed=1)).record
    for record in (first, again, other):
        for volatile in ("seconds", "memory", "config"):
            record.pop(volatile)
    assert first == again
    assert first["devices"]["reports_sha256"] != other["devices"]["reports_sha256"]
    assert first["config_hash"] != other["config_hash"]


def test_a_finished_run_is_left_alone_and_the_next_has_fresh_devices(tmp_path: Path) -> None:
    first = simulate(options(tmp_path))
    before = listing(first.folder)  # type: ignore[arg-type]
    second = simulate(options(tmp_path))
    assert second.folder == first.folder.with_name(first.folder.name + "-2")  # type: ignore[union-attr]
    assert second.record["devices"]["reported"] == 60
    assert listing(first.folder) == before  # type: ignore[arg-type]


def test_the_same_state_is_refused_and_nothing_moves(tmp_path: Path) -> None:
    state = tmp_path / "people"
    simulate(options(tmp_path, state=state))
    loss = lifetime_in(state)
    open_state.cache_clear()
    before = listing(state)
    for given in ({}, {"epsilon": 4.0}, {"epsilon": 20.0}, {"seed": 9, "seeds": {"population": 55153914974108}}):
        with pytest.raises(Refused, match=r"none of 60 devices reported \((REPORT_COLLECTED|POLICY_REFUSED) 60\)"):
            simulate(options(tmp_path, state=state, **given))
        open_state.cache_clear()
        assert listing(state) == before
    assert lifetime_in(state) == loss


def test_devices_that_replay_give_the_same_bytes(tmp_path: Path) -> None:
    state = tmp_path / "people"
    first = simulate(options(tmp_path, state=state, on_requery="replay")).record
    again = simulate(
        options(tmp_path, state=state, on_requery="refuse")
    ).record  # enrolled so, and a later run changes nothing
    assert again["devices"]["replayed"] == 60
    assert again["devices"]["reports_sha256"] == first["devices"]["reports_sha256"]
    assert again["privacy"]["lifetime_per_device"] == first["privacy"]["lifetime_per_device"]
    for epsilon in (4.0, 9.0):
        with pytest.raises(Refused):
            simulate(options(tmp_path, state=state, epsilon=epsilon))


def test_a_damaged_ledger_answers_nothing(tmp_path: Path) -> None:
    state = tmp_path / "people"
    simulate(options(tmp_path, state=state))
    open_state.cache_clear()
    (state / "ledger.sqlite").write_bytes(b"rubbish" * 1000)
    for extra in ("-wal", "-shm"):
        (state / f"ledger.sqlite{extra}").unlink(missing_ok=True)
    before = listing(state)
    with pytest.raises(Refused, match="LEDGER_DAMAGED 60"):
        simulate(options(tmp_path, state=state))
    assert listing(state) == before


def test_repeats_ask_people_of_their_own(tmp_path: Path) -> None:
    result = simulate(options(tmp_path, repeats=3))
    accuracy = result.record["accuracy"]
    assert len(accuracy["per_repeat"]) == 3 and accuracy["test"] == pytest.approx(np.mean(accuracy["per_repeat"]))
    assert accuracy["std"] == pytest.approx(np.std(accuracy["per_repeat"], ddof=1))
    assert result.record["privacy"]["collections"] == 3
    assert {p.name for p in result.folder.iterdir()} >= {"state", "state-1", "state-2"}  # type: ignore[union-attr]


_KILLED = """
import os, sys, signal
from pathlib import Path
from ldpsim.devices import fleet
from ldpsim.devices.enrolment import state
from ldpsim.strategies.rounds import messages as outbox
state.SHARD = outbox.SHARD = 7
plain = fleet.answering
left = [int(sys.argv[2])]
def answering(*given, **named):
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left[0] -= 1
    return plain(*given, **named)
fleet.answering = answering
from ldpsim.strategies import RunOptions, simulate
simulate(RunOptions(clients=60, settings={"epochs": "3"}, reference=False, nulls=False, out=Path(sys.argv[1])))
"""


@pytest.mark.parametrize("batches", [0, 3, 8])
def test_a_killed_run_is_continued_by_the_same_command(
    tmp_path: Path, batches: int, forked: Forks, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (enrolment, outbox):
        monkeypatch.setattr(module, "SHARD", 7)
    assert forked.run(_KILLED, tmp_path / "runs", batches) == -signal.SIGKILL
    (folder,) = (tmp_path / "runs").iterdir()
    assert not (folder / "result.json").exists()
    released = _reports_in(folder / "state")
    assert len(released) == 2 * 7 * batches
    result = simulate(options(tmp_path))
    assert result.folder == folder
    assert result.record["devices"]["replayed"] == 7 * batches
    assert result.record["devices"]["reported"] == 60 - 7 * batches
    kept = _reports_in(folder / "state")
    assert released.items() <= kept.items() and len(kept) == 120
    whole = simulate(options(tmp_path / "undisturbed")).record
    assert result.record["devices"]["reports_sha256"] == whole["devices"]["reports_sha256"]
    assert result.record["accuracy"] == whole["accuracy"]


def _reports_in(state: Path) -> dict[tuple[int, str], bytes]:
    opened = State(state)
    rows = [row for shard in opened.shards for row in opened.ledger(shard * opened.shard).answers()]
    return {(row.device, part.attribute): part.report for row in rows for part in row.parts}
