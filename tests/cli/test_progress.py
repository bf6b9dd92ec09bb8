from __future__ import annotations

import time

import pytest

from cli.progress import Progress


def test_nothing_is_drawn_where_standard_error_is_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=0.0) as progress:
        progress("collect", 0.5)
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # Rich then takes any stream for a terminal
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.usefixtures("terminal")
def test_phases_are_drawn_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=0.0) as progress:
        for phase, share in (("collect", None), ("collect", 0.5), ("train", None), ("collect", 0.25)):
            progress(phase, share)
        out, err, deadline = "", "", time.monotonic() + 20
        while not all(expected in err for expected in ("collect", "25%", "train", "done")):
            assert time.monotonic() < deadline, err
            time.sleep(0.05)
            more = capsys.readouterr()
            out, err = out + more.out, err + more.err
    assert out + capsys.readouterr().out == ""


@pytest.mark.usefixtures("terminal")
def test_short_work_stays_silent(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(patience=30.0) as progress:
        progress("collect", 0.5)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_it_can_be_turned_off(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(shown=False, patience=0.0) as progress:
        progress("collect", 0.5)
        time.sleep(0.05)
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("terminal")
def test_it_ends_with_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError), Progress(patience=0.0) as progress:
        progress("collect", None)
        time.sleep(0.2)
        raise RuntimeError
    capsys.readouterr()
    time.sleep(0.3)
    assert capsys.readouterr().err == ""
