"""Page and picture of what the private data gained, from rows that are made up; the committed page from its table."""

from __future__ import annotations

from pathlib import Path

from benchmarks.papers.cell_row import row_of
from benchmarks.papers.pages import markdown
from benchmarks.papers.table_cell import Page, TableCell, cell_options
from benchmarks.papers.value import value_cells
from benchmarks.papers.value_headlines import HEADLINES, points_of
from benchmarks.papers.value_headlines import rows_of as rows_of_headline
from benchmarks.papers.value_page import page
from benchmarks.papers.value_picture import draw
from benchmarks.papers.value_row import COLUMNS, ValueRow

PAGE = Page("A page", "Head.", {})
SPLITS = "Table 3 (version text), a new split in every run"


def lpgnn_row(epsilon: str, accuracy: str, gain: float, half: float = 1.0, **more: str) -> ValueRow:
    """Return a row of LPGNN on Cora."""
    return dict.fromkeys(COLUMNS, "") | {
        "page": "lpgnn", "table": SPLITS, "data set": "cora", "model": "lpgnn",
        "budget": f"eps_x {epsilon}, eps_y public", "n": "10", "accuracy": accuracy, "std": "1.20", "chance": "30.20",
        "graph_alone": "82.00", "graph_alone_std": "1.00", "shuffled_features": "84.50",
        "shuffled_features_std": "1.10", "bought_features": f"{gain:.2f}",
        "bought_features_low": f"{gain - half:.2f}",
        "bought_features_high": f"{gain + half:.2f}", "margin": f"{gain:.2f}", "margin_low": f"{gain - half:.2f}",
        "margin_high": f"{gain + half:.2f}", "above_chance": "yes", "above_nulls": "yes" if gain > half else "no",
        "config_hash": f"hash-{epsilon}", **more,
    }  # fmt: skip


ROWS = [lpgnn_row("1", "84.80", 0.3), lpgnn_row("2", "86.80", 2.3), lpgnn_row("1e-06", "85.10", -1.6)]


def test_the_page_says_what_the_rows_say() -> None:
    text = " ".join(page(ROWS, [("lpgnn", "eps_x 3"), ("lpgnn", "eps_x 4")]).split())
    assert "3 of 5 cells were run" in text and "- lpgnn: eps_x 3, 4" in text
    assert "Of 3 cells 3 are above chance and 1 above every null model; 1 are below the best null model." in text
    assert "the private features gained -1.6 to +2.3 points (median +0.3); measurable in 1 of 3 cells" in text
    assert ("| cora | - | eps_x 1, eps_y public | 84.8 ± 1.2 | 30.2 | 84.5 ± 1.1 (features of others) "
            "| +0.3 (-0.7 to +1.3) | +0.3 (-0.7 to +1.3) "
            "| as the best null, within the interval |") in text  # fmt: skip
    assert "LPGNN has 84.8 ± 1.2 at epsilon 1 and 85.1 ± 1.2 at epsilon 0.000001" in text
    assert "## Blink-hard" not in text and "## Not run" not in page(ROWS, [])


def test_every_cell_belongs_to_one_headline(tmp_path: Path) -> None:
    for one in value_cells(tmp_path):
        row = {"page": one.page, "table": one.table, **one.keys}
        found = [headline for headline in HEADLINES if rows_of_headline(headline, [row])]
        assert len(found) == 1, one.label


def test_a_panel_has_the_points_of_its_headline_by_budget() -> None:
    (headline,) = (one for one in HEADLINES if one.of.get("table") == SPLITS)
    others = [lpgnn_row("3", "1.00", 0.0, **{"data set": "citeseer"}), lpgnn_row("inf", "1.00", 0.0)]
    assert [x for x, _ in points_of(headline, [*ROWS, *others])] == [1e-6, 1.0, 2.0]
    (fixed,) = (one for one in HEADLINES if one.title == "RGNN")
    pairs = [lpgnn_row("1", "1.00", 0.0, page="rgnn", table="Table 1", budget=f"eps_x {x}, eps_y {y}")
             for x, y in (("1", "2"), ("0.1", "2"), ("1", "0.5"))]  # fmt: skip
    assert [x for x, _ in points_of(fixed, pairs)] == [0.5, 2.0]


def test_the_picture_is_drawn_where_there_are_points(tmp_path: Path) -> None:
    draw([], tmp_path / "value.png")
    assert not (tmp_path / "value.png").exists()
    draw(ROWS, tmp_path / "value.png")
    assert (tmp_path / "value.png").read_bytes().startswith(b"\x89PNG")


def test_a_papers_page_has_the_null_models_of_its_runs() -> None:
    """Columns stand in the tables that have values; a row joins the run of its config hash alone."""
    cells = [TableCell(table, {"epsilon": "6"}, cell_options("lpgnn", "cora", epsilon=6.0)) for table in "TU"]
    ran = [(cell, row_of(PAGE, cell, None) | {"ours": "84.8 ± 1.2 (10)", "config_hash": made})
           for cell, made in zip(cells, ("hash-1", "another"), strict=True)]  # fmt: skip
    text = markdown("p", PAGE, ran, {row["config_hash"]: row for row in ROWS})
    first, second = text.split("## U")
    assert "| 84.8 ± 1.2 (10) | - | - | 30.2 | 82.0 ± 1.0 | - | 84.5 ± 1.1 | +0.3 (-0.7 to +1.3) |" in first
    assert "chance |" not in second
