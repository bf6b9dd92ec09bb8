"""The tutorial's own code, installed as a distribution that is thrown away, run as a person would."""

from __future__ import annotations

import importlib.util
import itertools
import json
import math
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ldpsim.devices.data.population import Record
from ldpsim.devices.mechanisms import GRR

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()


def _block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lay out what ``pip install`` leaves: the module, and a dist-info folder with its entry points."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "mine.py").write_text(_block("python"))
    project = tomllib.loads(_block("toml"))["project"]
    info = folder / f"{project['name']}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [line for group, points in groups for line in (f"[{group}]", *(f"{k} = {v}" for k, v in points.items()))]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


def _ldpsim(installed: Path, *arguments: str) -> str:
    paths = [str(installed), str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "ldpsim.cli.main", *arguments]
    run = subprocess.run(command, env=environment, cwd=installed, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_its_code_is_about_forty_lines() -> None:
    lines = [line for line in _block("python").splitlines() if line.strip()]
    code = [line for line in lines if not line.startswith(("from", "import", '"'))]
    assert len(code) <= 47


@pytest.mark.slow
def test_its_commands_work(installed: Path, tmp_path: Path) -> None:
    """Every command of the page, as it stands there, with the figures that the page shows."""
    for command in _block("sh").splitlines():
        words = command.split()
        assert words[0] == "ldpsim"
        out = ["--out", str(tmp_path / "runs"), "--json"] if words[1] == "run" else []
        printed = _ldpsim(installed, *words[1:], *out)
        if words[1] == "methods":
            assert any(line.startswith("mine ") and "untrusted" in line for line in printed.splitlines())
            continue
        record = json.loads(printed)
        assert record["method"] == "mine" and record["devices"]["reported"] == 1000
        holds = record["privacy"]["holds"]
        for level in ("bit_adjacency", "user"):
            assert holds[level]["value"] == pytest.approx(4) and holds[level]["value"] <= 4
        assert holds["relationship"]["value"] == pytest.approx(8)
        assert record["privacy"]["lifetime_per_device"]["user"]["max"] == holds["user"]["value"]
        found = {"test": record["accuracy"]["test"], "chance": record["nulls"]["chance"]["test"]}
        shown = dict(re.findall(r"^(test|chance) +([\d.]+) %", _block("text"), flags=re.MULTILINE))
        for name, accuracy in found.items():
            assert accuracy == pytest.approx(float(shown[name]) / 100, abs=0.03)
        assert found["test"] > found["chance"] + 0.3  # it works


def _module(installed: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("mine", installed / "mine.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["mine"] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules["mine"]
    return module


def test_its_mechanism_loses_what_it_says(installed: Path) -> None:
    """By enumeration of all lists and answers: probabilities sum to 1, and the worst ratios are ``loss()``."""
    module: Any = _module(installed)
    response = GRR.from_epsilon(1.5, categories=4)
    mechanism = module.FrequentClass(response.lie, 3, (0, 1, 1, 2, -1))
    lists = [np.array(ids, np.int32) for size in range(6) for ids in itertools.combinations(range(5), size)]
    reports = [mechanism.decode(bytes([answer]), device=0) for answer in range(4)]
    values = [mechanism.value_of(Record(np.zeros(0, np.int32), np.zeros(0, np.float32), near, 0), device=0)
              for near in lists]  # fmt: skip
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
    for report in reports:
        assert np.array_equal(mechanism.decode(mechanism.encode(report), device=0), report)
    with pytest.raises(ValueError, match="not a report"):
        mechanism.decode(bytes([4]), device=0)
