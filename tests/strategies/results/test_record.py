"""Figures of a record, its keys and its flat row: none leaves or comes without a change of ``result_keys.txt``."""

from __future__ import annotations

import csv
import hashlib
import io
import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ldpsim.curator.methods.base import Graph
from ldpsim.curator.privacy.level import Level, OfOne
from ldpsim.devices.data.population import Population, build_population
from ldpsim.devices.datasets import load
from ldpsim.devices.datasets.npz_file import write_npz_file
from ldpsim.devices.facts import Split
from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.outputs.groups import groups_of, table_of
from ldpsim.strategies.outputs.result_view import view_of
from ldpsim.strategies.results.evaluation import accuracy, auc, macro_f1, reconstruction
from ldpsim.strategies.results.numbers import (
    NONE,
    bytes_,
    count,
    difference,
    duration,
    percent,
    plus_minus,
    points,
    seconds,
    size,
)
from ldpsim.strategies.results.outcome import Outcome, Score, scores_of
from ldpsim.strategies.results.record import assemble
from ldpsim.strategies.results.rows import csv_text, data_frame, figures, row_of, write_table
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.setup.run_setup import Setup
from tests.cli.conftest import RECORD, WITH_NULLS


def test_each_figure_of_a_record_is_over_the_repeats_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three repeats with figures of our own: means, the spread, sums, those of the first and those of the last."""
    seen: list[tuple[Setup, Sequence[Outcome], tuple[Any, Any]]] = []

    def watched(
        setup: Setup, outcomes: Sequence[Outcome], seconds: Mapping[str, float], *spent: Any
    ) -> dict[str, Any]:  # fmt: skip
        seen.append((setup, outcomes, spent))
        return assemble(setup, outcomes, seconds, *spent)

    monkeypatch.setattr("ldpsim.strategies.runs.simulate.assemble", watched)
    settings = {"epochs": "1"}
    simulate(RunOptions(clients=40, repeats=3, settings=settings, reference=False, nulls=False, out=None))
    ((setup, outcomes, spent),) = seen
    figures = (0.2, 0.3, 0.7)
    changed = [
        replace(
            outcome,
            scores=replace(
                scores,
                accuracy={"test": figure, "val": figure / 2, "macro_f1": figure / 4},
                reference=None if number == 0 else Score(figure),
                device=Score(figure / 2 + 0.3),
                with_friends=Score(figure / 2 + 0.4),
            ),
            seeded=number != 1,
            seconds={"collect": figure, "reconstruct": 2 * figure, "train": 3 * figure},
            collected=replace(
                outcome.collected,
                silent=number,
                asked=10 + number,
                reported=4,
                replayed=1,
                refused=Counter(REPORT_COLLECTED=3, POLICY_REFUSED=2),
                downlink_bytes=120,
                uplink_bytes=60,
            ),
            reconstruction={
                **outcome.reconstruction,
                "edges": 10 * figure,
                "edge_recall": figure,
                "posterior": {"figure": figure},
            },
        )
        for number, (outcome, scores, figure) in enumerate(zip(outcomes, scores_of(outcomes), figures, strict=True))
    ]
    record = assemble(setup, changed, {"population": 1.0, "total": 9.0, "cpu": 8.0}, *spent)
    assert record["accuracy"] == {
        "test": pytest.approx(0.4), "val": pytest.approx(0.2), "macro_f1": pytest.approx(0.1),
        "per_repeat": list(figures), "std": pytest.approx(statistics.stdev(figures)),
        "curator": pytest.approx(0.4), "device": pytest.approx(0.5),
        "device_std": pytest.approx(statistics.stdev(figures) / 2),
        "device_with_friends": pytest.approx(0.6),
        "device_with_friends_std": pytest.approx(statistics.stdev(figures) / 2),
    }  # fmt: skip
    assert record["reference"]["nonprivate_test"] == pytest.approx(0.5)
    assert record["seconds"] == {"population": 1.0, "total": 9.0, "cpu": 8.0, "collect": pytest.approx(1.2),
                                 "reconstruct": pytest.approx(2.4), "train": pytest.approx(3.6)}  # fmt: skip
    assert record["reconstruction"]["edges"] == pytest.approx(4) and record["devices"]["silent"] == 0
    assert record["reconstruction"]["edge_recall"] == pytest.approx(0.4)
    assert {name: record["devices"][name] for name in ("asked", "reported", "replayed", "refused")} == {
        "asked": 10, "reported": 4, "replayed": 1, "refused": 5,
    }  # fmt: skip
    assert record["devices"]["refused_by_code"] == {"POLICY_REFUSED": 2, "REPORT_COLLECTED": 3}
    sent = record["communication"]  # of every device that was asked, whether it answered or not
    assert (sent["downlink_bytes_per_device"], sent["uplink_bytes_per_device"]) == (12.0, 6.0)
    assert record["reconstruction"]["posterior"]["figure"] == figures[0]  # a method's notes: the first repeat's
    assert record["simulation_seeded"] is False
    searched = replace(setup, settings=replace(setup.settings, collections=5))
    privacy = assemble(searched, changed, {"population": 1.0, "total": 9.0, "cpu": 8.0}, *spent)["privacy"]
    assert (privacy["collections"], privacy["searched"]) == (3, 5)
    digests = [hashlib.sha256(repeat.split.test.astype("<i8").tobytes()).hexdigest() for repeat in setup.plans]
    assert record["dataset"]["scored_sha256"] == digests and len(set(digests)) == 3


@pytest.mark.parametrize("method", ["fedavg-mlp", "silo-fedavg-gcn", "isolate"])
def test_the_figure_of_a_training_in_rounds_is_the_devices(method: str) -> None:
    """Each person is scored with data that nobody else has: tables have it as the device's, and no curator's."""
    settings = {"rounds": "2"} if method != "isolate" else {"local_steps": "2"}
    record = simulate(RunOptions(method=method, clients=60, settings=settings, repeats=2, reference=False, nulls=False,
                                 out=None)).record  # fmt: skip
    figures, tests = record["accuracy"], record["accuracy"]["per_repeat"]
    assert figures["curator"] is None and figures["device"] == pytest.approx(sum(tests) / 2)
    assert figures["device_std"] == pytest.approx(abs(tests[0] - tests[1]) / 2**0.5) == figures["std"]
    row = row_of(record, "")
    assert (row["curator"], row["device"], row["device_std"]) == (None, figures["device"], figures["device_std"])
    (shown,) = table_of(groups_of([record]))
    assert "accuracy" not in shown  # the curator has no figure
    assert shown["device (alone)"] == points(figures["device"]) + plus_minus(figures["device_std"])


def _privacy(**given: Any) -> dict[str, Any]:
    """Return the section about privacy of a small run with three repeats, and of the same with one as ``alone``."""
    made = {"clients": 40, "settings": {"epochs": "1"}, "reference": False, "nulls": False, "out": None, **given}
    once = {name: value for name, value in made.items() if name != "repeats_vary"}  # it needs several repeats
    several = simulate(RunOptions(**made, repeats=3)).record["privacy"]  # type: ignore[arg-type]
    alone = simulate(RunOptions(**once)).record["privacy"]  # type: ignore[arg-type]
    return {**several, "alone": alone}


@pytest.mark.parametrize("vary", ["noise", "all"])
@pytest.mark.parametrize("noise", [None, 5], ids=["os", "seed"])
def test_what_the_same_people_are_asked_again_with_fresh_noise_adds_up(vary: str, noise: int | None) -> None:
    """HoGS at epsilon 4: a bit of a list loses 3.6, and 10.8 in three collections of the same people."""
    privacy = _privacy(method="hogs", epsilon=4.0, repeats_vary=vary, seeds={"noise": noise})
    assert privacy["collections"] == 3 and privacy["repeats"] == ("again" if noise is None else "instead")
    assert privacy["holds"]["bit_adjacency"]["value"] == pytest.approx(10.8)
    for name, level in privacy["holds"].items():
        alone = privacy["alone"]["holds"][name]
        if level["status"] != "bounded":
            assert level["status"] == alone["status"] and level["of_one"] is None
            continue
        assert level["value"] == pytest.approx(3 * alone["value"]), name
        assert level["of_one"] == {"value": alone["value"], "delta": 0.0, "of": 3}, name
        assert level["kind"] == alone["kind"] == "exact", name
    life, once = privacy["lifetime_per_device"], privacy["alone"]["lifetime_per_device"]
    assert life["user"]["max"] == pytest.approx(privacy["holds"]["user"]["value"])
    assert life["user"]["mean"] == pytest.approx(3 * once["user"]["mean"]) and life["complete"]
    assert any("3 times" in reason for reason in privacy["why_they_differ"])


@pytest.mark.parametrize(("method", "collections"), [("fp-ldpgen", 3), ("hogs", 1)])
def test_under_one_noise_seed_a_question_of_several_stages_counts_every_time(method: str, collections: int) -> None:
    """Repeats that differ in their split alone have one noise seed: the same question gives the same bytes.

    A later stage is grouped by a training on other labels, so it asks something else.
    """
    privacy = _privacy(method=method, epsilon=4.0, repeats_vary="split", seeds={"noise": 5})
    assert privacy["collections"] == collections
    for name, level in privacy["holds"].items():
        alone = privacy["alone"]["holds"][name]
        if alone["value"] is not None:
            assert level["value"] == pytest.approx(collections * alone["value"]), name
            # stages of one draw: nobody says that some people attain the sum
            assert (alone["kind"], level["kind"]) == ("exact", "exact" if collections == 1 else "bound"), name
    once = privacy["alone"]["lifetime_per_device"]["user"]["max"]
    assert privacy["lifetime_per_device"]["user"]["max"] == pytest.approx(collections * once)


@pytest.mark.parametrize("noise", [None, 5], ids=["os", "seed"])
def test_reports_that_were_kept_are_those_of_one_collection(noise: int | None, tmp_path: Path) -> None:
    """Three repeats that read them lose what the first run lost, whatever their seeds are."""
    given: dict[str, Any] = {"method": "hogs", "clients": 40, "settings": {"epochs": "1"}, "reference": False,
                             "nulls": False, "seeds": {"noise": noise}}  # fmt: skip
    first = simulate(RunOptions(**given, out=tmp_path, save_reports=True))
    kept = tmp_path / first.folder.name / "reports"
    again = simulate(RunOptions(**given, out=None, from_reports=kept, repeats=3, repeats_vary="all")).record
    assert again["privacy"]["collections"] == 1
    assert again["privacy"]["holds"] == first.record["privacy"]["holds"]


@pytest.mark.parametrize(
    ("given", "exact"),
    [({"method": "hogs"}, False), ({"method": "hogs", "public_features": True}, True), ({"method": "raw"}, True)],
)
def test_features_have_no_error_where_they_are_public_or_read_in_clear(given: dict[str, Any], exact: bool) -> None:
    options = RunOptions(clients=40, settings={"epochs": "1"}, reference=False, nulls=False, out=None, **given)
    error = simulate(options).record["reconstruction"]["feature_mae"]
    assert error == 0.0 if exact else error > 0.05


def test_several_collections_lose_what_a_person_who_is_in_all_of_them_loses() -> None:
    """Labels of 10 people, and then of 10 others: everybody's list was reported twice, and each label once."""
    setup = prepare(RunOptions(method="hogs", clients=40, private_labels=True, eps_labels=1.0, epsilon=4.0, out=None))
    run, rest, plan = kind_of(setup.method), np.arange(30, 40), setup.plans[0]
    first, second = (
        run.plan(setup, replace(plan, split=Split(people[:6], people[6:], rest))).released
        for people in np.split(np.arange(20), 2)
    )
    once = run.guarantee(setup, [first]).holds
    for collections, times in (([first, second], 1), ([first, first], 2)):
        held = run.guarantee(setup, collections)
        assert held.collections == 2 and held.holds["label"].value == pytest.approx(times * 1.0)
        for name in ("bit_adjacency", "relationship", "vector"):
            assert held.holds[name].value == pytest.approx(2 * once[name].value)
        assert held.holds["user"].value == pytest.approx(2 * (once["user"].value - 1.0) + times * 1.0)


