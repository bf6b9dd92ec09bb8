from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from ldpsim.cli.output import WIDTH, console
from ldpsim.cli.summary import _teachers, first_screen, summary
from ldpsim.curator.privacy.level import Level, OfOne


def shown(record: dict[str, Any], folder: Path | None = Path("runs/a")) -> str:
    screen = console()
    with screen.capture() as capture:
        screen.print(summary(record, folder=folder))
    return capture.get()


def words(text: str) -> str:
    """The text without its frame and line breaks."""
    return " ".join(text.replace("│", " ").split())


def test_what_a_person_reads(record: dict[str, Any]) -> None:
    text = words(shown(record))
    for expected in (
        "hogs on generated", "3,000 people, 10,500 edges, 256 features, 5 classes", "test 61.2 %",
        "without noise 85.1 % (same graph, same network)", "null models not taken", "untrusted curator", "Theorem 4",
        "a list entry 7.2 >99.9 %", "a feature 0.8 69 %",
        "all features 204.8",
        "a person's label unprotected", "a person: all that a person reports 21,797.6",
        "a person in owned data not asked",
        "an undirected edge stands in both ends' lists", "nodes are public in this", "400 down, 410 up a device",
        "3,000 asked: 2,890 reported, 10 replayed, 50 refused, 49 silent, 1 failed (REPORT_COLLECTED 50)",
        "collect 0.4",
        "10,238: precision 81.0 %, recall 79.0 %; precision of random pairs 0.2 %",
        "Simulated from a seed: not private", "Result: runs/a/result.json",
    ):  # fmt: skip
        assert expected in text, expected


def test_no_line_is_wider_than_the_terminal(record: dict[str, Any]) -> None:
    record["dataset"]["name"] = "a-name-that-somebody-chose-for-their-own-file-and-that-is-much-too-long-for-a-title"
    record["privacy"]["why_they_differ"].append("x" * 200)
    record["devices"] |= {"asked": 20_000_000, "reported": 20_000_000}
    record["privacy"]["holds"]["node"]["value"] = 1.23456789e12
    text = shown(record, Path("runs") / ("folder" * 30))
    assert max(map(len, text.splitlines())) <= WIDTH
    assert "1,234,567,890,000" in text


def test_a_seeded_simulation_says_so_and_only_then(record: dict[str, Any]) -> None:
    assert "not private" in words(shown(record))
    record["simulation_seeded"] = False
    assert "not private" not in words(shown(record))


def test_repeats_and_what_was_left_out(record: dict[str, Any]) -> None:
    record["accuracy"] |= {"per_repeat": [0.6, 0.62], "std": 0.0141}
    record["reference"]["nonprivate_test"] = None
    record["privacy"]["collections"] = 2
    record["privacy"]["holds"]["user"] = Level("bounded", 2.0, of_one=OfOne(1.0, 0.0, 2)).to_dict()
    text = words(shown(record, folder=None))
    assert "± 1.4 over 2 repeats" in text
    assert "without noise not trained" in text
    assert "best guess 73.2 %" in text and "best guess 88.1 %" not in text  # the words are those of one collection
    assert "If 2 collections asked the same people, losses would add: " in text and "a person 2" in text
    assert "over one collection, when this changes" in text and "all 2" in text
    assert "Result:" not in text


def test_the_next_command_says_that_it_asks_again(record: dict[str, Any]) -> None:
    for seeded in (True, False):
        screen = Console(record=True, width=80)
        found = {**record, "simulation_seeded": seeded}
        screen.print(first_screen(found, folder=None, next_command="ldpsim compare hogs raw"))
        assert ("asks these people again, and losses add" in screen.export_text()) is not seeded


def test_a_reference_asks_nobody(record: dict[str, Any]) -> None:
    for level in record["privacy"]["holds"].values():
        level |= {"status": "unprotected", "value": None}
    record["privacy"] |= {"trust": "none", "claimed": {"statement": "", "value": None}, "why_they_differ": []}
    record["privacy"]["lifetime_per_device"]["user"] = {"max": 0.0, "mean": 0.0}
    record["devices"] |= dict.fromkeys(("asked", "reported", "replayed", "refused", "silent", "failed"), 0)
    record["communication"] |= {"downlink_bytes_per_device": 0.0, "uplink_bytes_per_device": 0.0, "rounds": 0}
    record["reconstruction"] = dict.fromkeys(record["reconstruction"])
    record["accuracy"]["macro_f1"] = None
    text = words(shown(record))
    assert "best guess:" not in text
    assert "claimed nothing" in text
    assert "nobody was asked" in text
    assert "Simulated" not in text
    assert "precision" not in text


def test_an_unbounded_or_unknown_life_is_not_made_small(record: dict[str, Any]) -> None:
    record["privacy"]["lifetime_per_device"] |= {"user": {"max": None, "mean": None}, "complete": False}
    text = words(shown(record))
    assert "in the ledgers unprotected; not all of it is known" in text


def test_markup_in_a_name_is_only_text(record: dict[str, Any]) -> None:
    record["dataset"]["name"] = "[bold]mine[/bold]"
    assert "[bold]mine[/bold]" in shown(record)


