"""Scripts of a person's own: no main guard, modules with the names of our folders, a long TMPDIR."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("real_processes")
ROOT = Path(__file__).resolve().parents[2]
GIVEN = 'clients=60, out=None, reference=False, nulls=False, settings={"epochs": "5"}'


def output_of(folder: Path, code: str, **environment: str) -> str:
    script = folder / "study.py"
    script.write_text("import tempfile\nfrom pathlib import Path\nimport ldpsim\n" + code)
    told = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, str(script)], cwd=folder, env=told, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "said"),
    [
        (
            'made = ldpsim.compare(["rr", "raw"], clients=60, out=Path(tempfile.mkdtemp()))\n'
            "print(made.table.is_file())", "True\n",
        ),
        (
            'grid = {"fixed": {"method": "rr", "clients": 60}, "grid": {"epsilon": [1, 2]}}\n'
            'print([row["status"] for row in ldpsim.sweep(grid, tempfile.mkdtemp()).rows])', "['done', 'done']\n",
        ),
    ],
    ids=["compare", "sweep"],
)  # fmt: skip
def test_a_script_without_a_main_guard_gets_its_table(code: str, said: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, code, TMPDIR=str(tmp_path)) == said


def test_a_module_of_the_person_with_the_name_of_our_folder_changes_nothing(tmp_path: Path) -> None:
    for name in ("devices", "curator", "strategies", "cli"):
        (tmp_path / f"{name}.py").write_text('raise RuntimeError("the person\'s own module")\n')
    assert output_of(tmp_path, f'print(ldpsim.simulate(method="rr", {GIVEN}).record["devices"]["reported"])') == "60\n"


@pytest.mark.slow
def test_a_long_tmpdir_is_no_obstacle(tmp_path: Path) -> None:
    """The path of a socket has at most 107 bytes."""
    long = tmp_path / ("x" * max(1, 140 - len(str(tmp_path))))
    long.mkdir()
    code = f'print(ldpsim.simulate(method="rr", engine="ray", workers=1, {GIVEN}).record["devices"]["reported"])'
    assert output_of(tmp_path, code, TMPDIR=str(long)) == "60\n"