def test_an_owner_that_answers_again_loses_what_three_times_the_queries_lose() -> None:
    def level(queries: int, repeats: int) -> Level:
        vary = "noise" if repeats > 1 else "all"
        options = RunOptions(method="privgnn", clients=120, settings={"queries": str(queries)}, repeats=repeats,
                             repeats_vary=vary, seeds={"noise": None}, out=None)  # fmt: skip
        setup = prepare(options)
        released = [plan.released for plan in setup.plans]
        return kind_of(setup.method).guarantee(setup, released).holds["central_node"]

    alone, again, thrice = level(8, 1), level(8, 3), level(24, 1)
    assert (again.value, again.delta) == (thrice.value, alone.delta)
    assert (alone.value or 0) < (again.value or 0) < 3 * (alone.value or 0)


LISTED = Path(__file__).with_name("result_keys.txt")
# Kinds of run that have different parts, each with all that it can have.
RUNS: dict[str, dict[str, Any]] = {
    "one report": {"method": "hogs", "defence": "degree", "private_labels": True, "eps_labels": 1.0},
    "a vote": {"method": "vote", "volunteers": 0.3},
    "an owner": {"method": "privgnn", "clients": 200, "settings": {"epochs": "2", "queries": "10", "K": "5"}},
    "an owner of the graph": {"method": "gap"},
    "in rounds": {"method": "dp-fedavg", "settings": {"rounds": "2"}},
    "silos": {"method": "silo-fedgcn", "settings": {"rounds": "2", "silos": "3"}},
}
# Parts whose keys are data: names of methods' parameters, of groups, levels, refusals and phases.
OPEN = {"config.parameters", "config.provenance", "config.caps", "config.seeds", "config.budget", "config.settings",
        "devices.refused_by_code", "communication.by_phase", "privacy.holds", "privacy.lifetime_per_device", "seconds",
        "nulls", "nulls_not_taken", "verdict.bought", "verdict.over", "groups", "reconstruction"}  # fmt: skip


