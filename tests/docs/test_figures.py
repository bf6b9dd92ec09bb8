"""Figures of the pages: each is that of the file that holds it, and one figure stands in two places as the same."""

from __future__ import annotations

import csv
import html
import json
import re
import statistics
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from docs.layers import ROOT
from ldpsim.cli.words import best_guess

RESULTS = ROOT / "docs" / "results"
READERS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(RESULTS.glob("*.md"))]
MILLION = 10**6
PEOPLE = ("facebook100-reed98", "facebook100-amherst41", "twitch-engb", "twitch-de", "deezer-europe", "coauthor-cs",
          "flickr")  # fmt: skip
STANDING = {"above": "✓", "unjudged": "(✓)", "even": "=", "below": "✗", "chance": "○"}


def rows(name: str) -> list[dict[str, str]]:
    with (RESULTS / name).open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def table_rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of the rows of all tables of a page."""
    for line in re.findall(r"^\|(.*)\|$", text, re.MULTILINE):
        yield [cell.strip() for cell in line.split("|")]


def spread(mean: str, sd: str, factor: float = 1.0) -> str:
    """Return mean and standard deviation as the pages have them; ``-`` without one."""
    return f"{factor * float(mean):.1f} ± {factor * float(sd):.1f}" if mean else "-"


def scale(**wanted: Any) -> Mapping[str, Any]:
    runs = json.loads((RESULTS / "scale.json").read_text())["runs"]
    (found,) = [run for run in runs if all(run[name] == value for name, value in wanted.items()) and not run["nulls"]]
    return dict(found)


def test_growth() -> None:
    """The table of scale.md, and the seconds and memory of a million people in measures.md."""
    found = 0
    for cells in table_rows((RESULTS / "scale.md").read_text()):
        if not (named := re.fullmatch(r"`([\w-]+)` on (\S+)", cells[0])):
            continue
        people = int(cells[1].replace(",", ""))
        run = scale(method=named[1], graph=named[2], people=people, epochs=100)
        phases = [run["phases"].get(name, {}).get("cpu", 0.0) for name in ("enrol", "collect", "reconstruct", "train")]
        bytes_ = [f"{run[name] / people:,.0f}" for name in ("uplink_bytes", "ledger_bytes", "folder_bytes")]
        assert cells[2:6] == [f"{seconds:.1f}" for seconds in phases], cells
        assert cells[6:] == [f"{run['cpu']:,.1f}", f"{run['peak']:,.0f}", *bytes_, f"{100 * run['test']:.1f}"], cells
        found += 1
    assert found == len(re.findall(r"^\| `", (RESULTS / "scale.md").read_text(), re.MULTILINE)) > 20
    million = [scale(method=name, graph="generated", people=MILLION, epochs=100) for name in ("hogs", "rgnn", "lpgnn")]
    text = (ROOT / "docs" / "measures.md").read_text()
    assert ", ".join(f"{run['cpu']:.0f}" for run in million) in text
    (times,) = re.findall(r"^\| the same ClientApp under Flower's own runtime.* (\d+) x the time", text, re.MULTILINE)
    assert f"needs {times} times as long" in (ROOT / "docs" / "guide-flower.md").read_text()
    memory = re.search(r"^\| their memory \| [^|]+ \| (.*?) GB", text, re.MULTILINE)
    assert memory is not None
    for run, shown in zip(million, memory[1].replace("*", "").split(", "), strict=True):
        assert float(shown) == pytest.approx(run["peak"] * 2**20 / 1e9, abs=0.05)


def test_seconds_of_a_million_people() -> None:
    """A page that gives a range has that of scale.json, rounded to ten seconds; README gives it."""
    seconds = sorted(scale(method=name, graph="generated", people=MILLION, epochs=100)["cpu"]
                     for name in ("hogs", "rgnn", "lpgnn"))  # fmt: skip
    pages = {page: re.findall(r"million people take (\d+) to (\d+) s", page.read_text()) for page in READERS}
    assert pages[ROOT / "README.md"]
    for page, found in pages.items():
        for low, high in found:
            assert (int(low), int(high)) == (round(seconds[0], -1), round(seconds[-1], -1)), page.name


def test_figures_that_agree_with_the_papers() -> None:
    """README and the list of results count as agreement.md does, and that page as its own rows."""
    text = (RESULTS / "agreement.md").read_text()
    pages = [list(map(int, cells[1:])) for cells in table_rows(text) if cells[0].endswith(".md)")]
    (total,) = [list(map(int, cells[1:])) for cells in table_rows(text) if cells[0] == "all"]
    assert total == [sum(column) for column in zip(*pages, strict=True)]
    _, _, compared, agree, above, off, again = total
    assert compared == agree + above + off
    assert f"Of all {compared} published figures" in text and f"{agree} agree, {above} are above" in text
    assert f"{again} more cells" in text
    said = f"{agree} of {compared}"
    assert f"{said} published figures agree" in (ROOT / "README.md").read_text()
    assert (
        f"{said} figures agree, {above} are above a lower bound, {off} are off" in (RESULTS / "README.md").read_text()
    )


def shown_there(row: Mapping[str, str]) -> bool:
    """Return whether people.md shows a row in its table: the text speaks of `hogs` and `sbp` at a person's 4."""
    return not row["budget"].startswith("epsilon 0.00")


