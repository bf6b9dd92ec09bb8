"""``ldpsim audit``: the table, JSON, the exit code, and that everything is audited.

Covers strategies/attacks/audit/audit.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import strategies.attacks.audit.audit as auditing
from cli.audit import audit as command
from cli.main import app
from curator import methods
from curator.attacks.audit_row import AuditRow
from curator.attacks.released_model import InferenceRow
from devices import mechanisms
from strategies.attacks.audit.audit import AuditOptions, audit, everything

runner = CliRunner()


def test_a_table_of_80_columns() -> None:
    found = runner.invoke(app, ["audit", "grr", "lpgnn", "noise", "--trials", "200", "--workers", "1"])
    assert found.exit_code == 0, found.output
    assert max(len(line) for line in found.stdout.splitlines()) <= 80
    assert "7 of 7 pass" in found.stdout and "FAIL" not in found.stdout and "…" not in found.stdout
    assert all(line.rstrip().endswith("pass") for line in found.stdout.splitlines()[1:8])


def test_json_has_what_the_contract_names() -> None:
    found = runner.invoke(app, ["audit", "grr", "raw", "--trials", "200", "--workers", "1", "--json"])
    document = json.loads(found.stdout)
    assert document["passed"] is True
    for row in document["rows"]:
        assert {"name", "level", "claimed", "exact", "lower_bound", "confidence", "trials", "passed"} <= set(row)


def test_everything_is_audited() -> None:
    names = everything()
    assert set(mechanisms.BUILT_IN) | set(methods.BUILT_IN) | {"device", "noise"} <= set(names)


def test_what_comes_through_entry_points_is_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    from devices.mechanisms import GRR

    class Foreign(GRR):
        name = "foreign"

    monkeypatch.setattr(auditing, "mechanisms", lambda: {"foreign": Foreign})
    rows = audit(AuditOptions(names=("foreign",), trials=100))
    assert {row.name for row in rows} == {"foreign"} and all(row.passed for row in rows)


def test_a_failure_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = AuditRow("grr", "bit", 1.0, 1.5, 0.9, 0.99, 100, False, "p and q as printed")
    monkeypatch.setattr(auditing, "audit_one", lambda name, effort: [wrong])
    found = runner.invoke(app, ["audit", "grr", "--workers", "1"])
    assert found.exit_code == 1 and "FAIL" in found.stdout and "p and q as printed" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


def test_what_cannot_be_audited_fails_and_the_others_are_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    real = auditing.audit_one

    def one(name: str, effort: Any) -> list[AuditRow]:
        return real(name, effort) if name == "noise" else 1 / 0  # type: ignore[return-value]

    monkeypatch.setattr(auditing, "audit_one", one)
    broken, noise = audit(AuditOptions(names=("grr", "noise"), trials=100))
    assert noise.passed and noise.name == "noise"
    assert (broken.name, broken.passed, broken.detail) == ("grr", False, "ZeroDivisionError: division by zero")


def test_mistakes_are_one_line() -> None:
    for wrong in ([], ["grr", "--all"], ["gr"], ["grr", "--trials", "1"], ["grr", "--confidence", "1"],
                  ["grr", "--workers", "-1"], ["grr", "--seed", "-1"], ["hogs", "--shadows", "8"]):  # fmt: skip
        found = runner.invoke(app, ["audit", *wrong])
        assert found.exit_code == 2, found.output
        assert len(found.stderr.strip().splitlines()) == 1
    assert "did you mean grr" in runner.invoke(app, ["audit", "gr"]).stderr


@pytest.mark.slow
def test_workers_give_the_same_rows() -> None:
    asked = {"names": ("grr", "raw"), "trials": 100}
    assert audit(AuditOptions(**asked)) == audit(AuditOptions(**asked, workers=2))  # type: ignore[arg-type]


CODE = """
import random
def half(value):
    return value if random.random() < 0.5 else 1 - value
def clear(value):
    return value
def broken(value):
    raise KeyError(value)
"""


def test_a_function_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "audited_of_cli.py").write_text(CODE)

    def asked(name: str, *more: str) -> Any:
        return runner.invoke(app, ["audit", f"audited_of_cli:{name}", "--trials", "400", *more])

    claim = ("--domain", "0:1", "--claims", "1")
    good = asked("half", *claim)
    assert good.exit_code == 0 and "proves nothing about the claim" in " ".join(good.stdout.split()), good.output
    assert max(len(line) for line in good.stdout.splitlines()) <= 80
    bad = asked("clear", *claim, "--json")
    document = json.loads(bad.stdout)
    assert bad.exit_code == 1 and not document["passed"] and document["rows"][0]["name"] == "audited_of_cli:clear"
    assert document["rows"][0]["lower_bound"] > 1 and " against " in document["rows"][0]["detail"]
    for wrong in (asked("half"), asked("half", "--domain", "0:1"), asked("half", "--domain", "1:1", "--claims", "1"),
                  asked("nowhere", *claim), asked("half", "grr", *claim), asked("broken", *claim),
                  runner.invoke(app, ["audit", "grr", "--claims", "1"]),
                  runner.invoke(app, ["audit", "no_such_module:f", *claim])):  # fmt: skip
        assert wrong.exit_code == 2 and len(wrong.stderr.strip().splitlines()) == 1, wrong.output
    assert "broken(0) raised KeyError" in asked("broken", *claim, "--quiet").stderr


FEW = ("--released-model", "--shadows", "8", "--clients", "40", "--set", "epochs=5")


def test_attacks_on_a_published_model() -> None:
    found = runner.invoke(app, ["audit", "raw", *FEW, "--json"])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["passed"] is True and len(document["rows"]) == 4
    for row in document["rows"]:
        assert row["passed"] is None and row["claimed"] is None and 0 <= row["auc"] <= 1


def test_the_table_of_attacks_has_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    made = [InferenceRow("silo-fedavg-gcn", "vector", claimed, None, 0.5, 0.999999, 80, passed, "words")
            for claimed, passed in ((0.25, False), (None, None))]  # fmt: skip
    monkeypatch.setattr("strategies.attacks.audit.released_model.audit_released", lambda *given, **more: made)
    found = runner.invoke(app, ["audit", "raw", *FEW])
    assert found.exit_code == 1
    assert max(len(line) for line in found.stdout.splitlines()) <= 80
    assert "FAIL" in found.stdout and "no bound" in found.stdout and "…" not in found.stdout


@pytest.mark.parametrize("option", [("--dataset", "cora"), ("--clients", "40"), ("--epsilon", "1"), ("--set", "l=1")])
def test_options_of_runs_need_a_released_model(option: tuple[str, str]) -> None:
    found = runner.invoke(app, ["audit", "raw", *option])
    assert found.exit_code == 2 and f"{option[0]}: only with --released-model" in found.output


def test_the_command_and_the_library_have_the_same_defaults() -> None:
    mine, own = inspect.signature(command).parameters, AuditOptions(names=())
    assert mine["trials"].default == own.trials == 20_000
    for name in ("confidence", "seed"):
        assert mine[name].default == getattr(own, name)