def keys_of(value: Any, name: str = "") -> Iterator[str]:
    """Yield the dotted names of all values."""
    if isinstance(value, Mapping) and value and name not in OPEN:
        for key, entry in value.items():
            yield from keys_of(entry, f"{name}.{key}" if name else key)
    else:
        yield name


def test_the_keys_are_those_that_are_listed() -> None:
    found: dict[str, set[str]] = {}
    for kind, given in RUNS.items():
        settings = given.get("settings", {"epochs": "2"} if given["method"] != "vote" else {})
        record = simulate(RunOptions(**{"clients": 60, "out": None, **given, "settings": settings})).record
        for key in keys_of(record):
            found.setdefault(key, set()).add(kind)
    lines = [f"{key}: {'all' if len(kinds) == len(RUNS) else ', '.join(kind for kind in RUNS if kind in kinds)}"
             for key, kinds in sorted(found.items())]  # fmt: skip
    assert lines == LISTED.read_text().splitlines(), "\n".join(lines)


@pytest.fixture
def path_of_four() -> Population:
    """0 - 1 - 2 - 3, with features 10, 01, 11 and none."""
    return build_population(
        "path", n=4, d=2, edges=np.array([[0, 1, 2], [1, 2, 3]]), feature_indptr=np.array([0, 1, 2, 4, 4]),
        feature_indices=np.array([0, 1, 0, 1]), feature_values=None, labels=np.array([0, 0, 1, 1]), classes=2,
    )  # fmt: skip


