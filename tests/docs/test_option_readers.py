"""Covers strategies/setup/readers.toml too."""

from __future__ import annotations

from typer.testing import CliRunner

from docs.option_readers import text, words
from ldpsim.cli.main import app
from ldpsim.strategies.setup.option_spec import READERS


def test_the_file_is_what_the_methods_declare() -> None:
    assert READERS.read_text() == text(), "python -m docs.option_readers writes it"


def test_help_tells_who_reads_an_option() -> None:
    shown = CliRunner(env={"COLUMNS": "100"}).invoke(app, ["run", "--help"]).stdout
    plain = " ".join(shown.replace("│", " ").split())
    for option in ("reporting", "feature_share", "split"):
        assert words(option) in plain