def test_null_models_and_the_verdict(with_nulls: dict[str, Any]) -> None:
    text = words(shown(with_nulls))
    for expected in (
        "compared Labels on the graph alone are 17.6 points above the method.",
        "without noise 85.1 % (same settings; 86.2 % with its own best)", "chance 30.1 % (always the largest class)",
        "graph alone 78.8 % ± 0.3, 17.6 points above the method (labels spread",
        "features alone 55.0 % ± 1.1 (no graph",
        "shuffled the same run with data of somebody else: features 60.9 % ± 0.4 "
        "adjacency 33.1 % ± 0.6 all 30.2 % ± 0.0", "nulls 12.4",
    ):  # fmt: skip
        assert expected in text, expected
    assert text.count("above the method") == 2
    assert text.index("compared") < text.index("always the largest class")


def test_a_null_model_above_the_method_is_in_colour(with_nulls: dict[str, Any]) -> None:
    def coloured() -> str:
        screen = Console(width=WIDTH, force_terminal=True, color_system="standard", highlight=False, _environ={})
        with screen.capture() as capture:
            screen.print(summary(with_nulls, folder=None))
        return capture.get()

    assert "\x1b[1;31m78.8 % ± 0.3, 17.6 points above the method" in coloured()
    assert "\x1b[31mLabels on the graph alone" in coloured()
    with_nulls["nulls"]["graph_alone"] = None  # the method has no graph
    with_nulls["verdict"] |= {"above_nulls": True, "margin": {"value": 0.01, "low": 0.005, "high": 0.015}}
    tables = coloured().partition("In detail")[2]
    assert "\x1b[1;31m" not in tables and "\x1b[32mLabels" in tables
    assert "graph alone" not in coloured().replace("the graph alone", "")


def test_a_narrow_terminal_cuts_no_value(with_nulls: dict[str, Any]) -> None:
    screen = Console(width=40, highlight=False)
    with screen.capture() as capture:
        screen.print(summary(with_nulls, folder=None))
    text = words(capture.get())
    assert max(map(len, capture.get().splitlines())) <= 40
    assert "…" not in text
    for value in (
        "61.2 %",
        "85.1 %",
        "86.2 %",
        "30.1 %",
        "78.8 %",
        "17.6 points",
        "55.0 %",
        "60.9 %",
        "33.1 %",
        "43,390.4",
    ):
        assert value in text, value


def test_the_verdict_comes_first_and_the_command_before_the_tables(with_nulls: dict[str, Any]) -> None:
    screen = console()
    with screen.capture() as capture:
        screen.print(summary(with_nulls, folder=None, next_command="ldpsim compare hogs raw"))
    lines = capture.get().splitlines()
    assert "hogs on generated" in lines[0]
    (command,) = [number for number, line in enumerate(lines) if line == "Next: ldpsim compare hogs raw"]
    (tables,) = [number for number, line in enumerate(lines) if "In detail" in line]
    assert any("not hidden" in line for line in lines[:command])
    assert command < tables


def test_a_narrow_terminal_lists_the_levels(record: dict[str, Any]) -> None:
    screen = Console(width=40, highlight=False)
    with screen.capture() as capture:
        screen.print(summary(record, folder=None))
    text = words(capture.get())
    assert "a feature epsilon 0.8, best guess 69 %" in text
    assert "a person's label unprotected" in text
    assert "a relationship: an edge, at both ends epsilon 14.4, best guess >99.9 %" in text


def test_a_long_path_stays_in_one_line_and_a_delta_is_apart(record: dict[str, Any]) -> None:
    record["privacy"]["holds"]["user"] |= {"delta": 1e-2}
    folder = Path("a-folder-with-a-long-name/and-one-below-it/run-0")
    screen = Console(width=40, highlight=False)
    with screen.capture() as capture:
        screen.print(summary(record, folder=folder), crop=False)
    assert f"Result: {folder / 'result.json'}" in capture.get().splitlines()
    assert " %, delta 1e-02" in words(capture.get())


def test_a_method_without_graph_and_network_has_no_section_about_its_graph(record: dict[str, Any]) -> None:
    record["reconstruction"] |= {"edges": 0, "edge_precision": None, "edge_recall": 0.0}
    assert "0: precision – , recall 0.0 %".replace(" ,", ",") in words(shown(record))
    record["gnn"] = "none"
    assert "Graph against the truth" not in words(shown(record))


def test_what_the_teachers_of_an_owner_released() -> None:
    cost = {"label": 1.25, "vector": 9.5, "printed": 0.75}
    found = {
        "private": 1600, "division": "40% private", "pseudo_label_accuracy": 0.625, "pseudo_label_ceiling": 0.875,
        "teacher_accuracy": 0.9, "queries": 300, "epsilon": cost, "delta_printed": 1e-4, "delta": 1e-5,
        "labels_released_in_all": 300, "epsilon_in_all": 1.25,
    }  # fmt: skip

    def told(**more: Any) -> str:
        screen = console()
        with screen.capture() as capture:
            screen.print(_teachers({**found, **more}))
        return words(capture.get())

    text = told()
    assert "people 1,600 private (40% private)" in text
    assert "labels 300 released, 62.5 % right (at most 87.5 % under this noise); 90.0 % without noise" in text
    assert "printed: 0.75 (at delta 0.0001)" in text and "holds at delta 1e-05: labels 1.25, noisy vectors 9.5" in text
    assert "more labels" not in text and "at most 87.5" not in told(pseudo_label_ceiling=None)
    more = "these teachers gave 200 more labels in other runs; for all of them: "
    assert f"{more}at most 3.5 together" in told(labels_released_in_all=500, epsilon_in_all=3.5)
    assert f"{more}nothing bounds it" in told(labels_released_in_all=500, epsilon_in_all=None)
