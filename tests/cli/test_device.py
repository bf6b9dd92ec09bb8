"""``ldpsim device``: a vault that starts once, stops cleanly, and says in one line what is wrong."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.curator.methods import HoGS, Vote
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.curator_key import CuratorKey, generate
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import State
from ldpsim.devices.mechanisms.score_rows import affinity, score_table
from ldpsim.devices.prediction import DeviceModel
from ldpsim.devices.query import Query
from ldpsim.devices.report import Report
from ldpsim.devices.vault.client import VaultDevice
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.flower_app.deployed import PublicFile
from ldpsim.strategies.runs.prepare import prepare
from tests import warm
from tests.signing import signed

ROOT = Path(__file__).resolve().parents[2]
FACTS: dict[str, Any] = {"n": 4, "d": 16, "classes": 3}
RECORDS = {"2": {"features": [3, 7], "neighbours": [0, 3], "label": 1}}
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"facts": FACTS, "records": RECORDS}))
    return path


@pytest.fixture
def agreed(tmp_path: Path, own: Path) -> Path:
    """The default policy, as a file: a vault that reads one loads no method, and starts in a third of a second."""
    path = tmp_path / "agreed.json"
    path.write_text(policy_text("--facts", facts_alone(own), "--eps-labels", 1))
    return path


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def vault(*arguments: object, wait: bool = True) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "ldpsim.cli.main", "device", "serve", *map(str, arguments)]
        process = warm.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
        started.append(process)
        if wait:
            assert any("serving" in line for line in process.stderr)
        return process

    yield vault
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def enrol(own: Path, state: Path, *more: object) -> str:
    """Enrol the devices of a record, and return what is told of them."""
    made = CliRunner().invoke(app, ["device", "enrol", "--data", str(own), "--state", str(state), *map(str, more)])
    assert made.exit_code == 0 and made.stdout == "", made.output
    return made.stderr


def facts_alone(own: Path) -> Path:
    """Write the file of public facts that fits a record; the record's own file is refused as such a file."""
    path = own.with_name("facts-alone.json")
    path.write_text(json.dumps({"facts": json.loads(own.read_text())["facts"]}))
    return path


def question(own: Path, collection: str, epsilon: float = 8.0) -> bytes:
    public = PublicFile.load(facts_alone(own))
    (asked,) = HoGS().questions(public.facts, public.split(0), Budget(epsilon=epsilon), collection)
    return asked.query.to_bytes()


def test_a_vault_s_whole_life(tmp_path: Path, own: Path, agreed: Path, start: Start) -> None:
    state, path = tmp_path / "state", tmp_path / "v"
    enrol(own, state, "--policy", agreed)
    first = start("--state", state, "--socket", path)
    device = VaultDevice(str(path), 2, 600)
    report = device.answer(question(own, "a"))
    assert isinstance(report, Report) and not report.replayed
    assert device.answer(question(own, "b")) is Refusal.REPORT_COLLECTED
    assert device.answer(question(own, "b", 9.0)) is Refusal.POLICY_REFUSED
    assert VaultDevice(str(path), 1, 600).answer(question(own, "a")) is Refusal.LEDGER_DAMAGED
    # everything it made is its user's alone, the state folder first
    kept = {p: p.stat().st_mode & 0o077 for p in (state, *state.rglob("*"), path)}
    assert set(kept.values()) == {0}

    # a second one on the folder, or on the socket, does not start
    second = start("--state", state, "--socket", tmp_path / "w", wait=False)
    assert second.communicate()[1].count("\n") == 1 and second.returncode == 2
    enrol(own, tmp_path / "other", "--policy", agreed)
    third = start("--state", tmp_path / "other", "--socket", path, wait=False)
    line = third.communicate()[1]
    assert "another process listens there" in line and third.returncode == 2

    # SIGTERM: a clean end, and no socket left ("broken": the third one knocked and went away)
    first.send_signal(signal.SIGTERM)
    assert (
        "stopped: LEDGER_DAMAGED 1, POLICY_REFUSED 1, REPORT_COLLECTED 1, broken 1, reported 1"
        in first.communicate()[1]
    )
    assert first.returncode == 0 and not path.exists()
    assert sorted(p.name for p in state.glob("ledger*")) == ["ledger.sqlite"]

    # killed outright: the next one takes over its socket and gives the stored bytes
    again = start("--state", state, "--socket", path)
    assert device.answer(question(own, "a")) == Report(report.data, replayed=True)
    again.kill()
    again.communicate()
    assert path.exists()
    start("--state", state, "--socket", path)
    assert device.answer(question(own, "a")) == Report(report.data, replayed=True)
    assert device.answer(question(own, "c")) is Refusal.REPORT_COLLECTED


