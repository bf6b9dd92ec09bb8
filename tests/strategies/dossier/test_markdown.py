"""A dossier as Markdown, on content made by hand."""

from __future__ import annotations

from strategies.dossier.content import Blank, Dossier, DossierTable, Line, Section, SourcedFigure
from strategies.dossier.markdown import to_markdown


def test_lines_fields_and_tables_stand_in_their_order() -> None:
    share = SourcedFigure(0.5, "50.0 %", "result.json", "accuracy.test", "run")
    lines = (Line("accuracy", (share, " of all"), ("docs/a_b.md",)), Blank("date", "the controller"))
    grid = DossierTable("Threats", ("who", "covered"), ((("a|b",), ("nothing",)),), "A note.")
    made = Dossier("x for 3 people", "Lead.", ("label: in clear",), (Section("1. One", lines, (grid,), "Note."),))
    assert to_markdown(made).splitlines() == [
        "# Dossier: x for 3 people", "", "Lead.", "", "**Not protected, or hardly:**", "", "- label: in clear", "",
        "## 1. One", "", "Note.", "", "|  |  | source |", "|---|---|---|",
        "| accuracy | 50.0 % of all | run: result.json, accuracy.test; docs/a\\_b.md |",
        "| date |  | to be filled by the controller |", "", "### Threats", "", "| who | covered |", "|---|---|",
        "| a\\|b | nothing |", "", "A note.", "",
    ]  # fmt: skip
