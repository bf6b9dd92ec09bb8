"""What ``make run`` installs: nothing that no module imports, no tool of tests or pages; where PyTorch comes from."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tomllib
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

NOT_FOR_A_RUN = {
    "sphinx",
    "pydata-sphinx-theme",
    "myst-nb",
    "ipykernel",
    "selenium",
    "pytest",
    "mypy",
    "ruff",
    "matplotlib",
}
# A python that notes its arguments, one call a line. The folder "wheels" has PyTorch; its index is near if NEAR is set.
STUB = """#!/bin/sh
echo "$* index=$UV_DEFAULT_INDEX links=$UV_FIND_LINKS" | tr '\\n' ' ' >> "$CALLS"
echo >> "$CALLS"
case "$*" in
  *--dry-run*) [ "$UV_FIND_LINKS" = wheels ] ;;
  -c*) [ -n "$NEAR" ] ;;
  *config*) echo "$PIP_CONFIGURED" ;;
  *--editable*) [ -z "$BROKEN" ] || { echo "no network"; exit 1; } ;;
esac
"""


def _imported() -> set[str]:
    """Return the names of distributions that a module of the four packages imports, in lower case."""
    names = set()
    for package in ("cli", "curator", "devices", "strategies", "ldpsim"):
        for path in (ROOT / package).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Import):
                    names |= {alias.name.split(".")[0] for alias in node.names}
                elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                    names.add(node.module.split(".")[0])
    found = packages_distributions()
    return {distribution.lower().replace("_", "-") for name in names for distribution in found.get(name, ())}


def _closure(names: set[str]) -> set[str]:
    """Return ``names`` with all that they require, without extras, as far as it is installed here."""
    found: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        found.add(name)
        try:
            requirements = [Requirement(line) for line in requires(name) or ()]
        except PackageNotFoundError:
            continue
        needed = (line for line in requirements if not line.marker or line.marker.evaluate({"extra": ""}))
        waiting |= {line.name.lower() for line in needed} - found
    return found


def _dependencies() -> set[str]:
    return {Requirement(line).name for line in PROJECT["dependencies"]}


def test_a_product_module_imports_each_dependency() -> None:
    assert _dependencies() - _imported() == set()


def test_no_tool_of_tests_or_pages_comes_with_a_run() -> None:
    needed = _closure(_dependencies())
    assert "torch" in needed and needed & NOT_FOR_A_RUN == set()


def _install(tmp_path: Path, *extras: str, **variables: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    """Run install.sh with the stub as Python; return its outcome and the calls."""
    python, calls = tmp_path / "venv" / "bin" / "python", tmp_path / "calls"
    python.parent.mkdir(parents=True)
    python.write_text(STUB)
    python.chmod(0o755)
    left_out = re.compile("PIP_|UV_")
    environment = {name: value for name, value in os.environ.items() if not left_out.match(name)}
    environment |= {"VENV": str(python.parents[1]), "CALLS": str(calls), **variables}
    done = subprocess.run([ROOT / "install.sh", *extras], env=environment, capture_output=True, text=True, check=False)
    return done, calls.read_text().splitlines()


@pytest.mark.parametrize(
    ("variables", "torch", "arguments"),
    [
        ({"PIP_FIND_LINKS": "wheels", "NEAR": "yes"}, "PyTorch from wheels", r"--editable \. index= links=wheels"),
        ({"PIP_FIND_LINKS": "other", "NEAR": "yes"}, "its own index", r"--torch-backend auto .*links=other"),
        ({"NEAR": "yes"}, "its own index", r"--editable \. --torch-backend auto index= links= "),
        ({}, "from PyPI, with CUDA on Linux (about 3 GB)", r"--editable \. index= links= "),
        ({"PIP_INDEX_URL": "https://mirror/simple"}, "from PyPI", r"--editable \. index=https://mirror/simple links= "),
        ({"PIP_CONFIGURED": "wheels"}, "PyTorch from wheels", r"--editable \. index=wheels links=wheels"),
    ],
)  # fmt: skip
def test_uv_installs_and_pytorch_comes_without_cuda_where_it_can(
    variables: dict[str, str], torch: str, arguments: str, tmp_path: Path
) -> None:
    done, calls = _install(tmp_path, **variables)
    assert done.returncode == 0 and torch in done.stdout
    assert len(done.stdout.splitlines()) == 1
    assert re.match(rf"-m uv pip install .*{arguments}", calls[-1])


def test_extras_are_named_and_arguments_of_pip_are_for_pip(tmp_path: Path) -> None:
    done, calls = _install(tmp_path, "dev", "docs", PIP_ARGS="--find-links 'my wheels'")
    assert re.match(r"-m pip .*install --find-links my wheels .*--editable \.\[dev,docs\]", calls[-1])
    assert not any("-m uv" in line for line in calls)
    assert re.fullmatch(r"what the extras need: dev docs, by pip \.\.\. \d+ s\n", done.stdout)


def test_a_step_that_fails_shows_its_output(tmp_path: Path) -> None:
    done, _ = _install(tmp_path, BROKEN="yes")
    assert done.returncode == 1
    assert done.stdout.endswith("(about 3 GB) ... failed\nno network\n")
