"""The figure: its panels, its lines, and that it is a small picture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

from strategies.attacks.liars.accounts import JOINING
from strategies.attacks.liars.attacks import ATTACKS, EVERY
from strategies.attacks.poison.figure import _STYLE, _axis, _panel, _panels, draw, panel_pictures


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
    assert [title for title, _, _ in panels] == ["lpgnn eps 8", "lpgnn eps 8: people predicted as the class", "hogs"]


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


def test_a_page_has_a_picture_a_panel_and_each_says_its_axes_and_lines() -> None:
    from matplotlib.figure import Figure

    pictures = panel_pictures(ROWS)
    assert [title for title, _ in pictures] == ["lpgnn eps 8", "lpgnn eps 8: people predicted as the class"]
    assert all(png[:4] == b"\x89PNG" for _, png in pictures)
    for panel, unit in zip(
        _panels(ROWS), ("accuracy of the honest (%)", "people predicted as the class (%)"), strict=True
    ):
        axis = Figure().subplots()
        lines = _panel(axis, *panel)
        assert (axis.get_xlabel(), axis.get_ylabel()) == ("people who lie (%)", unit)
        assert [text.get_text() for text in axis.get_legend().get_texts()] == list(lines)


def test_eight_panels_stand_two_by_two(tmp_path: Path) -> None:
    rows = [{**each, "method": f"m{number}"} for number in range(7) for each in ROWS if each["goal"] != "inflate"]
    draw([*rows, *ROWS], tmp_path / "a.png", about="cora")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.width < 1000 and picture.height > 1.6 * picture.width


def test_attacks_that_one_method_meets_differ_in_colour_and_mark() -> None:
    assert len(set(_STYLE.values())) == len(EVERY) and len({_STYLE[name][1] for name in ATTACKS}) == len(ATTACKS)
    for kinds in (("all-ones", "mimic", "fakes", "flip-label", "one-label", "extreme-bit", "copy", "degree-cap"),
                  ("extreme-feature", "flip-label", "one-label", "copy"), (*JOINING, "same-direction")):  # fmt: skip
        assert len({_STYLE[name][0] for name in kinds}) == len({_STYLE[name][1] for name in kinds}) == len(kinds)


def test_the_axis_says_who_lies() -> None:
    assert _axis(ROWS) == ("share of people who lie", "people who lie (%)")
    assert _axis([{**ROWS[0], "accounts": 0}, {**ROWS[2], "accounts": 3}])[1] == "accounts that join (% of the honest)"