@pytest.mark.usefixtures("unmasked")
def test_enrolled_once_and_served_without_the_data(tmp_path: Path, own: Path, start: Start) -> None:
    state = tmp_path / "state"
    arguments = ["device", "enrol", "--data", str(own), "--state", str(state)]
    made = CliRunner().invoke(app, arguments)
    assert made.exit_code == 0 and "enrolled 1 devices" in made.stderr
    assert {p.stat().st_mode & 0o077 for p in (state, *state.rglob("*"))} == {0}
    assert "holds enrolled devices already" in error_of(*arguments[1:])
    own.rename(tmp_path / "kept.json")
    vault = start("--state", state, "--socket", tmp_path / "v")
    assert isinstance(VaultDevice(str(tmp_path / "v"), 2, 600).answer(question(tmp_path / "kept.json", "a")), Report)
    vault.terminate()
    assert "warning" not in vault.communicate()[1]
    # a folder that is gone is not enrolled anew by the line that serves it
    state.rename(tmp_path / "gone")
    assert "ldpsim device enrol" in error_of("serve", "--state", state, "--socket", tmp_path / "v")
    assert not state.exists()


def test_a_vault_pins_its_curator_at_enrolment(tmp_path: Path, own: Path, start: Start) -> None:
    key, state, path = tmp_path / "key", tmp_path / "state", tmp_path / "v"
    public = generate(key)
    arguments = ["--data", str(own), "--state", str(state), "--curator-key"]
    assert "holds a secret key" in error_of("enrol", *arguments, key)
    assert not state.exists()
    made = CliRunner().invoke(app, ["device", "enrol", *arguments, f"{key}.pub"])
    assert made.exit_code == 0 and f"answer the curator {public} and nobody else" in made.stderr
    start("--state", state, "--socket", path)
    device = VaultDevice(str(path), 2, 600)
    assert device.answer(question(own, "hostile", 0.01)) is Refusal.COLLECTOR_REFUSED
    assert isinstance(device.answer(signed(CuratorKey.load(key), Query.from_bytes(question(own, "a")), 4)), Report)
    # without a key, enrolment says who can spend the answer
    open_to_all = CliRunner().invoke(app, ["device", "enrol", *arguments[:3], str(tmp_path / "other")])
    assert "any curator can spend the devices' one answer" in open_to_all.stderr


def test_a_policy_pins_a_curator_and_a_question(tmp_path: Path, own: Path) -> None:
    public = generate(tmp_path / "key")
    generate(tmp_path / "other")
    (tmp_path / "facts.json").write_text(json.dumps({"facts": FACTS, "labels": {"0": 1}}))
    command = ["--facts", tmp_path / "facts.json", "--epsilon", 8]
    pinned = policy_text(*command, "--curator-key", tmp_path / "key.pub", "--only-this")
    both, less = json.loads(pinned), json.loads(policy_text(*command))
    assert both.pop("collector") == public and len(both.pop("questions")) == 1 and both == less
    (tmp_path / "p.json").write_text(pinned)
    given = ["enrol", "--data", own, "--policy", tmp_path / "p.json", "--state", tmp_path / "s", "--curator-key"]
    assert "pins another curator" in error_of(*given, tmp_path / "other.pub")
    made = CliRunner().invoke(app, ["device", *map(str, given), str(tmp_path / "key.pub")])
    assert made.exit_code == 0
    key = CuratorKey.load(tmp_path / "key")
    device = State(tmp_path / "s").device(2)
    this_one, inside_the_caps = (Query.from_bytes(question(own, "a", epsilon)) for epsilon in (8.0, 4.0))
    assert device.answer(signed(key, inside_the_caps, 4)) is Refusal.POLICY_REFUSED
    assert isinstance(device.answer(signed(key, this_one, 4)), Report)


def test_a_vault_that_counts_notices_an_old_ledger(tmp_path: Path, own: Path, agreed: Path, start: Start) -> None:
    state, path, counters = tmp_path / "state", tmp_path / "v", tmp_path / "counters"
    enrol(own, state, "--policy", agreed, "--counters", counters)
    device = VaultDevice(str(path), 2, 600)
    before = (state / "ledger.sqlite").read_bytes()
    vault = start("--state", state, "--socket", path)
    assert isinstance(device.answer(question(own, "a")), Report)
    vault.terminate()
    vault.wait()
    (state / "ledger.sqlite").write_bytes(before)
    start("--state", state, "--socket", path)
    assert device.answer(question(own, "b")) is Refusal.COUNTER_MISMATCH
    assert device.answer(question(own, "a")) is Refusal.COUNTER_MISMATCH


