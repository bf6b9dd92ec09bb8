"""The page of ``ldpsim poison``: everything in one file, escaped, and nothing that could fetch."""

from __future__ import annotations

from pathlib import Path

from cli.poison_page import write_page
from cli.poison_words import COLUMNS
from strategies.attacks.campaign import CampaignResult
from tests.cli.test_poison import row


def test_the_page(tmp_path: Path) -> None:
    rows = [
        row("none", share=0.0, nulls={"chance": 0.3}),
        row("fakes", lie="response", vs_silent=-0.2, measured=12.0, theory=11.5, bound=0.25, passed=True,
            goal="connect", fakes_accepted=3.0, found=0.5, false_alarms=0.001),
    ]  # fmt: skip
    write_page(CampaignResult(rows, {"dataset": "<b>cora"}, [], 1.0), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    assert "&lt;b&gt;cora" in text and "<b>cora" not in text
    assert "default-src 'none'" in text and text.count("data:image/png;base64,iVBOR") == 2 and "<script" not in text
    assert "Null models, if nobody lies: chance 30.0." in text
    costs = "costs at least 5 points more than silence if 20\u00a0% of the people lie."
    assert f"hogs eps 8 fakes response: {costs}" in text
    assert all(f'<th scope="col">{column.heading}</th>' in text for column in COLUMNS if not column.joined)
    assert "accounts a point" not in text
    assert text.count("<tr>") == 3 and "<td>0.250</td>" in text and "<td>-20.0</td>" in text


def test_the_page_of_accounts(tmp_path: Path) -> None:
    rows = [
        row("none", share=0.0, accounts=0, nulls={"chance": 0.3}),
        row("join-class", lie="response", vs_silent=-0.2, accounts=135, per_point=6.75),
    ]
    write_page(CampaignResult(rows, {"dataset": "cora"}, [], 1.0), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    assert "what fake accounts cost the honest" in text and "lying devices" not in text
    assert "<td>135</td>" in text and "<td>7</td>" in text and "accounts a point" in text
    assert '<th scope="col">accounts</th>' in text and "liars found %" not in text and ">bound<" not in text
    assert "<td>nobody joins</td>" in text and "<td>0</td>" in text and "if nobody joins: chance 30.0." in text


def test_a_row_against_theory_is_marked(tmp_path: Path) -> None:
    write_page(CampaignResult([row("fakes", passed=False)], {"dataset": "cora"}, [], 1.0), tmp_path / "a.html")
    text = (tmp_path / "a.html").read_text()
    assert "A row is not as theory says" in text and "<td>differs</td>" in text
    assert "No lie that was tried costs at least 5 points more than silence." in text
