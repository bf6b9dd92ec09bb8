"""Workshop: a copy of the checkout in a temporary folder, and the process that runs mutants there."""

from __future__ import annotations

import compileall
import json
import os
import py_compile
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

# What a copy leaves out: environments, outputs and caches.
LEFT_OUT = shutil.ignore_patterns(
    ".*_cache", ".git", ".hypothesis", ".venv", "venv", "__pycache__", "*.egg-info", "build", "dist", ".coverage"
)
PACKAGES = ("devices", "curator", "strategies", "cli", "benchmarks", "docs")


class Workshop:
    """One copy and one worker; the checkout itself is only read.

    Args:
        root: The checkout.
        packages: Packages whose byte code is made first; the others are compiled by each mutant that needs them.
        libraries: Libraries that the worker imports first; None for its own list.

    >>> from benchmarks import ROOT
    >>> with Workshop(ROOT) as shop:  # doctest: +SKIP
    ...     shop.run(["tests/curator/privacy/test_levels.py"], 60)["code"]
    0
    """

    def __init__(
        self, root: Path, *, packages: Sequence[str] = PACKAGES, libraries: Sequence[str] | None = None
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ldpsim-mutants-"))
        self.folder.chmod(0o755)  # as a usual temporary folder: some tests go on as another user
        self.copy = self.folder / "checkout"
        try:
            shutil.copytree(root, self.copy, ignore=self._left_out)
            for package in packages:  # byte code that is checked by content: a mutant of the same second counts
                compileall.compile_dir(
                    self.copy / package, quiet=2, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH
                )
            self.process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.mutants.worker", *(libraries or ())],
                cwd=self.copy,
                env=self._environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    @staticmethod
    def _left_out(folder: str, names: list[str]) -> set[str]:
        found = LEFT_OUT(folder, names)
        outputs = {"runs"} if (Path(folder) / "pyproject.toml").is_file() else set()  # strategies/runs is no output
        return found | outputs

    def _environment(self) -> dict[str, str]:
        """Return the worker's environment: the copy is imported, also by processes that tests start."""
        here = {"PYTHONPATH": str(self.copy), "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": str(self.folder)}
        return {**os.environ, "OMP_NUM_THREADS": "1", **here}

    def run(self, tests: list[str], limit: float, module: str | None = None, source: str = "") -> dict[str, Any]:
        """Run test files on one mutant, as :func:`benchmarks.mutants.worker.run`."""
        assert self.process.stdin is not None and self.process.stdout is not None
        job = {"tests": tests, "limit": limit, "module": module, "source": source}
        self.process.stdin.write(json.dumps(job) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"the worker in {self.copy} ended with {self.process.wait()}")
        return json.loads(line)

    def close(self) -> None:
        """End the worker and remove the copy."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Workshop:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.close()
