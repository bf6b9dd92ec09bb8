from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from strategies.audit.audit import AuditOptions, audit
from strategies.experiments.compare import compare
from strategies.experiments.sweep import run_sweep
from strategies.experiments.tune import search
from strategies.progress import NOTHING_KEPT, noted_if_interrupted, quiet
from strategies.setup.options import RunOptions
from strategies.stress.options import StressOptions
from strategies.stress.running import stress


def test_long_work_tells_nobody_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    for work in (audit, compare, run_sweep, search, stress):
        assert inspect.signature(work).parameters["progress"].default is quiet
    quiet("cells", 0.5)
    assert capsys.readouterr() == ("", "")


def test_only_an_interrupt_gets_a_note() -> None:
    with pytest.raises(KeyboardInterrupt) as stopped, noted_if_interrupted(lambda: "outer"):
        with noted_if_interrupted(lambda: "inner"):
            raise KeyboardInterrupt
    assert stopped.value.__notes__ == ["inner", "outer"]
    with pytest.raises(ValueError, match="no") as failed, noted_if_interrupted(lambda: "note"):
        raise ValueError("no")
    assert not hasattr(failed.value, "__notes__")


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    "work",
    [
        lambda tmp_path: search(RunOptions(clients=60, out=None), [{"tau": ("0.5",)}], progress=interrupted),
        lambda tmp_path: stress(StressOptions(clients=60, out=tmp_path), progress=interrupted),
        lambda tmp_path: audit(AuditOptions(names=("noise",), workers=1), progress=interrupted),
    ],
)
def test_work_that_keeps_nothing_says_so(work: Any, tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt) as stopped:
        work(tmp_path)
    assert stopped.value.__notes__ == [NOTHING_KEPT]
