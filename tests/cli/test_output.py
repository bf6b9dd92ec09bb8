from __future__ import annotations

import io
import json
import logging
import os

import pytest

from cli.output import WIDTH, console, print_json, text_table, working, write_plainly_where_needed


def test_a_document_is_json_and_has_no_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [1, None]})
    assert json.loads(capsys.readouterr().out) == {"a": [1, None]}
    with pytest.raises(ValueError, match="JSON"):
        print_json(float("nan"))


def test_nothing_printed_while_working_reaches_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    with working(silent=True):
        print("from Python")
        os.write(1, b"from a library\n")
    print("result")
    out, err = capfd.readouterr()
    assert out == "result\n"
    assert "from Python" in err and "from a library" in err


def test_what_a_long_run_is_expected_to_take_is_shown_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    log = logging.getLogger("ldpsim.expected")
    for silent, wanted in ((False, "expected: 3 GiB\n"), (True, "")):
        with working(silent=silent):
            log.info("expected: %s GiB", 3)
        assert capsys.readouterr() == ("", wanted)
    log.info("later")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("encoding", "written"), [
    ("ascii", b"61.2 +- 1.0 ^ ? -"), ("latin-1", b"61.2 \xb1 1.0 ^ ? -"), ("utf-8", "61.2 ± 1.0 ▲ 中 –".encode()),
])  # fmt: skip
def test_a_sign_that_the_encoding_lacks_is_spelled(
    encoding: str, written: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")
    monkeypatch.setattr("sys.stdout", stream)
    write_plainly_where_needed()
    stream.write("61.2 ± 1.0 ▲ 中 –")
    stream.flush()
    assert stream.buffer.getvalue() == written  # type: ignore[attr-defined]


def test_a_table_fits_the_width_and_cuts_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    shown = text_table("!name", ">count")
    shown.add_row("x" * 200, "7")
    console().print(shown)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= WIDTH and lines[1].rstrip().endswith("7") and "…" in lines[1]