def graph(features: list[list[float]], edges: list[list[int]], **notes: object) -> Graph:
    nobody = np.zeros(0, np.int64)
    both = np.array(edges, np.int64)
    return Graph(
        np.array(features, np.float32),
        np.concatenate([both, both[::-1]], axis=1),
        None,
        np.zeros(4, np.int64),
        nobody,
        nobody,
        notes,
    )


def test_hand_worked_errors(path_of_four: Population) -> None:
    truth = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    exact = reconstruction(graph(truth, [[0, 1, 2], [1, 2, 3]]), path_of_four)
    assert exact == {"edge_precision": 1.0, "edge_recall": 1.0, "edges": 3, "feature_mae": 0.0}
    # edge 2-3 is missing, 0-3 is spurious; feature (3, 0) is .5 too high
    wrong = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.0]]
    found = reconstruction(graph(wrong, [[0, 1, 0], [1, 2, 3]]), path_of_four)
    assert found["edge_precision"] == found["edge_recall"] == pytest.approx(2 / 3)
    assert found["feature_mae"] == pytest.approx(0.5 / 8)
    few = reconstruction(graph(wrong, [[0, 0], [1, 3]]), path_of_four)  # one of its two edges is one of the three
    assert (few["edge_precision"], few["edge_recall"], few["edges"]) == (0.5, pytest.approx(1 / 3), 2)
    assert reconstruction(graph(wrong, [[0], [1]]), path_of_four, own_features=True)["feature_mae"] == 0


