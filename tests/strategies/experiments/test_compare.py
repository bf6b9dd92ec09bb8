"""Comparisons: the same people for everybody, and budgets that are made equal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldpsim.cli.report.gather import gather
from ldpsim.curator.owner.privacy.account import LabelRelease, account
from ldpsim.devices.data.population import Population
from ldpsim.strategies.experiments.compare import Comparison, compare
from ldpsim.strategies.experiments.match import match
from ldpsim.strategies.outputs.comparison import finding
from ldpsim.strategies.results.levels_of_results import held
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.spent import guarantee_before
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import load_population

pytestmark = pytest.mark.usefixtures("cells_in_this_process")


def small(folder: Path, *methods: str, matching: tuple[str, float] | None = None, **more: object) -> Comparison:
    options = RunOptions(
        clients=60, reference=False, nulls=False, device="cpu", settings={"epochs": "3"}, repeats=2, out=folder
    )
    return compare(methods, RunOptions(**{**vars(options), **more}), matching=matching)


def test_everybody_gets_the_same_people_splits_and_seeds(tmp_path: Path) -> None:
    found = small(tmp_path, "hogs", "lpgnn", "raw")
    assert [record["method"] for record in found.records] == ["hogs", "lpgnn", "raw"]
    assert len({record["dataset"]["digest"] for record in found.records}) == 1
    assert len({tuple(record["dataset"]["scored_sha256"]) for record in found.records}) == 1
    assert len(set(found.records[0]["dataset"]["scored_sha256"])) == 2  # and another split each repeat
    assert len({json.dumps(record["seeds"]) for record in found.records}) == 1
    document = json.loads((found.folder / "compare.json").read_text())
    assert document["methods"] == ["hogs", "lpgnn", "raw"] and document["match"] is None
    assert all((found.folder / name / "result.json").is_file() for name in document["folders"])


def test_one_more_method_runs_that_one_alone(tmp_path: Path) -> None:
    first = small(tmp_path, "hogs", "mlp")
    more = small(tmp_path, "mlp", "raw", "hogs")
    assert (first.found, more.found, more.folder) == (0, 2, first.folder)
    assert [record["method"] for record in more.records] == ["mlp", "raw", "hogs"]
    other = small(tmp_path, "hogs", seed=1)
    assert other.folder != first.folder and other.found == 0


def test_a_match_is_what_the_results_hold(tmp_path: Path) -> None:
    found = small(tmp_path, "hogs", "solitude", "lpgnn", "raw", matching=("relationship", 2.0))
    held = [record["privacy"]["holds"]["relationship"] for record in found.records]
    # The two repeats stand for one collection: the other will never be made.
    assert [entry["of_one"]["value"] for entry in held[:2]] == pytest.approx([2.0, 2.0], rel=1e-6)
    assert [entry["value"] for entry in held[:2]] == pytest.approx([4.0, 4.0], rel=1e-6)
    assert found.match is not None and set(found.match.unmatched) == {"lpgnn", "raw"}
    assert "edges are public" in found.match.unmatched["lpgnn"]


def test_a_match_takes_the_words_of_the_screen(tmp_path: Path) -> None:
    """Its folder is that of the stored name, so that the other word finds the same runs."""
    stored, word = (small(tmp_path, "hogs", matching=(name, 2.0), repeats=1) for name in ("relationship", "friendship"))
    assert word.folder == stored.folder and word.found == 1
    assert word.match == stored.match and word.match is not None and word.match.level == "relationship"
    feature = small(tmp_path, "hogs", "vote", matching=("feature", 0.5), repeats=1)
    assert feature.records[0]["privacy"]["holds"]["bit_feature"]["value"] == pytest.approx(0.5, rel=1e-6)
    (group, _) = gather([feature.folder]).groups
    assert group.levels["bit_feature"]["value"] < group.levels["bit"]["value"]
    assert finding([group, group], {"level": "bit_feature", "target": 0.5, "unmatched": {}}).equal
    with pytest.raises(ValueError, match=r"^--match friendship -1: the loss must be a finite number above 0"):
        small(tmp_path, "hogs", matching=("relationship", -1.0))


def test_public_features_go_to_the_methods_that_have_them(tmp_path: Path) -> None:
    """One about private features runs with private ones. At a person's level it has no bound, and a vote has."""
    found = small(tmp_path, "vote", "rgnn", "mlp", matching=("user", 4.0), public_features=True, repeats=1)
    vote, rgnn, mlp = found.records
    assert vote["config"]["public_features"] and not rgnn["config"]["public_features"]
    assert not mlp["config"]["public_features"]  # it asks nobody
    assert vote["config"]["epsilon"] == pytest.approx(4) and "list in clear" in found.match.unmatched["rgnn"]
    assert "its features are public" in found.match.unmatched["vote"] and not found.failures


