from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import pytest

from ldpsim.cli import progress as module
from ldpsim.cli.progress import Progress


class Clock:
    """A clock that stands still until it is set."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(module, "time", made)
    return made


def heard(capsys: pytest.CaptureFixture[str], *expected: str) -> str:
    """What stands on standard error when all that is expected is there; a timer writes some of it."""
    found = ""
    while not all(text in found for text in expected):
        time.sleep(0.02)
        shown = capsys.readouterr()
        assert shown.out == ""
        found += shown.err
    return found


# ---- a pipe or a file ---------------------------------------------------------------------


def test_a_long_phase_has_a_line_for_each_tenth_with_the_time_left(
    capsys: pytest.CaptureFixture[str], clock: Clock
) -> None:
    with Progress(patience=50.0) as progress:
        progress("collect", None)
        for percent in range(101):
            clock.now = percent * 10.0
            progress("collect", percent / 100)
    # The first five steps are inside the patience; then the time that the rest needs at this pace.
    assert capsys.readouterr().err.splitlines() == [
        "collect 10 %, 15 min left", "collect 20 %, 13 min left", "collect 30 %, 12 min left",
        "collect 40 %, 10 min left", "collect 50 %, 8 min left", "collect 60 %, 7 min left", "collect 70 %, 5 min left",
        "collect 80 %, 3 min left", "collect 90 %, 2 min left", "collect 100 %",
    ]  # fmt: skip


def test_a_phase_that_is_not_over_soon_gets_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=0.0) as progress:
        progress("reconstruct", None)
        assert heard(capsys, "reconstruct") == "reconstruct\n"
        progress("train", None)
        assert heard(capsys, "train") == "train\n"
        progress("train", None)
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


def test_a_reader_that_is_gone_does_not_end_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed:
        encoding = "utf-8"

        def write(self, _: str) -> None:
            raise BrokenPipeError

        def flush(self) -> None:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    with Progress(patience=0.0) as progress:
        progress("train", 0.5)


def test_a_figure_has_a_line_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    for shown in (True, False):
        with Progress(shown=shown, patience=50.0) as progress:
            progress.figure("accuracy 50.0 %; the rest follows")
            assert capsys.readouterr() == ("", "accuracy 50.0 %; the rest follows\n" if shown else "")


# ---- a terminal ---------------------------------------------------------------------------


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich then takes any stream for a terminal
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("terminal")
def test_phases_are_drawn_with_percentage_and_time_left(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=0.0) as progress:
        progress("collect", None)
        progress("collect", 0.5)
        progress("train", None)
        for share in (0.1, 0.2, 0.3):
            progress("train", share)
            time.sleep(0.02)
        heard(capsys, "collect", "100%", "train", "30%", "━")


@pytest.mark.usefixtures("terminal")
def test_a_figure_stands_on_the_terminal_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=50.0) as progress:
        progress("nulls", None)
        progress.figure("accuracy 50.0 %; the rest follows")
        heard(capsys, "accuracy 50.0 %; the rest follows", "nulls")
