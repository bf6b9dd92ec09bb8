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
    command = [sys.executable, "-m", "cli.main", *arguments]
    run = subprocess.run(command, env=environment, cwd=installed, capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_its_code_is_about_forty_lines() -> None:
    lines = [line for line in _block("python").splitlines() if line.strip()]
    code = [line for line in lines if not line.startswith(("from", "import", '"'))]
    assert len(code) <= 45


def test_its_commands_work(installed: Path, tmp_path: Path) -> None:
    """Every command of the page, as it stands there."""
    for command in _block("sh").splitlines():
        words = command.split()
        assert words[0] == "ldpsim"
        out = ["--out", str(tmp_path / "runs"), "--json", "--set", "epochs=5"] if words[1] == "run" else []
        printed = _ldpsim(installed, *words[1:], *out)
        if words[1] == "methods":
            assert any(line.startswith("mine ") and "feature" in line for line in printed.splitlines())
            continue
        record = json.loads(printed)
        assert record["method"] == "mine" and record["devices"]["reported"] == 200
        holds = record["privacy"]["holds"]
        assert holds["bit_adjacency"]["value"] == pytest.approx(0.8 * 8)
        assert holds["bit_feature"]["value"] == pytest.approx(0.2 * 8)
        assert holds["vector"]["value"] == pytest.approx(0.2 * 8 * record["dataset"]["features"])
        life = record["privacy"]["lifetime_per_device"]
        assert life["vector"]["max"] == holds["vector"]["value"]


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
    """By enumeration: probabilities sum to 1, and the worst ratios are ``loss()``."""
    mechanism: Any = _module(installed).FeatureCount(3, 2, 4)
    people = [np.array(bits, np.float32) for bits in itertools.product((0, 1), repeat=4)]
    reports = [np.array([count]) for count in range(-60, 65)]
    table = np.array([[mechanism.log_probability(report, value) for report in reports] for value in people])
    np.testing.assert_allclose(np.exp(table).sum(axis=1), 1, atol=1e-12)
    worst = dict.fromkeys(range(1, 5), 0.0)
    for (i, one), (j, other) in itertools.combinations(enumerate(people), 2):
        moved = int((one != other).sum())
        worst[moved] = max(worst[moved], float(np.abs(table[i] - table[j]).max()))
    assert math.isclose(worst[1], mechanism.loss().bit, rel_tol=1e-8)
    assert math.isclose(worst[4], mechanism.loss().vector, rel_tol=1e-8)
    for report in reports:
        assert np.array_equal(mechanism.decode(mechanism.encode(report), device=0), report)
