"""The tutorial's code and a network of one's own, run as a person would; the pages are read, and nothing is copied."""

from __future__ import annotations

import itertools
import math
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ldpsim.curator.attacks.mechanism_audit import Effort, audit_mechanism
from ldpsim.devices.data.records import Record
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio
from ldpsim.devices.mechanisms.mechanism import one_report, one_value
from ldpsim.devices.noise import Noise

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
NETWORK_PAGE = (ROOT / "docs" / "from-python.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


def _module(monkeypatch: pytest.MonkeyPatch, name: str, code: str) -> ModuleType:
    module = ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)  # dataclasses look their module up
    exec(code, vars(module))
    return module


def _install(folder: Path) -> None:
    """Write the module, and the metadata that ``pip install`` would write."""
    for name, code in zip(("mine.py", "two_lies.py"), _blocks("python"), strict=True):
        (folder / name).write_text(code)
    (metadata := folder / "mine-1.0.dist-info").mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    points: dict[str, dict[str, str]] = {}
    for block in _blocks("toml"):  # the second one adds a mechanism
        points |= tomllib.loads(block)["project"]["entry-points"]
    (metadata / "entry_points.txt").write_text("".join(
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in names.items())
        for group, names in points.items()))  # fmt: skip


def _write_network(folder: Path) -> None:
    (block,) = re.findall(r"^```python\n(import torch\n.*?)^```", NETWORK_PAGE, re.MULTILINE | re.DOTALL)
    (folder / "mine.py").write_text(block)


def _shown(page: str) -> list[tuple[str, str]]:
    """Return each command of a page that is followed by lines of what it prints, and these lines."""
    found = re.findall(
        r"^```sh\n(ldpsim [^\n]*)\n```\n(?:(?!```).)*?^```text\n(.*?)^```", page, re.MULTILINE | re.DOTALL
    )
    return [(command, lines) for command, lines in found if re.search(" mine| two_lies|ldpsim methods$", command)]


CASES = [*((_install, *pair) for pair in _shown(PAGE)), *((_write_network, *pair) for pair in _shown(NETWORK_PAGE))]


def test_the_commands_were_found() -> None:
    words = " ".join(command for _, command, _ in CASES)
    assert all(
        part in words
        for part in (
            "methods",
            "run --method mine",
            "audit mine",
            "audit two_lies",
            "--label-mechanism two_lies",
            "--gnn mine:MyNet",
        )
    )


@pytest.mark.parametrize(("prepare", "command", "lines"), CASES, ids=[command for _, command, _ in CASES])
def test_a_command_prints_the_lines_that_the_page_shows(
    prepare: Callable[[Path], None], command: str, lines: str, tmp_path: Path
) -> None:
    """The words to the letter; figures of another processor within three points."""
    prepare(tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "ldpsim.cli.main", *shlex.split(command)[1:]], cwd=tmp_path, capture_output=True,
        text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]), "COLUMNS": "80"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    shown = " ".join(done.stdout.replace("│", " ").split())
    for line in lines.splitlines():
        words, figures = " ".join(line.split()), re.findall(r"\d+\.\d+", line)
        found = re.search(re.sub(r"\d+\\\.\d+", r"(\\d+\\.\\d+)", re.escape(words)), shown)
        assert found is not None, line
        near = 3.0 if "%" in line else 0.03
        assert [float(one) for one in found.groups()] == pytest.approx([float(one) for one in figures], abs=near), line


def test_its_mechanism_loses_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """By enumeration of all lists and answers: probabilities sum to 1, and the worst ratios are ``loss()``."""
    module = _module(monkeypatch, "mine", _blocks("python")[0])
    response = GRR.from_epsilon(1.5, categories=4)
    mechanism = module.FrequentClass(response.lie, 3, (0, 1, 1, 2, -1))
    lists = [np.array(ids, np.int32) for size in range(6) for ids in itertools.combinations(range(5), size)]
    reports = [one_report(mechanism, bytes([answer]), 0) for answer in range(4)]
    nobody = np.zeros(0, np.int32), np.zeros(0, np.float32)
    values = [one_value(mechanism, Record(*nobody, near, 0), 0) for near in lists]
    table = np.array([[mechanism.log_probability(report, value) for report in reports] for value in values])
    np.testing.assert_allclose(np.exp(table).sum(axis=1), 1, atol=1e-12)
    worst = {"bit": 0.0, "vector": 0.0}
    for (i, one), (j, other) in itertools.combinations(enumerate(lists), 2):
        ratio = float(np.abs(table[i] - table[j]).max())
        worst["vector"] = max(worst["vector"], ratio)
        if len(np.setxor1d(one, other)) == 1:
            worst["bit"] = max(worst["bit"], ratio)
    assert math.isclose(worst["bit"], mechanism.loss().bit, rel_tol=1e-8)
    assert math.isclose(worst["vector"], mechanism.loss().vector, rel_tol=1e-8)
    assert values[0] == 3 and values[-1] == 1  # nobody; everybody
    assert mechanism.encode(np.array(reports), np.zeros(4, int)) == [bytes([answer]) for answer in range(4)]
    with pytest.raises(ValueError, match="not below 4"):
        one_report(mechanism, bytes([4]), 0)


def test_a_randomiser_with_two_lies_passes_its_audit_and_a_wrong_loss_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    TwoLies = _module(monkeypatch, "two_lies", _blocks("python")[1]).TwoLies

    class OneLie(TwoLies):  # type: ignore[misc, valid-type]
        """It forgets that the other lies are the rarer ones."""

        def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
            return 0.0 if changed == 0 else log_ratio((ONE - self.lie) * 2, self.lie)

    for kind, passed in ((TwoLies, True), (OneLie, False)):
        rows = {row.level: row for row in audit_mechanism(kind, Effort(2000), stream=Noise)}
        assert rows.keys() == {"bit", "vector", "law"} and rows["law"].passed
        assert rows["vector"].passed is rows["bit"].passed is passed
        assert "walked through" in rows["vector"].detail
    made = TwoLies.from_epsilon(2.0, categories=5)
    table = np.exp([[made.log_probability(report, value) for report in range(5)] for value in range(5)])
    estimates = np.array([made.estimate(report) for report in range(5)])
    np.testing.assert_allclose(table.sum(axis=1), 1)
    np.testing.assert_allclose(table @ estimates, np.eye(5), atol=1e-12)
    assert made.loss().vector == pytest.approx(2.0, abs=2e-9) == np.log(table.max(axis=0) / table.min(axis=0)).max()
