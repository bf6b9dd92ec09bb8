from __future__ import annotations

from cli.report.words import bytes_, claim, level, loss, method_names, percent, seconds


def test_a_loss_is_never_rounded_down() -> None:
    assert [loss(value) for value in (1146.4, 14.4, 14.41, 0.8, 0.30001, 7.2, 20636.8)] == [
        "1,147", "14.4", "14.5", "0.8", "0.3001", "7.2", "20,637",
    ]  # fmt: skip


def test_what_holds_in_words() -> None:
    assert level({"status": "bounded", "value": 3.0, "delta": 1e-4}) == "3 (δ 1e-4)"
    assert level({"status": "bounded", "value": 3.0, "delta": 0.0}) == "3"
    assert level({"status": "not asked", "value": None, "delta": 0.0}) == "not asked"
    assert (claim({"value": None}), claim({"value": 8.0})) == ("–", "8")


def test_figures() -> None:
    assert (percent(None), percent(0.8257)) == ("–", "82.6")
    assert (bytes_(0), bytes_(646), bytes_(1.85e7)) == ("none", "646 B", "18.5 MB")
    assert (seconds(0.01), seconds(2.68), seconds(1234)) == ("<0.1", "2.7", "1,234")
    rows = [{"label": name} for name in "abc"]
    assert (method_names(rows), method_names(rows[:1]), method_names([])) == ("a, b and c", "a", "")