def test_peoples_graphs() -> None:
    """Every cell of people.md: mean, deviation, best null model, and the sign of its standing."""
    table, text, found = rows("people.csv"), (RESULTS / "people.md").read_text(), 0
    for cells in table_rows(text):
        if len(cells) != 1 + len(PEOPLE) or not (named := re.match(r"`([\w-]+)`", cells[0])):
            continue
        for people, cell in zip(PEOPLE, cells[1:], strict=True):
            shown = [
                f"{spread(row['accuracy'], row['std'])} ({float(row['best_null_accuracy']):.1f}) "
                f"{STANDING[row['standing']]}"
                for row in table if (row["method"], row["people"]) == (named[1], people) and shown_there(row)
            ]  # fmt: skip
            assert shown == ([] if cell == "-" else [cell]), (named[1], people)
            found += cell != "-"
    assert found == len({(row["method"], row["people"]) for row in table})
    assert all(f"| {sign} |" in text for sign in STANDING.values()) and "▲" not in text  # in tables a null model above


def test_devices_of_peoples_graphs() -> None:
    """The rows of devices, and what the page says of `vote`'s and `sbp`'s."""
    table, text = rows("people.csv"), (RESULTS / "people.md").read_text()
    lines = {cells[0]: cells[1:] for cells in table_rows(text)}

    def device(method: str, people: str, name: str = "device") -> float | None:
        found = [row for row in table if (row["method"], row["people"]) == (method, people) and shown_there(row)]
        return float(found[0][name]) if found and found[0][name] else None

    for words, method, name in (
        ("a device with `vote`'s device model", "vote", "device"),
        ("a device alone; 10 % give label and features", "vote", "device_alone"),
        ("a device alone; labels of 75 % public, no features", "sbp", "device_alone"),
    ):
        values = [device(method, people, name) for people in PEOPLE]
        assert lines[words] == ["-" if value is None else f"{value:.1f}" for value in values], words
    gains = {people: device("vote", people) - device("vote", people, "device_alone") for people in PEOPLE}  # type: ignore[operator]
    assert (
        f"is {min(gains.values()):.1f} to {max(gains.values()):.1f} points above the device alone\n  in all seven"
        in text
    )
    for method in ("sbp", "hogs"):
        below = {
            people for people in PEOPLE if (device(method, people) or 1) < (device(method, people, "device_alone") or 0)
        }
        assert below == ({"twitch-engb" if method == "sbp" else "facebook100-amherst41", "twitch-de"})
    figures = [f"{device('sbp', people, name):.1f}" for people in ("twitch-engb", "twitch-de")
               for name in ("device", "device_alone")]  # fmt: skip
    assert "both Twitch graphs: {} and {} %, {} and {} %;".format(*figures) in text


def seeds_of(**wanted: str) -> list[dict[str, str]]:
    """Return the runs of `vote` in who-is-trusted.csv whose friends all tell a guess, one a seed."""
    wanted = {"method": "vote", "told": "guess", "share": "1", **wanted}
    return [row for row in rows("who-is-trusted.csv") if all(row[name] == value for name, value in wanted.items())]


def over_seeds(name: str, **wanted: str) -> str:
    values = [float(row[name]) for row in seeds_of(**wanted) if row[name]]
    return f"{statistics.mean(values):.1f} ± {statistics.stdev(values):.1f}"


