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
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ldpsim.curator.attacks.mechanism_audit import Effort, audit_mechanism
from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.mechanisms.categories import OneCategory
from ldpsim.devices.mechanisms.exact_loss import ONE, log_ratio, probability_threshold
from ldpsim.devices.mechanisms.mechanism import one_report, one_value
from ldpsim.devices.noise import Noise

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
NETWORK_PAGE = (ROOT / "docs" / "from-python.md").read_text()


def _block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    return str(found)


def _install(folder: Path) -> None:
    """Write the module, and the metadata that ``pip install`` would write."""
    (folder / "mine.py").write_text(_block("python"))
    (metadata := folder / "mine-1.0.dist-info").mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
    points = tomllib.loads(_block("toml"))["project"]["entry-points"]
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
    return [(command, lines) for command, lines in found if " mine" in command or command == "ldpsim methods"]


CASES = [*((_install, *pair) for pair in _shown(PAGE)), *((_write_network, *pair) for pair in _shown(NETWORK_PAGE))]


def test_the_commands_were_found() -> None:
    words = " ".join(command for _, command, _ in CASES)
    assert all(part in words for part in ("methods", "run --method mine", "audit mine", "--gnn mine:MyNet"))


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
    module = ModuleType("mine")
    monkeypatch.setitem(sys.modules, "mine", module)  # dataclasses look their module up
    exec(_block("python"), vars(module))
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


@dataclass(frozen=True)
class TwoLies(OneCategory):
    """A k-ary randomiser with two lies, by the page's table alone: the next category, or any other one.

    Truth 1 - l; the next category l / 2; each of the k - 2 others l / (2 (k - 2)).
    """

    lie: int
    categories: int
    name, version = "two_lies", 1
    loss_is_tight = True

    @classmethod
    def from_epsilon(cls, epsilon: float, *, categories: int) -> TwoLies:
        return cls(probability_threshold(epsilon, 2 * (categories - 2)), categories)

    def draw(self, values: np.ndarray, noise: Noise) -> np.ndarray:
        truth, k = self.category(values), self.categories
        lies, near = noise.bernoulli(self.lie, 1)[:, 0], noise.bernoulli(ONE // 2, 1)[:, 0]
        far = noise.uniform_integers(k - 2, 1)[:, 0]
        return np.where(lies, np.where(near, truth + 1, truth + 2 + far) % k, truth)

    def log_probability(self, report: int, value: int) -> float:
        ahead, lie = (report - self.category(value)) % self.categories, self.lie / ONE
        return math.log(1 - lie if ahead == 0 else lie / 2 if ahead == 1 else lie / 2 / (self.categories - 2))

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        others = self.categories - 2  # truth, near and far lies are as (1 - l) 2 (k - 2), l (k - 2) and l
        return 0.0 if changed == 0 else log_ratio(max((ONE - self.lie) * 2, self.lie) * others, self.lie)


class OneLie(TwoLies):
    """It forgets that the other lies are the rarer ones."""

    def loss_of(self, changed: int | None = None, *, device: int | None = None) -> float:
        return 0.0 if changed == 0 else log_ratio((ONE - self.lie) * 2, self.lie)


def test_a_randomiser_with_two_lies_passes_its_audit_and_a_wrong_loss_fails() -> None:
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
