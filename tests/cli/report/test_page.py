"""Pages of results: one file that asks for nothing, with the figures of its results."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
import zlib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from ldpsim.cli.report.gather import gather
from ldpsim.cli.report.page import packed_library, plotting_library, render
from ldpsim.strategies.outputs.comparison import finding
from tests.cli.conftest import RECORD


def own(page: str) -> str:
    """The page without the library, whose code is nobody's record."""
    assert page.count(packed_library()) == 1
    return page.replace(packed_library(), "")


class Elements(HTMLParser):
    """What a page is made of: elements with their attributes, and the text of scripts, the library's left out."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[str] = []
        self._inside: str | None = None
        self.feed(own(page))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data


def test_the_page_is_one_file_that_asks_for_nothing(comparison: Path) -> None:
    page = render(gather([comparison]))
    elements = Elements(page)
    for tag, attributes in elements.found:
        for name in ("src", "href", "action", "srcset", "data", "poster"):
            assert (attributes.get(name) or "data:").startswith(("data:", "#")), (tag, attributes)
        assert not [name for name in attributes if name.startswith("on")]
    assert "@import" not in page and "url(" not in page.partition("<script>")[0]
    assert len(page) < 700_000


def test_the_policy_allows_these_two_scripts_and_nothing_else(comparison: Path) -> None:
    elements = Elements(render(gather([comparison])))
    (policy,) = [a["content"] for tag, a in elements.found if a.get("http-equiv") == "Content-Security-Policy"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["default-src"] == ["'none'"]
    data, _, script = elements.scripts
    assert zlib.decompress(base64.b64decode(packed_library())).decode() == plotting_library()
    both = (plotting_library(), script)
    digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in both]
    assert rules["script-src"] == [f"'sha256-{digest}'" for digest in digests]
    assert json.loads(data)[0]["layer"]


def words(page: str, section: str) -> str:
    """The text of a section of the page."""
    inside = re.split('</section>|<details class="part"', page.partition(f'id="{section}"')[2])[0]
    return " ".join(re.sub(r"<[^>]*>", " ", inside).split())


def test_failures_and_what_is_left_out_stand_above_the_table(
    comparison: Path, write_result: Callable[..., Path]
) -> None:
    write_result(comparison, "old-0", {"schema": 7})
    write_result(comparison, "other-0", {"dataset/scored_sha256": ["00"], "method": "privgnn"})
    (comparison / "table.csv").write_text("cell,status,method,error\n1,failed,rgnn,--epsilon is missing\n")
    head = render(gather([comparison])).partition('id="glance"')[0]
    assert "<b>rgnn</b> --epsilon is missing" in head and "schema 7, this version reads schema 2" in head
    assert "privgnn: another split" in head


def test_equal_budgets_are_told_from_what_holds_and_not_from_what_was_wanted(
    tmp_path: Path, write_result: Callable[..., Path]
) -> None:
    write_result(tmp_path, "a", {"method": "one"})
    write_result(tmp_path, "b", {"method": "two", "privacy/holds/relationship/value": 14.4 * (1 + 1e-8)})
    groups = gather([tmp_path]).groups
    match = {"level": "relationship", "target": 14.4, "unmatched": {}}
    for same in (finding(groups, match), finding(groups, None)):
        assert same.equal and same.text.startswith("At equal epsilon for a ")
    wanted = finding(groups, {**match, "target": 2.0, "unmatched": {"one": "edges are public"}})
    assert not wanted.equal and wanted.text == "No two methods have an epsilon of 2 for a friendship."
    assert wanted.unmatched == [("one", "edges are public"), ("two", "it was not solved for")]
    write_result(tmp_path, "b-2", {"method": "two", "privacy/holds/relationship/value": 20.0, "config/seed": 1})
    assert finding(gather([tmp_path]).groups, match).unmatched == [("two", "it was not solved for")]


def test_claimed_stands_beside_held_and_accuracy_beside_nulls_and_the_reference(comparison: Path) -> None:
    page = own(render(gather([comparison])))
    assert "hogs nobody 3 61.0 ± 1.0 78.8 ▲ 85.1 70.0 8 14.4 21,798 810 B" in words(page, "glance")
    nulls = words(page, "nulls")
    assert "78.8 ± 0.3 55.0 ± 1.1 60.9 ± 0.4 33.1 ± 0.6 30.2 ± 0.0" in nulls
    assert "Labels on the graph alone are 17.6 points above the method." in nulls
    assert "raw edges and features in clear – – – – – – Not run" in nulls
    bare = own(render(gather([comparison / "raw-0"])))
    assert "Simpler models: not run." in bare
    assert page.count('class="badge"') > 8 and "in clear to the curator" in page


def test_a_chart_has_a_line_for_each_method_and_none_is_left_out(comparison: Path) -> None:
    chart, sent = json.loads(Elements(render(gather([comparison]))).scripts[0])
    choice, colour = chart["params"]
    assert colour["bind"]["options"] == ["name", "trusted"] and colour["value"] == "name"
    assert {point["name"]: point["trusted"] for point in chart["data"]["values"]} == {
        "hogs": "hogs (nobody)", "lpgnn": "lpgnn (nobody)", "dp-fedavg": "dp-fedavg (server)", "mlp": "mlp (owner)",
        "raw": "raw (owner)"
    }  # fmt: skip
    assert choice["value"] == "user" and choice["bind"]["options"] == [
        "user",
        "relationship",
        "central_node",
        "claimed",
    ]
    points = {point["name"]: point["relationship"] for point in chart["data"]["values"]}
    assert points == {"hogs": 14.4, "lpgnn": None, "dp-fedavg": None, "mlp": None, "raw": None}
    hogs = next(point for point in chart["data"]["values"] if point["name"] == "hogs")
    assert hogs["tip"].startswith(
        "hogs\ntrusted: nobody\nn: 3\naccuracy: 61.0 ± 1.0\nsimpler: 78.8 ▲\nno noise: 85.1\ndevice (alone): 70.0"
    )
    assert hogs["low"] < hogs["y"] < hogs["high"] and hogs["bytes"] == 810
    lines = chart["layer"][0]["data"]["values"]  # the best figure of each simpler model, close ones with one label
    assert [line["name"] for line in lines] == [
        "graph alone 78.8", "features alone 62.0", "largest class 30.1"
    ]  # fmt: skip
    assert sent["params"] == [{"name": "shown", "value": "bytes"}, colour]


@pytest.mark.parametrize("part", ["bit_feature", "bit_adjacency"])
def test_a_chart_has_the_losses_of_the_matched_level_also_of_a_part_of_a_compared_one(
    part: str, comparison: Path
) -> None:
    match = {"level": part, "target": RECORD["privacy"]["holds"][part]["value"], "unmatched": {}}
    (comparison / "compare.json").write_text(json.dumps({"folders": ["hogs-0", "raw-0"], "match": match}))
    found = gather([comparison])
    assert found.match == match and not found.left_out
    chart, _ = json.loads(Elements(render(found)).scripts[0])
    assert part in chart["params"][0]["bind"]["options"]
    assert {point["name"]: point[part] for point in chart["data"]["values"]} == {"hogs": match["target"], "raw": None}


def test_one_legend_has_each_method_once_with_its_colour_and_its_shape(comparison: Path) -> None:
    import vl_convert

    names = ["dp-fedavg", "hogs", "lpgnn", "mlp", "raw"]
    expected = {
        "name": names,
        "trusted": ["hogs (nobody)", "lpgnn (nobody)", "dp-fedavg (server)", "mlp (owner)", "raw (owner)"],
    }
    for chart in json.loads(Elements(render(gather([comparison]))).scripts[0]):
        (legend,) = vl_convert.vegalite_to_vega(chart)["legends"]
        assert (legend["fill"], legend["shape"]) == ("color", "shape")
        for choice, entries in expected.items():
            chart["params"][1]["value"] = choice
            legend = vl_convert.vegalite_to_svg(json.dumps(chart)).partition("role-legend-entry")[2]
            assert re.findall(r">([^<>]*)</text>", legend.partition("role-legend-title")[0]) == entries
            symbols = re.findall(r'd="(M[^"]*)" fill="([^"]*)"', legend)
            drawn = dict(zip(entries, symbols, strict=True))
            colours = {entry: colour for entry, (_, colour) in drawn.items()}
            assert len(set(drawn.values())) == 5 and len({path for path, _ in symbols}) == 5
            assert len(set(colours.values())) == (5 if choice == "name" else 3)
            if choice == "trusted":
                assert colours["mlp (owner)"] == colours["raw (owner)"] != colours["hogs (nobody)"]


def test_the_picture_comes_first_then_one_sentence_then_the_table_and_all_else_is_folded(comparison: Path) -> None:
    page = own(render(gather([comparison])))
    places = [page.index(part) for part in ('id="chart-0"', 'id="verdict"', 'id="glance"', '<details class="part"')]
    assert places == sorted(places)
    main = re.sub(r'<details class="part".*</details>', "", page.partition("<main>")[2], flags=re.DOTALL)
    assert re.findall(r"<h2[^>]*>([^<]*)", main) == ["Figures"] and " open" not in re.sub(r"<script.*", "", main)


def test_csv_files_hold_all_figures_and_no_formula(tmp_path: Path, write_result: Callable[..., Path]) -> None:
    write_result(tmp_path, "=cmd", {"method": "=1+1"})
    links = dict(re.findall(r'download="(\w+).csv" href="data:text/csv;charset=utf-8,([^"]*)"',
                            own(render(gather([tmp_path])))))  # fmt: skip
    results = list(csv.DictReader(io.StringIO(unquote(html.unescape(links["figures"])))))
    assert (results[0]["label"], results[0]["mean"], results[0]["holds_relationship"]) == ("'=1+1", "0.6124", "14.4")


def test_groups_that_are_served_worse_are_marked(tmp_path: Path, write_result: Callable[..., Path]) -> None:
    share = {"value": 0.4, "low": 0.3, "high": 0.5}
    row = {"by": "class", "group": "<b>gold</b>", "people": 40, "method": share, "best_null": None,
           "without_noise": {"value": 0.8, "low": 0.7, "high": 0.9}, "more_lost": {"value": 0.2}}  # fmt: skip
    rows = [{**row, "by": "everybody", "more_lost": None, "worse": None}, {**row, "worse": True}]
    write_result(tmp_path, "hogs-0", {"groups": {"rows": rows}})
    page = render(gather([tmp_path]))
    assert 'class &lt;b&gt;gold&lt;/b&gt; <span class="badge">worse off</span>' in page and "<b>gold" not in page
    assert "People of class &lt;b&gt;gold&lt;/b&gt; lose 40.0 points to noise" in page
    assert "40.0 <small>30 to 50</small>" in page and "80.0 <small>70 to 90</small>" in page
    write_result(tmp_path / "none", "hogs-0")
    assert "There is no accuracy by groups" in render(gather([tmp_path / "none"]))


def luminance(colour: str) -> float:
    """Relative luminance of a colour, as WCAG defines it."""
    code = colour.removeprefix("#")
    code = code if len(code) == 6 else "".join(2 * sign for sign in code)
    parts = [int(code[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
