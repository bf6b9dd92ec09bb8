from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from ldpsim.cli.report import plan_page as module
from ldpsim.cli.report.plan_page import across, points_of, render_plan, write_plan_page
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.planning.plan import Plan
from ldpsim.strategies.planning.rehearsal import Like, Rehearsal
from ldpsim.strategies.planning.wishes import Wishes
from ldpsim.strategies.planning.worth import Worth
from ldpsim.strategies.setup.options import RunOptions
from tests.strategies.planning.on_paper import plan_on_paper


@pytest.fixture(scope="module")
def made() -> Plan:
    plan = plan_on_paper(["hogs", "vote", "rr", "fedavg-mlp"], RunOptions(), GraphFacts(40_000), Wishes())
    rows = [replace(row, worth=worth(test)) for row, test in zip(plan.rows, (0.8, 0.7, 0.5, 0.9), strict=True)]
    return replace(plan, rows=rows, rehearsal=Rehearsal(600, 40_000, None))


def worth(test: float) -> Worth:
    return Worth(test, None, "chance", 0.25, {"value": test - 0.25, "low": 0.1, "high": 0.6})


def test_the_page_is_one_file_without_a_script(made: Plan, tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    write_plan_page(path, made)
    text = path.read_text()
    assert "<script" not in text and "default-src" in text
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    for word in ("hogs", "What holds", "miniature: 600 made-up people with the noise of 40,000"):
        assert word in text


def words(page: str) -> str:
    """Return the page with plain blanks for those at which no line ends."""
    return page.replace("\u00a0", " ")


def test_the_page_says_beside_a_number_what_it_is(made: Plan) -> None:
    text = words(render_plan(made))
    assert "80.0 % <small>(miniature, made-up people; nobody asked: 25.0 %, chance)</small>" in text
    assert "This is an estimate without an interval. It is not measured on your people." in text
    chosen = replace(made, choice=made.rows[0])
    assert chosen.lacks == made.rehearsal.lacks and len(chosen.lacks) == 2  # type: ignore[union-attr]
    page = words(render_plan(chosen))
    assert (
        "To be trusted it needs</strong> people like yours (--like FILE.npz of ldpsim import, or a data set); all"
        in page
    )
    assert replace(made, choice=None).lacks == () and "To be trusted" not in render_plan(replace(made, choice=None))
    assert "(without --no-worth)" in replace(chosen, rehearsal=None).lacks[0]
    like = Like(RunOptions(dataset="<cora>.npz"), 2708)
    of_data = words(render_plan(replace(made, like=like, rehearsal=Rehearsal(2708, 2708, "<cora>"))))
    assert "80.0 % <small>(rehearsal, people of &lt;cora&gt;; nobody asked" in of_data and "made-up" not in of_data
    assert "Rehearsal: 2,708 people of &lt;cora&gt;." in of_data and "without an interval" not in of_data
    bare = replace(made, rows=[replace(row, worth=Worth(0.8)) for row in made.rows])
    assert "80.0 % <small>(miniature, made-up people)</small>" in words(render_plan(bare))


def test_a_bar_goes_to_what_asking_nobody_gives(made: Plan) -> None:
    first = points_of(made.rows)[0]
    assert (first.y, first.nobody) == pytest.approx((20.0, 75.0))
    (alone,) = points_of([replace(made.rows[0], worth=Worth(0.8))])
    assert alone.nobody == alone.y


def test_the_choice_is_first_and_what_was_not_rehearsed_is_folded(made: Plan) -> None:
    hogs, vote, rr, fedavg = made.rows
    rows = [hogs.with_reasons("too bad"), vote, replace(rr, worth=None).with_reasons("says nothing"), fedavg]
    plan = replace(made, rows=rows)
    assert [row.method for row in plan.shown] == ["fedavg-mlp", "vote", "hogs"]
    assert [row.method for row in plan.folded] == ["rr"]
    text = render_plan(replace(plan, choice=fedavg))
    assert re.findall(r"<h2>(.*?)</h2>", text)[1:] == ["Other trust", "Asking less", "One report", "Not rehearsed"]
    table = text.partition("<h2>Other trust</h2>")[2]
    assert re.findall(r'<span class="badge">(\w+)</span>', table.partition("</table>")[0])[0] == "choice"
    assert "1 method without an accuracy: rr" in table


def test_without_a_rehearsal_nothing_is_folded(made: Plan) -> None:
    rows = [replace(row, worth=None).with_reasons("too many bytes") for row in made.rows]
    plan = replace(made, rows=rows, rehearsal=None)
    assert plan.shown == rows and plan.folded == []


def test_the_front_has_what_nothing_beats(made: Plan) -> None:
    front = {point.row.method for point in points_of(made.rows) if point.front}
    assert front == {"vote", "hogs", "fedavg-mlp"}  # rr loses as much as hogs, and is worth less
    assert "rr" in {point.row.method for point in points_of(made.rows)}


def test_places_are_logarithmic_and_what_is_open_stands_apart() -> None:
    assert (
        across(1.0, 1.0, 100.0) < across(10.0, 1.0, 100.0) < across(100.0, 1.0, 100.0) < across(float("inf"), 1.0, 2.0)
    )
    assert across(10.0, 1.0, 100.0) == pytest.approx((across(1.0, 1.0, 100.0) + across(100.0, 1.0, 100.0)) / 2)


def test_points_at_one_place_stand_side_by_side(made: Plan) -> None:
    same = [replace(row, worth=worth(0.5), at_level={**row.at_level, "value": 4.0}) for row in made.rows]
    places = [point.x for point in points_of(same)]
    assert len(set(places)) == len(places) and 0 < min(places) and max(places) < 100
    many = points_of([same[0]] * 12)
    assert len({point.x for point in many}) == 12 and all(0 < point.x < 100 for point in many)
    assert len({point.at for point in many}) == 1


def test_both_axes_are_named_and_a_moved_number_is_joined_to_its_point(made: Plan) -> None:
    text = render_plan(replace(made, rows=[made.rows[0], *made.rows]))  # two points at one place
    assert "test accuracy (%)" in text and "(log scale)" in text
    assert text.count("<line ") == text.count('class="spot ') == 1


def test_a_point_stands_at_the_nearest_free_place() -> None:
    near = module._NEAR
    assert module._beside(50, 40, []) == 50
    for y in (40 - 2 * near, 40 + 2 * near):
        assert module._beside(50, y, [(50, 40)]) == 50  # two heights above or below is far enough
    for y in (40 - 2 * near + 0.01, 40, 40 + 2 * near - 0.01):
        assert module._beside(50, y, [(50, 40)]) == 50 + near
    assert module._beside(50, 40, [(50 + near, 40)]) == module._beside(50, 40, [(50 - near, 40)]) == 50
    assert module._beside(50, 40, [(50, 40), (50 + near, 40)]) == 50 - near
    assert module._beside(50, 40, [(50 - near / 2, 40)]) == 50 + near
    everywhere = [(x / 10, 40.0) for x in range(1000)]
    assert module._beside(50, 40, everywhere) == 50


def test_a_plan_without_worth_has_a_table_and_no_figure(made: Plan) -> None:
    bare = replace(made, rows=[replace(row, worth=None) for row in made.rows], rehearsal=None)
    text = render_plan(bare)
    assert "Loss against worth" not in text and "hogs" in text
    hostile = replace(bare, failures={"<b>x": "<script>alert(1)</script>"})
    assert "<script" not in render_plan(hostile)


def test_bytes_stand_to_the_right_where_all_lose_the_same(made: Plan) -> None:
    same = [replace(row, at_level={**row.at_level, "value": 4.0}) for row in made.rows]
    text = render_plan(replace(made, rows=same))
    assert "Bytes against worth" in text and "Bytes against worth" not in render_plan(made)
    by_bytes = sorted(same, key=lambda row: row.figures["bytes_per_device"])
    assert [point.row.method for point in sorted(points_of(same), key=lambda point: point.x)] == [
        row.method for row in by_bytes
    ]
    none = {**made.rows[0].at_level, "value": None, "status": "not asked"}
    left = points_of([replace(made.rows[0], at_level=none), *made.rows[1:]])
    assert left[0].x == min(point.x for point in left)


def test_a_method_with_volunteers_and_without_them_has_a_number_each(made: Plan) -> None:
    alone = next(row for row in made.rows if row.method == "vote")
    beside = replace(alone, options=replace(alone.options, volunteers=0.1), worth=worth(0.6))
    text = render_plan(replace(made, rows=[alone, beside], choice=beside))
    assert "<b>1</b> vote</span>" in text and "<b>2</b> vote with volunteers</span>" in text
    assert text.count('<span class="badge">choice</span>') == 1
