"""Words of the rows of ``ldpsim poison``."""

from __future__ import annotations

from cli.poison_words import accuracy, by_method, difference, goal_words, named_lie, number, share_words, theory
from tests.cli.test_poison import row


def test_rows_stand_in_order() -> None:
    rows = [row("mimic", lie="response"), row("fakes", lie="input", defence="weight"), row("fakes", lie="input"),
            row("silent"), row("none", share=0.0), row("none", share=0.0, epsilon=None)]  # fmt: skip
    found = by_method(rows)
    assert list(found) == ["hogs eps 8", "hogs"]
    names = [named_lie(entry) for entry in found["hogs eps 8"]]
    assert names == ["nobody lies", "silent", "fakes input", "  + weight", "mimic response"]


def test_figures() -> None:
    assert accuracy(row("none", accuracy=None)) == "–" and accuracy(row("none", std=None)) == "80.0"
    assert difference(row("silent", vs_silent=0.1)) == "–" and difference(row("fakes", vs_silent=-1e-9)) == "+0.0"
    assert goal_words(row("fakes")) == "–"
    assert goal_words(row("one-label", goal="inflate", goal_value=0.5, goal_clean=None)) == "50.0"
    assert (number(None), number(1.25), share_words(0.5)) == ("–", "1.2", "50.0")
    assert theory(row("fakes", passed=False)) == "differs" and theory(row("fakes")) == "–"
