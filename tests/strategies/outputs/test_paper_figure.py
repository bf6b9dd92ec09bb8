"""The figure for a paper: what is drawn where, and bytes that repeat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib
import pytest

from ldpsim.strategies.outputs import paper_figure
from ldpsim.strategies.outputs.paper_figure import WIDTH, figure_bytes, varied_option
from ldpsim.strategies.outputs.seed_groups import SeedGroup
from ldpsim.strategies.results.averages import Interval


def group(method: str, options: Mapping[str, str], mean: float = 0.6, **changed: Any) -> SeedGroup:
    label = " ".join([method, *options.values()])
    interval = Interval(mean, mean - 0.2, mean + 0.1)
    given: dict[str, Any] = {
        "method": method, "data": ("cora", 60), "options": options, "label": label, "n": 3,
        "mean": mean, "sd": 0.1, "interval": interval, "chance": 0.3, "best_null": "graph_alone", "null": mean - 0.05,
        "levels": {}, "collections": 1, "together": {},
    }  # fmt: skip
    return SeedGroup(**{**given, **changed})


def budgets(*values: str, method: str = "hogs") -> list[SeedGroup]:
    return [group(method, {"epsilon": value}, 0.3 + float(value) / 100) for value in values]


def test_the_option_of_the_axis() -> None:
    assert varied_option(budgets("2", "4")) == "epsilon"
    assert varied_option([group("hogs", {"split": name}) for name in ("a", "b")]) is None
    assert varied_option([group("hogs", {"epsilon": "2"}), group("rgnn", {"epsilon": "4"})]) is None  # one of each
    more = [group("hogs", {"tau": tau, "epsilon": epsilon}) for tau in ("1", "2", "3") for epsilon in ("2", "4")]
    assert varied_option(more) == "epsilon"  # a budget first
    assert varied_option([group("hogs", {"tau": "1"}), group("hogs", {"tau": "inf"})]) is None


def test_lines_intervals_chance_and_the_best_null_model() -> None:
    groups = [*budgets("8", "2", "4"), group("raw", {"epsilon": ""}, 0.9)]
    with paper_figure._drawn(groups) as figure:
        (axis,) = figure.axes
        drawn = {line.get_label(): line for line in axis.containers}
        (container,) = drawn.values()
        points, _, (bars,) = container
        assert points.get_xdata().tolist() == [2, 4, 8] and points.get_ydata() == pytest.approx([32, 34, 38])
        ends = [sorted(path.vertices[:, 1]) for path in bars.get_paths()]
        assert [end for pair in ends for end in pair] == pytest.approx([12, 42, 14, 44, 18, 48])
        dashed = [list(line.get_ydata()) for line in axis.lines if line.get_linestyle() == "--"]
        assert dashed == [pytest.approx([27, 29, 33]), pytest.approx([85, 85])]
        assert [list(line.get_ydata()) for line in axis.lines if line.get_linestyle() == ":"] == [[30, 30]]
        assert (axis.get_ylabel(), axis.get_xlabel()) == ("Test accuracy (%)", "Privacy budget ε (no unit)")
        assert [text.get_text() for text in figure.legends[0].get_texts()] == [
            "hogs", "raw", "95 % interval over runs", "best null model, same colour", "chance",
        ]  # fmt: skip
        assert figure.get_size_inches()[0] == WIDTH


@pytest.mark.parametrize("option", ["epsilon", "dataset"])
@pytest.mark.parametrize("count", [1, 9])
def test_all_that_is_drawn_is_inside_the_axes(option: str, count: int) -> None:
    """Marks beside their value, and both ends of every interval."""
    values = ("0.5", "1", "8") if option == "epsilon" else ("1",)
    groups = [group(f"method-{place}", {option: value} if option == "epsilon" else {}, 0.25 + place / 14,
                    label=f"{place} {value}")
              for place in range(count) for value in values]  # fmt: skip
    with paper_figure._drawn(groups) as figure:
        figure.canvas.draw()
        (axis,) = figure.axes
        frame = axis.get_window_extent()
        assert len(axis.containers) == count
        for points, _, (bars,) in axis.containers:
            shown = [*points.get_transform().transform(points.get_xydata())]
            shown += [end for path in bars.get_paths() for end in bars.get_transform().transform(path.vertices)]
            assert len(shown) == (9 if option == "epsilon" else 3)
            assert all(frame.x0 < x < frame.x1 and frame.y0 <= y <= frame.y1 for x, y in shown)
        legend = figure.legends[0].get_window_extent()
        assert 0 <= legend.x0 and legend.x1 <= figure.bbox.x1 and 0 <= legend.y0


def test_a_legend_of_long_names_has_room() -> None:
    groups = [group(f"method-with-a-long-name-{place}", {"epsilon": value}) for place in range(4) for value in "12"]
    with paper_figure._drawn(groups) as figure:
        figure.canvas.draw()
        legend = figure.legends[0].get_window_extent()
        assert 0 <= legend.x0 and legend.x1 <= figure.bbox.x1 and 0 <= legend.y0


def test_a_wide_range_has_a_logarithmic_axis_and_says_so() -> None:
    with paper_figure._drawn(budgets("0.5", "1", "8")) as figure:
        assert figure.axes[0].get_xscale() == "log" and figure.axes[0].get_xlabel() == "Privacy budget ε (log scale)"


def test_a_panel_for_each_data_set_and_names_without_a_number() -> None:
    groups = [group(method, {"dataset": data}, data=(data, 60), label=f"{method} {data}", n=1, sd=None, interval=None)
              for data in ("cora", "citeseer") for method in ("hogs", "raw")]  # fmt: skip
    with paper_figure._drawn(groups) as figure:
        assert [axis.get_title() for axis in figure.axes] == ["cora · 60 people", "citeseer · 60 people"]
        for axis in figure.axes:
            assert [text.get_text() for text in axis.get_xticklabels()] == ["hogs", "raw"]
            assert [container[0].get_xdata().tolist() for container in axis.containers] == [[0], [1]]
    apart = [group("hogs", {"epsilon": value}, data=(data, 60), label=f"{data} {value}")
             for data, value in (("cora", "2"), ("cora", "8"), ("citeseer", "4"))]  # fmt: skip
    with paper_figure._drawn(apart) as figure:
        assert all(axis.get_xlim()[0] < 2 and axis.get_xlim()[1] > 8 for axis in figure.axes)
    people = [group("hogs", {"people": size}, data=("cora", int(size)), label=size) for size in ("100", "200")]
    with paper_figure._drawn(people) as figure:
        assert len(figure.axes) == 1 and figure.axes[0].get_xlabel() == "Number of people"


def test_a_group_without_a_value_of_the_option_is_drawn_beside_its_method_s_line() -> None:
    with paper_figure._drawn([*budgets("2", "4"), group("hogs", {"epsilon": ""}, 0.9)]) as figure:
        levels = [line.get_ydata()[0] for line in figure.axes[0].lines if len(set(line.get_xdata()) & {0, 1}) == 2]
        assert 90 in levels


@pytest.mark.parametrize("kind", ["svg", "pdf"])
def test_bytes_repeat_and_have_no_date(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    groups = budgets("2", "4")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1000000000")
    first = figure_bytes(groups, kind)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1100000000")
    with matplotlib.rc_context({"font.size": 20, "axes.grid": False}):  # settings of the user change nothing
        assert figure_bytes(groups, kind) == first
    assert b"dc:date" not in first and b"/CreationDate" not in first
