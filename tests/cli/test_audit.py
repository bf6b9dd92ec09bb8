"""``ldpsim audit``: tables, JSON, exit codes, and that everything is audited."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import ldpsim.strategies.attacks.audit.audit as auditing
from ldpsim.cli.main import app
from ldpsim.curator import methods
from ldpsim.curator.attacks.mechanism_audit import AuditRow
from ldpsim.devices import mechanisms
from ldpsim.strategies.attacks.audit.audit import AuditOptions, audit, everything

runner = CliRunner()


def test_a_table_of_80_columns() -> None:
    found = runner.invoke(app, ["audit", "grr", "lpgnn", "noise", "--trials", "200", "--workers", "1"])
    assert found.exit_code == 0, found.output
    assert max(len(line) for line in found.stdout.splitlines()) <= 80
    assert "7 of 7 pass" in found.stdout and "FAIL" not in found.stdout and "…" not in found.stdout
    assert all(line.rstrip().endswith("pass") for line in found.stdout.splitlines()[1:8])


def test_everything_is_audited() -> None:
    names = everything()
    assert set(mechanisms.BUILT_IN) | set(methods.BUILT_IN) | {"noise"} <= set(names)


def test_what_comes_through_entry_points_is_audited(monkeypatch: pytest.MonkeyPatch) -> None:
    from ldpsim.devices.mechanisms import GRR

    class Foreign(GRR):
        name = "foreign"

    monkeypatch.setattr(auditing, "mechanisms", lambda: {"foreign": Foreign})
    rows = audit(AuditOptions(names=("foreign",), trials=100))
    assert {row.name for row in rows} == {"foreign"} and all(row.passed for row in rows)


def test_a_failure_exits_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = AuditRow("grr", "bit", 1.0, 1.5, 0.9, 0.99, 100, False, "p and q as printed")
    monkeypatch.setattr(auditing, "audit_one", lambda name, effort, of_run: [wrong])
    found = runner.invoke(app, ["audit", "grr", "--workers", "1"])
    assert found.exit_code == 1 and "FAIL" in found.stdout and "p and q as printed" in found.stderr
    assert len(found.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("settings", [{}, {"candidates": "3"}])
def test_a_method_is_audited_at_the_setting_that_is_asked_for(
    settings: dict[str, str],
) -> None:
    asked = AuditOptions(names=("vote",), trials=100, epsilon=4.0, settings=settings)
    method, budget = asked.of_run["vote"]
    assert budget.epsilon == 4 and vars(method)["candidates"] == int(settings.get("candidates", 0))
    rows = {row.level: row for row in audit(asked)}
    assert {level: rows[level].claimed for level in ("bit_adjacency", "relationship", "user")} == pytest.approx(
        {"bit_adjacency": 4.0, "relationship": 8.0, "user": 4.0}
    )
    for row in rows.values():
        assert row.passed and row.exact == pytest.approx(row.claimed)
    assert audit(AuditOptions(names=("vote",), trials=100))[0].claimed == 2  # without a setting: a small budget


def test_a_page_has_all_rows_and_what_was_asked_for(tmp_path: Path) -> None:
    page = tmp_path / "vote.html"
    arguments = f"audit vote --epsilon 4 --set batches=1 --trials 100 --workers 1 --out {page}".split()
    found = runner.invoke(app, arguments)
    assert found.exit_code == 0 and f"Written to {page}" in found.stdout.replace("\n", "")
    text = page.read_text()
    assert "ldpsim audit vote --epsilon 4 --set batches=1" in text and "4 of 4 pass." in text
    assert text.count("<tr>") == 1 + 4 and "walked through" in text and "<script" not in text
    shown = runner.invoke(app, [*arguments, "--json"])
    assert json.loads(shown.stdout)["html"] == str(page)
    assert runner.invoke(app, [*arguments, "--quiet"]).stdout.strip() == str(page)


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
    bad = asked("clear", *claim, "--json")
    document = json.loads(bad.stdout)
    assert bad.exit_code == 1 and not document["passed"] and document["rows"][0]["name"] == "audited_of_cli:clear"
    assert document["rows"][0]["lower_bound"] > 1 and " against " in document["rows"][0]["detail"]
    for wrong in (asked("half"), asked("half", "--domain", "0:1"), asked("half", "--domain", "1:1", "--claims", "1"),
                  asked("nowhere", *claim), asked("half", "grr", *claim), asked("broken", *claim)):  # fmt: skip
        assert wrong.exit_code == 2 and len(wrong.stderr.strip().splitlines()) == 1, wrong.output
    assert "broken(0) raised KeyError" in asked("broken", *claim, "--quiet").stderr


FEW = ("--released-model", "--shadows", "8", "--set", "epochs=5")


def test_an_attack_on_a_published_model(tmp_path: Path) -> None:
    page = tmp_path / "attack.html"
    found = runner.invoke(app, ["audit", "raw", *FEW, "--json", "--out", str(page)])
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["passed"] is True and len(document["rows"]) == 3
    for row in document["rows"]:
        assert row["passed"] is None and row["claimed"] is None
    text = page.read_text()
    assert "<code>ldpsim audit raw --released-model --shadows 8 --set epochs=5</code>" in text
    assert text.count("<tr>") == 1 + 3 and "nothing bounds the attack" in text