def over_alone(epsilon: str, **wanted: str) -> list[float]:
    """Return how many points a device has with reports of an epsilon above those without, one a seed."""
    alone = {row["seed"]: float(row["device_alone"]) for row in seeds_of(**wanted, epsilon="4")}
    return [float(row["device"]) - alone[row["seed"]] for row in seeds_of(**wanted, epsilon=epsilon)]


def test_who_predicts() -> None:
    """Every cell of the page's tables, the headline, and README's table."""
    text, found, people, share = (RESULTS / "who-predicts.md").read_text(), 0, "", ""
    for cells in table_rows(text):
        if len(cells) != 8 or cells[3] not in ("device", "curator"):
            continue
        if cells[0]:
            people, share = cells[0].partition(" ")[0], {"10 %": "0.1", "1 %": "0.01"}[cells[1]]
            assert cells[2] == over_seeds("device_alone", dataset=people, volunteers=share, epsilon="4"), people
            seeds = len(seeds_of(dataset=people, volunteers=share, epsilon="4"))
            assert cells[0] == people + (f" ({seeds})" if seeds < 10 else ""), people
        for epsilon, cell in zip(("1", "2", "4", "8"), cells[4:], strict=True):
            assert cell == over_seeds(cells[3], dataset=people, volunteers=share, epsilon=epsilon), (people, epsilon)
            found += 1
    assert found == 128
    _papers_settings(text)
    cora = {"dataset": "cora", "volunteers": "0.1"}
    figures = [over_seeds(name, **cora, epsilon="2") for name in ("curator", "device")]
    alone = over_seeds("device_alone", **cora, epsilon="4")
    headline = "curator {} %, device {} %, device alone {} %".format(*figures, alone)
    assert headline in (RESULTS / "README.md").read_text()
    _readme_table(cora, alone.partition(" ")[0])


def _readme_table(cora: Mapping[str, str], alone: str) -> None:
    """README's first table of results: largest class, curator, devices, and a training in rounds."""
    (volunteers,) = [row for row in rows("who-predicts.csv")
                     if (row["dataset"], row["volunteers"], row["labels"], row["budget"])
                     == ("cora", "0.1", "private", "epsilon 4")]  # fmt: skip
    text = (ROOT / "README.md").read_text()
    shown = [cells[3:] for cells in table_rows(text) if len(cells) == 6]
    assert shown[0] == ["epsilon 1 for a person", "2", "4"]
    reports = [[over_seeds(name, **cora, epsilon=epsilon).partition(" ")[0] for epsilon in "124"]
               for name in ("curator", "device")]  # fmt: skip
    (training,) = [cells[2:5] for cells in table_rows((RESULTS / "who-is-trusted.md").read_text())
                   if cells[0] == "`dp-fedavg`, best setting"]  # fmt: skip
    (start,) = [cells[4] for cells in table_rows((RESULTS / "who-is-trusted.md").read_text())
                if cells[0].startswith("the network that both start from")]  # fmt: skip
    assert f"start from the volunteers' network ({start.partition(' ')[0]})" in text
    chance = f"{float(volunteers['chance']):.1f}"
    assert shown[2:] == [
        [chance] * 3,
        reports[0],
        [alone] * 3,
        reports[1],
        [figure.partition(" ")[0] for figure in training],
    ]
    assert f"reads only answers about lists, has {float(volunteers['graph_alone']):.1f} at 4)" in text
    first, second, last = (over_alone(epsilon, **cora) for epsilon in "124")
    middle, width = statistics.mean(first), 2.262 * statistics.stdev(first) / len(first) ** 0.5  # t of ten seeds
    assert (
        f"own device by {middle:.1f} points at epsilon 1 (95 % interval {middle - width:.1f} to {middle + width:.1f}), "
        f"by {statistics.mean(second):.1f} at epsilon 2, and by {statistics.mean(last):.1f} at epsilon 4"
    ) in text


