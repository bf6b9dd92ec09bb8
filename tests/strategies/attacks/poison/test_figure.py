"""The figure: its panels, its lines, and that it is a small picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from strategies.attacks.poison.figure import _COLOURS, _MARKS, _STYLE, _panel, _panels, draw


def row(attack: str, lie: str, share: float, accuracy: float, **more: Any) -> dict[str, Any]:
    goal = "inflate" if attack == "one-label" else "untargeted"
    return {"method": "lpgnn", "epsilon": 8.0, "attack": attack, "lie": lie, "share": share, "accuracy": accuracy,
            "goal": goal, "goal_value": 0.3 if goal == "inflate" else accuracy, "goal_clean": 0.2, "bound": None,
            "defence": "none", **more}  # fmt: skip


ROWS = [
    row("none", "", 0.0, 0.8), row("none", "", 0.0, 0.75, defence="clip"), row("silent", "", 0.1, 0.79),
    row("silent", "", 0.2, 0.78), row("one-label", "input", 0.1, 0.7), row("one-label", "input", 0.2, 0.6),
    row("one-label", "response", 0.1, 0.5, bound=0.12), row("one-label", "response", 0.2, 0.4, bound=0.24),
    row("one-label", "response", 0.2, 0.7, defence="clip"),
]  # fmt: skip


def test_panels() -> None:
    nothing = {**ROWS[0], "method": "rr"}  # no cell of its lies is finished
    panels = _panels([*ROWS, {**ROWS[2], "method": "hogs", "epsilon": None}, nothing])
    assert [title for title, _, _ in panels] == ["lpgnn eps 8", "hogs", "lpgnn eps 8: people predicted as the class"]


def test_lines_begin_where_nobody_lies() -> None:
    from matplotlib.figure import Figure

    axis = Figure().subplots()
    lines = _panel(axis, "lpgnn", "accuracy", ROWS)
    assert set(lines) == {"silent", "one-label (input)", "one-label (response)", "one-label (response) + clip"}
    assert list(lines["one-label (response)"].get_ydata()) == [0.8, 0.5, 0.4]
    assert list(lines["one-label (response) + clip"].get_ydata()) == [0.75, 0.7]
    assert lines["one-label (input)"].get_linestyle() == "--" and lines["one-label (response)"].get_linestyle() == "-"
    assert lines["one-label (response) + clip"].get_linewidth() < 1


def test_a_bound_is_dotted() -> None:
    from matplotlib.figure import Figure

    (_, goal, group) = _panels(ROWS)[1]
    lines = _panel(Figure().subplots(), "x", goal, group)
    assert list(lines["bound of the estimated share"].get_ydata()) == [0.2, 0.32, 0.44]


def test_the_figure_is_small(tmp_path: Path) -> None:
    draw(ROWS, tmp_path / "a.png", about="cora")
    picture = Image.open(tmp_path / "a.png")
    assert picture.width > 700 and (tmp_path / "a.png").stat().st_size < 100_000
    draw([], tmp_path / "b.png", about="nothing")
    assert (tmp_path / "b.png").is_file()


def test_every_attack_has_a_colour_and_a_mark_of_its_own() -> None:
    """As long as there are enough of them."""
    styles = list(_STYLE.values())
    assert styles[: len(_MARKS)] == list(zip(_COLOURS, _MARKS, strict=True))[: len(styles)]
