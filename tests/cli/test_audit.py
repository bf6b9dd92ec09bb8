"""``ldpsim audit``: tables, JSON, exit codes, and that everything is audited."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import ldpsim.strategies.attacks.audit.audit as auditing
from ldpsim.cli.audit import loss_table, view
from ldpsim.cli.main import app
from ldpsim.cli.screen import Screen
from ldpsim.curator import methods
from ldpsim.curator.attacks.mechanism_audit import AuditRow
from ldpsim.devices import mechanisms
from ldpsim.strategies.attacks.audit.audit import AuditOptions, audit, everything

runner = CliRunner()


def test_a_table_of_80_columns() -> None:
    found = runner.invoke(app, ["audit", "grr", "lpgnn", "noise", "--trials", "200", "--workers", "1"])
    assert found.exit_code == 0, found.output
    lines = found.stdout.splitlines()
    assert max(map(len, lines)) <= 80 and len(lines) <= 20
    assert found.stdout.startswith("Yes, the losses hold, and no figure is above its claim: 7 of 7 pass. 5 claims")
    assert "FAIL" not in found.stdout and "…" not in found.stdout
    assert [line.split()[-1] for line in lines[4:11]] == ["tight", "tight", "pass", *["tight"] * 3, "pass"]
    assert lines[-1] == "How each row was found: --details, or a page: --out FILE.html"


def made_rows(*passed: bool) -> list[AuditRow]:
    """Rows of one mechanism; the exact loss is the claim, and 1.5 times it where a row fails."""
    return [AuditRow(f"m{place}", "bit", 1.0, 1.0 if right else 1.5, None, 0.99, 100, right, f"found so {place}")
            for place, right in enumerate(passed)]  # fmt: skip


def test_ten_rows_those_that_fail_first_and_all_with_details() -> None:
    table = loss_table(made_rows(*[True] * 11, False), trials=100, confidence=0.99)
    assert table.answer == (
        "NO, a claim does not hold (m11, one entry): 11 of 12 pass. 1 FAIL. 11 claims are tight: no smaller loss would "
        "hold."
    )
    screen = Screen(width=80, highlight=False)
    with screen.capture() as capture:
        screen.print(view(table))
    lines = capture.get().splitlines()
    assert len(lines) < 20 and sum(line.startswith("m") for line in lines) == 10 and "… 2 more (--details)" in lines
    assert next(line for line in lines if line.startswith("m")).split()[0] == "m11"
    with screen.capture() as capture:
        screen.print(view(table, details=True))
    assert all(f"found so {place}" in capture.get() for place in range(12)) and "more (--details)" not in capture.get()


def test_an_exact_loss_below_the_claim_is_not_tight() -> None:
    exacts = (0.999, None, 1 - 1e-9)
    rows = [replace(row, exact=exact) for row, exact in zip(made_rows(True, True, True), exacts, strict=True)]
    table = loss_table(rows, trials=100, confidence=0.99)
    assert [line.tight for line in table.lines] == [False, False, True]
    unbounded = [replace(row, passed=None) for row in rows]
    answer = loss_table(unbounded, trials=100, confidence=0.99).answer
    assert answer == "No loss is printed that could be checked: 0 of 3 pass. 3 without a bound."
    assert "1 claim is tight" in table.answer and table.answer.startswith("Yes, the losses hold")
    assert loss_table(rows, trials=9, confidence=0.99, theirs=True).answer.startswith("No bound is above its claim")


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
    assert found.exit_code == 0 and f"How each row was found: {page}" in found.stdout.splitlines()
    text = page.read_text()
    assert "<code>ldpsim audit vote --epsilon 4 --set batches=1 --trials 100</code>" in text
    assert "4 of 4 pass." in text
    assert text.count("<tr>") == 1 + 4 and "walked through" in text and "<script" not in text
    shown = runner.invoke(app, [*arguments, "--json"])
    assert json.loads(shown.stdout)["html"] == str(page)
    assert runner.invoke(app, [*arguments, "--quiet"]).stdout.strip() == str(page)


def test_the_command_on_a_page_makes_the_same_page(tmp_path: Path) -> None:
    page, again = tmp_path / "page.html", tmp_path / "again.html"
    given = "vote --epsilon 8.474107 --set batches=1 --trials 100 --confidence 0.99999999999 --seed 3"
    assert runner.invoke(app, ["audit", *given.split(), "--workers", "1", "--out", str(page)]).exit_code == 0
    (command,) = re.findall("<code>ldpsim (.*?)</code>", page.read_text())
    assert runner.invoke(app, [*shlex.split(command), "--workers", "1", "--out", str(again)]).exit_code == 0
    assert sorted(command.split()) == sorted(["audit", *given.split()])
    assert again.read_text() == page.read_text()


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


def test_the_curve_of_noise_of_ones_own() -> None:
    """dp-accounting has 3.341409 for a Gaussian of shift root(10) at sigma 4."""
    found = runner.invoke(app, ["audit", "--gaussian", "4", "--rounds", "10", "--delta", "1e-5", "--json"])
    document = json.loads(found.stdout)
    assert found.exit_code == 0 and document["exact"] and document["passed"] is None
    assert document["epsilon"] == pytest.approx(3.341409, abs=1e-6)
    pure = runner.invoke(app, ["audit", "--laplace", "10", "--rounds", "30", "--claims", "3"])
    assert pure.exit_code == 0 and "Epsilon 3 holds at delta 0" in pure.stdout and "The claim 3 holds." in pure.stdout
    assert max(map(len, pure.stdout.splitlines())) <= 80


@pytest.mark.parametrize("options, code, said", [
    ("--gaussian 4 --delta 1e-5 --claims .9", 1, "--claims 0.9: epsilon 0.9264 holds at delta 1e-05"),
    ("--gaussian 4", 2, "--gaussian: needs --delta"), ("--gaussian 0 --delta .1", 2, "--gaussian 0: must lie"),
    ("grr --rounds 4", 2, "--rounds: only with"), ("grr --laplace 4", 2, "NAME: not with"),
    ("--laplace 4 --gaussian 4", 2, "--laplace: not with"), ("--laplace 4 --epsilon 1", 2, "--epsilon: not with"),
])  # fmt: skip
def test_noise_of_ones_own_that_fails(options: str, code: int, said: str) -> None:
    found = runner.invoke(app, ["audit", *options.split()])
    assert found.exit_code == code and said in found.stderr and len(found.stderr.strip().splitlines()) == 1


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