def _papers_settings(text: str) -> None:
    """Each row of the table of the papers' settings has figures and losses of one row of who-predicts.csv."""
    table, shown = rows("who-predicts.csv"), set[str]()
    for cells in table_rows(text):
        if len(cells) != 9 or not (named := re.fullmatch(r"`([\w-]+)`", cells[0])):
            continue
        figures = cells[3:5]
        found = [row for row in table if (row["method"], row["dataset"]) == (named[1], cells[2])
                 and [spread(row[name], row[f"{name}_std"]) for name in ("curator", "device")] == figures]  # fmt: skip
        assert len(found) == 1, cells
        assert found[0]["alone"] == "" or cells[5] == spread(found[0]["alone"], found[0]["alone_std"]), cells
        for level, cell in zip(("relationship", "vector", "user"), cells[6:], strict=True):
            held = found[0][f"holds_{level}"]
            assert cell == {"unprotected": "in clear", "not asked": held}.get(held) or (
                float(cell.replace(",", "")) == pytest.approx(float(held), abs=0.05)
            ), cells
        shown.add(found[0]["command"])
    assert len(shown) == 16


def test_volunteers() -> None:
    """Every cell of the two tables of vote.md: what both CSV files have is the same figure."""
    table = [row for row in rows("who-predicts.csv") if row["method"] == "vote" and row["volunteers"]]
    by_cell = {(row["labels"], row["dataset"], row["volunteers"], row["budget"]): row for row in table}
    found, labels = 0, "private"
    for line in (RESULTS / "vote.md").read_text().splitlines():
        labels = "public" if line.startswith("Without `--private-labels`") else labels
        cells = next(table_rows(line), [""])
        if len(cells) != 9 or not re.fullmatch(r"\d+ %", cells[1]):
            continue
        key = people, share = cells[0].partition(" ")[0], f"{int(cells[1].split()[0]) / 100:g}"
        for epsilon, cell in zip("1248", cells[2:6], strict=True):
            row = by_cell.get((labels, *key, f"epsilon {epsilon}"))
            shown = spread(row["curator"], row["curator_std"]) if row else "-"
            if labels == "private":
                assert shown in ("-", over_seeds("curator", dataset=people, volunteers=share, epsilon=epsilon))
                shown = over_seeds("curator", dataset=people, volunteers=share, epsilon=epsilon)
            assert cell == shown, (cells[:2], epsilon)
            found += cell != "-"
        row = by_cell.get((labels, *key, "epsilon 4"))
        for name, cell in zip(("chance", "features_alone", "graph_alone"), cells[6:], strict=True):
            assert cell == (spread(row[name], row[f"{name}_std"]) if row else "-"), (cells[:2], name)
            found += cell != "-"
    assert found > 100


def picture(name: str) -> str:
    """Return the words of a picture, blanks as one."""
    parts = re.findall(r"<text[^>]*>(.*?)</text>", (ROOT / "docs" / "images" / f"{name}.svg").read_text(), re.DOTALL)
    return " ".join(html.unescape(re.sub("<[^>]*>", "", part)).replace("\xa0", " ") for part in parts)


def without_frame(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def test_the_first_page_says_what_its_picture_shows() -> None:
    text, shown = (ROOT / "docs" / "start.md").read_text(), " ".join(picture("run").split())
    ours = dict(re.findall(r"^\| ([^|]+?) \| [^|]+ \| ([\d.]+) % \|$", text, re.MULTILINE))
    assert len(ours) == 6
    for words, figure in ours.items():
        assert f"{figure} %" in shown, words
    below = re.search(r"is ([\d.]+) points below graph alone \((95 % CI -[\d.]+ to \+[\d.]+)\)", text)
    assert below is not None and f"gains -{below[1]} points over graph alone ({below[2]})" in shown
    gained = re.search(r"gained ([\d.]+) points \((95 % CI \+[\d.]+ to \+[\d.]+)\)", text)
    assert gained is not None
    assert re.search(rf"private data gained \+{gained[1]} points {re.escape(f'({gained[2]})')}", without_frame(shown))


def test_the_best_guess_is_one_figure() -> None:
    """In words and in the example below: a bound is rounded up."""
    text = (ROOT / "docs" / "concepts.md").read_text()
    said = re.search(
        r"At epsilon 0 it is (\S+) %, at 1 it is (\S+) %, at 3 it is (\S+) %, and at 5 it is (\S+) %", text
    )
    assert said is not None
    assert [f"{value} %" for value in said.groups()] == [best_guess(epsilon) for epsilon in (0.0, 1.0, 3.0, 5.0)]


@pytest.mark.parametrize("page", READERS, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_page_gives_the_packages_other_names(page: Path) -> None:
    """All packages are inside of ``ldpsim``; and what a run prints last is Flower's or a path."""
    text = " ".join(page.read_text().split())
    assert not re.search(r"packages are called `devices`|[Tt]he last line of the run is", text)
