"""Files that a command line names: one that never ends gives one line."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ldpsim.cli.main import app

SECONDS = 60  # of CPU or waiting; an endless file takes all of them


@pytest.fixture(autouse=True)
def no_endless_read() -> Iterator[None]:
    def stop(*_: object) -> None:
        pytest.fail("it reads on and on")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", ["zero", "full", "pipe.npz"])
@pytest.mark.parametrize(
    "words",
    [
        ["run", "--clients", "60", "--collector-key", "{}"],
        ["run", "--config", "{}"],
        ["run", "--dataset", "{}"],
        ["sweep", "{}"],
        ["import", "{}"],
        ["device", "enrol", "--data", "{}", "--policy", "{}", "--state", "state"],
        ["device", "policy", "--facts", "{}", "--method", "hogs", "--epsilon", "8"],
    ],
    ids=" ".join,
)
def test_no_device_and_no_pipe_is_read(
    words: list[str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.npz")
    path = "pipe.npz" if kind == "pipe.npz" else f"/dev/{kind}"
    shown = CliRunner().invoke(app, [word.format(path) for word in words])
    assert shown.exit_code in (1, 2), shown.output
    assert [line[:6] for line in shown.stderr.splitlines()] == ["error:"], shown.stderr
    assert path in shown.stderr


def test_a_report_leaves_out_a_result_that_is_a_pipe(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "a" / "result.json")
    (tmp_path / "b" / "result.json").write_text(json.dumps({"schema": 0}))
    shown = CliRunner().invoke(app, ["report", str(tmp_path), "--out", str(tmp_path / "page.html")])
    assert shown.exit_code == 2 and "none of 2" in shown.output
