from __future__ import annotations

import inspect

import pytest

from strategies.audit.audit import audit
from strategies.experiments.compare import compare
from strategies.experiments.sweep import run_sweep
from strategies.experiments.tune import search
from strategies.progress import quiet
from strategies.stress.running import stress


def test_long_work_tells_nobody_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    for work in (audit, compare, run_sweep, search, stress):
        assert inspect.signature(work).parameters["progress"].default is quiet
    quiet("cells", 0.5)
    assert capsys.readouterr() == ("", "")