def error_of(*arguments: object) -> str:
    shown = CliRunner().invoke(app, ["device", *map(str, arguments)])
    assert shown.exit_code == 2, shown.output
    assert shown.stdout == "" and len(shown.stderr.splitlines()) == 1
    return shown.stderr


@pytest.fixture
def unmasked() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.usefixtures("unmasked")
def test_mistakes_change_nothing(tmp_path: Path, own: Path) -> None:
    state, path = tmp_path / "state", tmp_path / "v"
    made = ("enrol", "--state", state, "--data")
    assert "No such file" in error_of(*made, tmp_path / "none.json")
    assert "a .json of records or a .npz" in error_of(*made, tmp_path / "own.csv")
    assert "No such file" in error_of(*made, own, "--policy", tmp_path / "none")
    own.with_name("bad.json").write_text(json.dumps({"facts": FACTS, "records": {"2": {**RECORDS["2"], "label": 9}}}))
    assert "label 9" in error_of(*made, tmp_path / "bad.json")
    assert "lost together" in error_of(*made, own, "--counters", state / "count")
    assert not state.exists()
    enrol(own, state)
    where = ("serve", "--state", state, "--socket")
    assert "no such group" in error_of(*where, path, "--group", "no-such-group")
    assert "at most 107 bytes" in error_of(*where, tmp_path / ("x" * 120))
    (tmp_path / "file").write_text("kept")
    assert "something else" in error_of(*where, tmp_path / "file")
    assert not path.exists() and (tmp_path / "file").read_text() == "kept"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as other:
        other.bind(str(path))
        other.listen()
        assert "another process listens there" in error_of(*where, path)


def policy_text(*arguments: object) -> str:
    shown = CliRunner().invoke(app, ["device", "policy", *map(str, arguments)])
    assert shown.exit_code == 0, shown.output
    return shown.stdout


@pytest.mark.usefixtures("unmasked")
def test_a_policy_is_printed_and_obeyed(tmp_path: Path, own: Path, start: Start) -> None:
    facts = tmp_path / "facts.json"
    facts.write_text(json.dumps({"facts": FACTS, "labels": {"0": 1}}))
    text = policy_text("--facts", facts, "--epsilon", 3, "--on-requery", "replay", "--cap", "user=1000")
    given = json.loads(text)
    assert (given["on_requery"], given["user_cap"], set(given["caps"])) == ("replay", 1000.0, {"adjacency", "features"})
    assert 0 < given["caps"]["adjacency"]["bit"] <= 3
    (tmp_path / "policy.json").write_text(text)
    path = tmp_path / "v"
    enrol(own, tmp_path / "state", "--policy", tmp_path / "policy.json")
    start("--state", tmp_path / "state", "--socket", path)
    device = VaultDevice(str(path), 2, 600)
    assert device.answer(question(own, "a", 8.0)) is Refusal.POLICY_REFUSED
    report = device.answer(question(own, "a", 3.0))
    assert isinstance(report, Report)
    assert device.answer(question(own, "b", 3.0)) == Report(report.data, replayed=True)
    assert State(tmp_path / "state").policy.to_dict() == given
    # without public labels the label is asked for too
    facts.write_text(json.dumps({"facts": FACTS}))
    assert "label" in json.loads(policy_text("--facts", facts, "--eps-labels", 1))["caps"]


@pytest.fixture
def volunteering(tmp_path: Path) -> Path:
    path = tmp_path / "facts.json"
    path.write_text(json.dumps({"facts": {**FACTS, "n": 5}, "volunteers": [0, 2, 3]}))
    return path


def _record(path: Path, person: int, **record: Any) -> Path:
    given = {"features": [3], "neighbours": [1], **record}
    path.write_text(json.dumps({"facts": {**FACTS, "n": 5}, "records": {str(person): given}}))
    return path