def test_an_edge_that_is_named_twice_is_refused(path_of_four: Population) -> None:
    """Its recall was 199.9 % in a run of a method whose pairs came from both ends."""
    twice = graph([[0.0, 0.0]] * 4, [[0, 0, 1], [1, 1, 2]])
    with pytest.raises(ValueError, match="^the method's graph names an edge twice"):
        reconstruction(twice, path_of_four)


def test_standardised_features_are_compared_in_their_own_units(path_of_four: Population) -> None:
    centre, scale = np.array([0.5, 0.25], np.float32), np.array([2.0, 4.0], np.float32)
    truth = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]])
    scaled = ((truth - centre) / scale).tolist()
    found = reconstruction(
        graph(scaled, [[0, 1, 2], [1, 2, 3]], feature_centre=centre, feature_scale=scale), path_of_four
    )
    assert found["feature_mae"] == pytest.approx(0, abs=1e-6)
    for half in ({"feature_centre": centre}, {"feature_scale": scale}):  # one alone says nothing about their units
        assert reconstruction(graph(truth.tolist(), [[0], [1]], **half), path_of_four)["feature_mae"] == 0


def test_accuracy_and_macro_f1(path_of_four: Population) -> None:
    split = Split(np.array([0]), np.array([1]), np.array([2, 3]))
    assert accuracy(np.array([0, 1, 1, 0]), path_of_four, split) == {
        "test": 0.5,
        "val": 0.0,
        "macro_f1": pytest.approx(1 / 3),
    }
    assert macro_f1(np.array([0, 0, 1]), np.array([0, 1, 1])) == pytest.approx(2 / 3)
    assert macro_f1(np.zeros(0, int), np.zeros(0, int)) is None


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.6, 0.4], [0.2, 0.8], [0.5, 0.5]])
    truth = np.array([0, 0, 1, 1, 0])
    assert auc(scores, truth) == pytest.approx((3 + 1 + 0.5) / 6)  # six pairs: 3, 1 and a tie
    assert auc(scores, np.zeros(5, int)) is None


def test_auc_is_beside_accuracy_where_one_class_has_most_people(tmp_path: Path) -> None:
    people = load("generated", clients=60, seed=1)
    for share, key in ((0.55, False), (0.7, True)):
        labels = (np.arange(60) >= 60 * share).astype(np.int64)
        facts = replace(people.facts, classes=2, class_names=())
        write_npz_file(replace(people, labels=labels, facts=facts), tmp_path / "skewed.npz")
        for method in ("hogs", "fedavg-mlp"):
            rounds = {"rounds": "2"} if method != "hogs" else {"epochs": "2"}
            options = RunOptions(method=method, dataset=str(tmp_path / "skewed.npz"), out=None, settings=rounds)
            record = simulate(options).record
            assert ("auc" in record["accuracy"]) == key
            assert ("device_auc" in record["accuracy"]) == (key and method == "hogs")
            (row, *_) = view_of(record).sections[0].rows
            assert row.words.startswith("AUC 0.") == key


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_a_row_has_claimed_and_held_and_nulls() -> None:
    record: dict[str, Any] = {**RECORD, **{name: WITH_NULLS[name] for name in ("nulls", "verdict", "reference")}}
    record["config"] = {**RECORD["config"], "epsilon": None, "feature_share": None, "reporting": "both"}
    row = row_of(record, "hogs-0", 3)
    assert (row["epsilon"], row["feature_share"], row["reporting"]) == (8.0, 0.1, "both")  # the budget says what it was
    assert (row["cell"], row["claimed"], row["holds_relationship"], row["holds_label_status"]) == (
        3, 8.0, 14.4, "unprotected",
    )  # fmt: skip
    assert (row["holds_relationship_of_one"], row["holds_relationship_delta"]) == (None, 0.0)
    assert (row["margin"], row["margin_low"], row["margin_high"]) == (-0.176, -0.189, -0.162)
    assert (row["shuffled_adjacency"], row["standing"], row["nonprivate_test"]) == (0.3311, "below", 0.8511)
    assert (row["answered"], row["edges_kept"], row["folder"]) == (2900, 10238.0, "hogs-0")
    found = dict(figures(record))
    assert (found["test"], found["graph_alone"], found["holds_user"]) == (0.6124, 0.7884, 21797.6)
    assert not {"cell", "epsilon", "noise_seed", "std", "holds_label", "method"} & set(found)
    assert all(type(value) is float for value in found.values())