def test_a_method_runs_without_the_options_that_it_does_not_read(tmp_path: Path) -> None:
    """Its hash does not have them either, so that it is found again beside another budget."""
    first = small(tmp_path, "hogs", "raw", "rgnn", epsilon=4.0, reporting="one-end", dropout=0.1, eps_labels=2.0,
                  private_labels=True, repeats=1)  # fmt: skip
    hogs, raw, rgnn = (record["config"] for record in first.records)
    assert (hogs["epsilon"], hogs["reporting"], hogs["dropout"], hogs["eps_labels"]) == (4.0, "one-end", 0.1, 2.0)
    assert (raw["epsilon"], raw["reporting"], raw["dropout"], raw["eps_labels"]) == (None, "both", 0.0, None)
    assert (rgnn["epsilon"], rgnn["eps_labels"], rgnn["private_labels"]) == (4.0, 2.0, False)
    alone = small(tmp_path, "raw", dropout=0.0, repeats=1).records[0]
    assert alone["config_hash"] == first.records[1]["config_hash"]


def kept_files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_comparison_of_other_options_leaves_the_first_one_as_it_is(tmp_path: Path) -> None:
    first = small(tmp_path, "hogs", "mlp")
    before = kept_files(first.folder)
    others: list[dict[str, object]] = [{"nulls": True}, {"matching": ("relationship", 2.0)}]
    folders = {small(tmp_path, "hogs", "mlp", **more).folder for more in others}  # type: ignore[arg-type]
    assert len(folders) == len(others) and first.folder not in folders
    assert kept_files(first.folder) == before


@pytest.fixture(scope="module")
def population() -> Population:
    return load_population(RunOptions(clients=120, out=None))


def options(method: str, **more: object) -> RunOptions:
    return RunOptions(method=method, clients=120, out=None, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("method", "level", "target", "epsilon"),
    [
        # an edge stands in two lists: 2 (1 - .1) epsilon = 2
        ("hogs", "relationship", 2.0, 1 / 0.9),
        ("hogs", "bit", 1.8, 2.0),
        ("solitude", "relationship", 2.0, 1 / 0.9),
        # 600 features at .1 epsilon each
        ("hogs", "vector", 4.0, 4 / 60.0),
        # 119 bits at .9 epsilon, 600 features at .1
        ("hogs", "user", 8.0, 8 / (119 * 0.9 + 60.0)),
        ("lpgnn", "vector", 0.5, 5.0),
        ("blink", "relationship", 3.0, 1.5),
        ("lp-and", "relationship", 3.0, 1.5),
        ("rgnn", "vector", 3.0, None),
        ("fp-blink", "vector", 3.0, None),
    ],
)
def test_the_budget_is_the_one_worked_out_by_hand(
    method: str, level: str, target: float, epsilon: float | None, population: Population
) -> None:
    found = match(options(method), population, level, target)
    assert found.reason == ""
    assert epsilon is None or found.options.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert found.holds is not None and target * (1 - 1e-6) <= found.holds <= target
    run = guarantee_before(prepare(found.options, population=population))
    assert held(run.to_dict()["holds"], level)["value"] == found.holds  # a run with this budget holds it


def test_an_owners_knob_is_its_noise(population: Population) -> None:
    found = match(options("privgnn", settings={"queries": "20"}), population, "central_node", 2.0)
    scale = float(found.options.settings["lambda_"])
    people = 48  # 40% of 120
    classes = population.facts.classes
    cost = account("privgnn", LabelRelease(queries=20, lambda_=scale, delta=1e-2, classes=classes, nodes=people))
    assert cost.label == pytest.approx(2.0, rel=1e-6)


@pytest.mark.parametrize(
    ("method", "level", "said"),
    [
        ("raw", "user", "in clear at the level of a person: raw data, no noise"),
        ("mlp", "relationship", "nothing is asked at the level of a friendship"),
        ("lpgnn", "relationship", "in clear at the level of a friendship: edges are public"),
        ("blink", "vector", "in clear at the level of all features: features are public"),
        ("hogs", "central_node", "nothing is asked at the level of a person in owned data"),
        ("privgnn", "user", "in clear at the level of a person"),
    ],
)
def test_a_method_that_cannot_says_why(method: str, level: str, said: str, population: Population) -> None:
    given = options(method, settings={"queries": "20"} if method == "privgnn" else {})
    found = match(given, population, level, 2.0)
    assert found.reason.startswith(said)
    assert found.options == given and found.holds is None


@pytest.mark.parametrize("method", ["vote", "hogs", "blink"])
def test_public_features_leave_the_loss_of_the_reports_to_be_made_equal(method: str, population: Population) -> None:
    given = options(method, public_features=method != "blink")  # its features are always public
    found = match(given, population, "user", 4.0)
    assert found.holds == pytest.approx(4.0, rel=1e-6)
    assert "its features are public" in found.reason and found.reason.endswith("all that is reported is 4")
    level = guarantee_before(prepare(found.options, population=population)).holds["user"]
    assert (level.value, level.public) == (None, ("features",))
    assert level.private_value == found.holds and found.of_reports
    assert match(given, population, "vector", 4.0).holds is None


def test_a_budget_given_by_its_parts_leaves_nothing_to_solve_for(population: Population) -> None:
    found = match(options("hogs", eps_adjacency=3.0), population, "relationship", 2.0)
    assert found.reason == "no budget gives it: its loss does not depend on the budget"
    found = match(options("hogs", eps_adjacency=3.0), population, "relationship", 9.0)
    assert found.reason.startswith("no budget gives it: the most that it loses below 9 is 6")
    found = match(options("rr"), population, "relationship", 500.0)  # beyond what its mechanism can have
    assert "loses below 500 is " in found.reason and "64-bit threshold" in found.reason
