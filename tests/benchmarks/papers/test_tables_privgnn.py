"""Students of PrivGnn's tables: every setting first, then more draws."""

from __future__ import annotations

from benchmarks.papers.tables_privgnn import DRAWS, students


def test_every_setting_is_trained_once_before_any_has_a_second_draw() -> None:
    every = students()
    settings = {cell.key[:-1] for cell in every}
    assert len({cell.key for cell in every}) == len(every) == DRAWS * len(settings)
    first = [cell for cell in every if cell.turn < 3]
    assert {cell.draw for cell in first} == {0} and {cell.key[:-1] for cell in first} == settings
    assert {cell.method for cell in every if cell.turn == 0} == {"privgnn"}  # those with a figure in the paper