def test_a_vault_keeps_the_role_of_its_person(tmp_path: Path, volunteering: Path, start: Start) -> None:
    policy = tmp_path / "policy.json"
    policy.write_text(policy_text("--facts", volunteering, "--method", "vote", "--epsilon", 4))
    for person, said in ((2, "in clear: 1 of 1"), (1, "in clear: 0 of 1")):
        own, state = _record(tmp_path / f"own-{person}.json", person, label=1), tmp_path / f"s-{person}"
        assert said in enrol(own, state, "--policy", policy)
        own.unlink()
        assert State(state).policy.volunteers == {0, 2, 3}
    public = PublicFile.load(volunteering)
    split, budget = public.split(0), Budget(epsilon=4.0, volunteers=True)
    in_clear, vote = (asked.query.to_bytes() for asked in Vote().questions(public.facts, split, budget, "c"))
    for person, mine, other in ((2, in_clear, vote), (1, vote, in_clear)):
        start("--state", tmp_path / f"s-{person}", "--socket", tmp_path / f"v-{person}")
        device = VaultDevice(str(tmp_path / f"v-{person}"), person, 600)
        assert device.answer(other) is Refusal.POLICY_REFUSED
        assert isinstance(device.answer(mine), Report)
        assert device.answer(other) is Refusal.POLICY_REFUSED


def test_a_vault_tells_its_person_before_the_first_answer(tmp_path: Path, own: Path, volunteering: Path) -> None:
    """It tells it at enrolment, of the policy alone, and of the person's own role alone."""
    enrol = ["enrol", "--data", str(own), "--state", str(tmp_path / "s")]
    for wrong, says in (("sheet.pdf", "ends with .md or .html"), (tmp_path / "none" / "s.md", "No such file")):
        assert says in error_of(*enrol, "--sheet", wrong) and not (tmp_path / "s").exists()
    made = CliRunner().invoke(app, ["device", *enrol])
    assert made.exit_code == 0 and made.stdout == ""
    sheet, _, rest = made.stderr.partition("enrolled 1 devices")
    assert "every question" in sheet and "Everybody (4 people)" in sheet and rest
    policy = tmp_path / "policy.json"
    page, command = tmp_path / "sheet.html", ("--facts", volunteering, "--method", "vote", "--epsilon", 4)
    policy.write_text(policy_text(*command, "--sheet", page))
    assert policy.read_text() == policy_text(*command) and "<h2>Volunteers (3 of 5 people)</h2>" in page.read_text()
    for person, mine, other in ((2, "Volunteers", "Everybody else"), (1, "Everybody else", "Volunteers")):
        record, path = _record(tmp_path / f"own-{person}.json", person, label=1), tmp_path / f"sheet-{person}.md"
        given = ["--policy", policy, "--state", tmp_path / f"s-{person}", "--sheet", path]
        made = CliRunner().invoke(app, ["device", "enrol", "--data", str(record), *map(str, given)])
        assert made.exit_code == 0 and "Volunteers" not in made.stderr
        assert f"\n## {mine} (" in path.read_text() and f"\n## {other} (" not in path.read_text()
        assert path.stat().st_mode & 0o777 == 0o644  # the vault's own files stay private


def test_devices_name_the_classes_that_the_simulation_scored(tmp_path: Path) -> None:
    result = simulate(
        RunOptions(clients=200, method="vote", volunteers=0.3, out=tmp_path, nulls=False, reference=False)
    )
    device_model, state = result.folder / "device-model.json", result.folder / "state"
    shown = CliRunner().invoke(app, ["device", "predict", "--state", str(state), "--device-model", str(device_model)])
    assert shown.exit_code == 0, shown.stderr
    warning, private = shown.stderr.splitlines()  # a simulation pins nobody
    assert warning.startswith(f"warning: {device_model} was taken unsigned") and "as private as the list" in private
    classes = dict(tuple(map(int, line.split())) for line in shown.stdout.splitlines())
    people = State(state).population
    test = prepare(RunOptions(clients=200, method="vote", volunteers=0.3)).plans[0].split.test
    right = [classes[person] == people.labels[person] for person in test.tolist()]
    assert result.record["accuracy"]["device"] == pytest.approx(sum(right) / len(right))
    device_model.write_text("{}")
    shown = CliRunner().invoke(app, ["device", "predict", "--state", str(state), "--device-model", str(device_model)])
    assert shown.exit_code == 2 and len(shown.stderr.splitlines()) == 1


def _crafted(neighbour: int) -> DeviceModel:
    """A device model about the four people whose class is 1 if this person is in the list, and 0 if not."""
    table = np.zeros((4, 3))
    table[neighbour] = [0.0, 1.0, 0.0]
    shares = np.array([0.4, 0.3, 0.3])
    return DeviceModel.of(score_table(table, affinity(0.99, shares), shares), shares, saturation=10)


