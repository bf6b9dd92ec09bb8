from __future__ import annotations

import io
import json
import os
import re
from pathlib import Path

import pytest

from ldpsim.cli.errors import say
from ldpsim.cli.output import console, echo, print_json, text_table, working, write_plainly_where_needed
from ldpsim.cli.progress import Progress
from ldpsim.strategies.progress import warn


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


HOSTILE = "\x1b]0;owned\x1b[2J\u202eevil\x9b31m [red]mark[/nothing]"
SPELLED = r"\x1b]0;owned\x1b[2J\u202eevil\x9b31m [red]mark[/nothing]"


def test_no_sign_of_a_foreign_text_reaches_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    from rich.markup import escape
    from rich.text import Text

    echo(HOSTILE)
    warn(HOSTILE)
    say(HOSTILE)
    Progress(shown=True, patience=0.0)._write(HOSTILE)
    table = text_table("~a")
    table.add_row(escape(HOSTILE))
    for what in (escape(HOSTILE), Text(HOSTILE), table):
        console().print(what)
    out, err = capsys.readouterr()
    assert out.count(SPELLED) == 4 and err.count(SPELLED) == 3
    assert not set("\x1b\u202e\x9b") & set(out + err)


def test_colours_of_our_own_stay(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    console().print("[red]x[/red]")
    assert capsys.readouterr().out == "\x1b[31mx\x1b[0m\n"


def test_every_command_prints_by_these_functions() -> None:
    """Whatever prints past them could print a foreign sign."""
    package = Path(__file__).parents[2] / "cli"
    own = {"output.py", "progress.py"}
    direct = re.compile(r"typer\.(echo|secho)\(|(?<![\w.])print\(|print_exc|\bConsole\(\w|std(out|err)\.write")
    for path in package.rglob("*.py"):
        code = re.sub(r'"""[\s\S]*?"""', "", path.read_text())
        assert path.name in own or not direct.search(code), path
