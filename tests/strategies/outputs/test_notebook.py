"""Results in a notebook and in ``print``: what stands in them, escaped, small and with nothing to load."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from ldpsim.strategies.experiments.cells import Failed
from ldpsim.strategies.experiments.sweep import SweepResult
from ldpsim.strategies.outputs.run_lines import html_of_run, text_of_run
from ldpsim.strategies.results.in_words import privacy_in_words
from tests.cli.conftest import RECORD, WITH_NULLS

HOSTILE = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Checks that tags are balanced and only of a table."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"table", "caption", "thead", "tbody", "tr", "th", "td", "br"}
        assert {name for name, _ in attrs} <= {"scope", "style"}
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_run_shows_accuracy_beside_nulls_the_claim_privacy_in_words_and_the_cost() -> None:
    record: dict[str, Any] = {**RECORD, **{name: WITH_NULLS[name] for name in ("nulls", "verdict", "reference")}}
    shown = text_of_run(record, Path("runs/a"))
    assert len(shown.splitlines()) <= 10
    for words in ("61.2 %; asking nobody 30.2 % (shuffled all); without noise 85.1 %", "is below the best null model",
                  "claimed  epsilon-LDP", "400 B down, 410 B up a device in 1 round", "runs/a",
                  *(finding.text for finding in privacy_in_words(record))):  # fmt: skip
        assert words in shown
    assert "null models: not taken" in text_of_run(RECORD, None)


def test_foreign_words_are_text_and_a_sweep_has_a_row_a_group() -> None:
    record = {**RECORD, "method": HOSTILE, "dataset": {**RECORD["dataset"], "name": HOSTILE}}
    asked = {**record, "simulation_seeded": False}
    swept = SweepResult([], Path(HOSTILE), 0, [asked, {**asked, "config_hash": "b"}], [(HOSTILE, Failed(HOSTILE))])
    for shown in (html_of_run(record, Path(HOSTILE)), swept._repr_html_()):
        Reader(shown)
        assert HOSTILE not in shown and len(shown) < 10_000
    assert "61.2" in shown and "21,797.6" in shown