@pytest.mark.parametrize("neighbour", [0, 1, 3])
def test_the_class_of_a_crafted_device_model_tells_who_is_in_the_list(
    tmp_path: Path, own: Path, neighbour: int
) -> None:
    """So a class is as private as the list, whoever signed the device model; person 2 lists persons 0 and 3."""
    enrol(own, tmp_path / "state")
    (tmp_path / "device-model.json").write_text(_crafted(neighbour).as_text())
    arguments = [
        "device",
        "predict",
        "--state",
        str(tmp_path / "state"),
        "--device-model",
        str(tmp_path / "device-model.json"),
    ]
    shown = CliRunner().invoke(app, arguments)
    assert shown.exit_code == 0 and shown.stdout == f"2 {int(neighbour in (0, 3))}\n"
    assert "somebody may have made it so that a class tells who is in a list" in shown.stderr


def test_a_device_that_pins_its_curator_takes_what_that_one_signed(tmp_path: Path, own: Path) -> None:
    state, device_model, key, other = (tmp_path / name for name in ("state", "device-model.json", "key", "other"))
    generate(key)
    generate(other)
    enrol(own, state, "--curator-key", f"{key}.pub")
    device_model.write_text(_crafted(0).as_text())

    def signed(by: Path, model: Path = device_model) -> bytes:
        shown = CliRunner().invoke(app, ["curator", "sign-model", str(model), "--curator-key", str(by)])
        assert shown.exit_code == 0 and shown.stderr == f"signed by {CuratorKey.load(by).public}\n", shown.output
        return shown.stdout_bytes

    predict = ["predict", "--state", state, "--device-model"]
    for number, data in enumerate((device_model.read_bytes(), signed(other), signed(key)[:-2] + b" \n", b"", b"\n")):
        path = tmp_path / f"hostile-{number}"
        path.write_bytes(data)
        assert "not signed by the curator" in error_of(*predict, path)
    path = tmp_path / "signed"
    path.write_bytes(signed(key))
    shown = CliRunner().invoke(app, ["device", *map(str, predict), str(path)])
    assert (shown.exit_code, shown.stdout, shown.stderr.count("\n")) == (0, "2 1\n", 1)
    assert "as private as the list" in shown.stderr
    for text in ("{}", path.read_text(), "[" * 10**6):  # the curator signs what a device can read
        device_model.write_text(text)
        refused = CliRunner().invoke(app, ["curator", "sign-model", str(device_model), "--curator-key", str(key)])
        assert refused.exit_code == 2 and refused.stdout == "" and refused.stderr.count("\n") == 1


@pytest.mark.parametrize("head", ['{"format": 1, "devices": 3}', '{"mode": "report"}'])
def test_a_damaged_enrolment_is_one_line(tmp_path: Path, own: Path, head: str) -> None:
    enrol(own, tmp_path / "state")
    (tmp_path / "state" / "enrolment.json").write_text(head)
    (tmp_path / "model.json").write_text(_crafted(0).as_text())
    for command in (("serve", "--socket", tmp_path / "v"), ("predict", "--device-model", tmp_path / "model.json")):
        assert str(tmp_path / "state") in error_of(*command, "--state", tmp_path / "state")


def test_a_device_model_that_is_no_good_is_one_line(tmp_path: Path, own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    enrol(own, tmp_path / "state")
    predict = ("predict", "--state", tmp_path / "state", "--device-model", tmp_path / "device-model.json")
    assert "No such file" in error_of(*predict)
    text = _crafted(0).as_text()
    five = score_table(np.eye(3)[[0, 1, 2, 0, 1]], affinity(0.8, np.ones(3)))
    other_people = DeviceModel.of(five, np.ones(3), saturation=10).as_text()
    for data in (other_people, text[:-1], text.replace(": 4,", ": 1" + 400 * "0" + ",", 1), text + "x", "[" * 60_000,
                 text.replace('"levels"', '"people": 4, "levels"'), text.replace("0.0", "1e999")):  # fmt: skip
        (tmp_path / "device-model.json").write_text(data)
        assert CliRunner().invoke(app, ["device", *map(str, predict)]).exit_code == 2
        assert error_of(*predict).startswith(f"error: --device-model {tmp_path / 'device-model.json'}: ")
    monkeypatch.setattr(DeviceModel, "read", None)  # a file that is too long for these people is not parsed
    with (tmp_path / "device-model.json").open("wb") as file:
        file.truncate(99_000_000)
    assert "it has more than 6" in error_of(*predict)