def test_a_row_has_the_loss_of_all_collections_and_beside_it_that_of_one() -> None:
    """Each figure of a level in its own column: three collections, each of loss 2 at delta 1e-6."""
    level = Level("bounded", 6.0, 3e-6, of_one=OfOne(2.0, 1e-6, 3)).to_dict()
    holds = {**RECORD["privacy"]["holds"], "user": level}
    row = row_of({**RECORD, "privacy": {**RECORD["privacy"], "holds": holds, "collections": 3}}, "")
    found = {name: row[name] for name in row if name.startswith("holds_user") or name == "collections"}
    assert found == {"holds_user": 6.0, "holds_user_status": "bounded", "holds_user_delta": 3e-6,
                     "holds_user_of_one": 2.0, "collections": 3}  # fmt: skip


def test_a_column_has_one_type_and_the_last_ones_stay_last() -> None:
    rows = [{"cell": 1, "a": 1, "b": "x", "folder": "f", "error": None}, {"cell": 2, "a": 0.5, "b": 2, "c": True}, {}]
    frame = data_frame(rows)
    assert [str(frame[name].dtype) for name in "abc"] == ["float64", "string", "boolean"]
    assert list(frame.columns) == ["cell", "a", "b", "c", "folder", "error"]
    assert [row["a"] for row in rows_of(csv_text(frame))] == ["1.0", "0.5", ""]
    assert [row["b"] for row in rows_of(csv_text(frame))] == ["x", "2", ""]
    assert rows_of(csv_text(frame))[1]["c"] == "true"


def test_no_cell_is_a_formula_and_a_table_is_written_whole(tmp_path: Path) -> None:
    frame = data_frame([{"method": "=1+1", "margin": -0.5, "n": "-0.5"}])
    write_table(tmp_path / "table.csv", frame)
    assert (tmp_path / "table.csv").read_text() == "method,margin,n\n'=1+1,-0.5,-0.5\n"


def test_shares_are_points_and_per_cent() -> None:
    assert (points(0.8125), points(None), points(math.nan), points(0.5, 0)) == ("81.2", NONE, NONE, "50")
    assert (percent(0.5), percent(None)) == ("50.0 %", NONE)
    assert (plus_minus(0.0104), plus_minus(0.5, 0), plus_minus(None)) == (" ± 1.0", " ± 50", "")


def test_a_difference_has_its_interval_and_no_minus_before_nothing() -> None:
    entry = {"value": -0.0004, "low": -0.021, "high": 0.0196}
    assert difference(entry) == "+0.0 points (95 % CI -2.1 to +2.0)"
    assert difference({**entry, "value": 0.0996}) == "+10.0 points (95 % CI -2.1 to +2.0)"


def test_bytes_seconds_and_counts() -> None:
    assert [size(value) for value in (12, 1500, 2.5e6, 3e9, 2e16)] == ["12 B", "1.5 kB", "2.5 MB", "3.0 GB", "20.0 PB"]
    assert (bytes_(0), bytes_(402)) == ("none", "402 B")
    assert [seconds(value) for value in (None, 0, 0.01, 1.24, 1234.0)] == [NONE, "0.0", "<0.1", "1.2", "1,234"]
    assert (count(1, "round"), count(1200, "round")) == ("1 round", "1,200 rounds")


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.2, "0 s"), (99.4, "99 s"), (100, "2 min"), (5940, "99 min"), (6000, "1 h 40 min"), (7500, "2 h 05 min")],
)
def test_durations(value: float, words: str) -> None:
    assert duration(value) == words
