from __future__ import annotations

import json
from pathlib import Path

import pytest

from strategies.experiments.compare import Comparison, _name, compare
from strategies.setup.options import RunOptions

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


def test_a_method_that_fails_takes_no_other_with_it(tmp_path: Path) -> None:
    found = small(tmp_path, "rgnn", "raw", private_labels=True, eps_features=-0.0 or None, settings={"m": "100000"})
    assert [record["method"] for record in found.records] == ["raw"]
    ((name, failed),) = found.failures
    assert name == "rgnn" and "m" in failed.line and failed.trace is None
    assert json.loads((found.folder / "compare.json").read_text())["failures"] == {"rgnn": failed.line}


def test_a_match_is_what_the_results_hold(tmp_path: Path) -> None:
    found = small(tmp_path, "hogs", "solitude", "lpgnn", "raw", matching=("relationship", 2.0))
    held = [record["privacy"]["holds"]["relationship"] for record in found.records]
    assert [entry["value"] for entry in held[:2]] == pytest.approx([2.0, 2.0], rel=1e-6)
    assert found.match is not None and set(found.match.unmatched) == {"lpgnn", "raw"}
    assert "edges are public" in found.match.unmatched["lpgnn"]


@pytest.mark.parametrize(
    ("methods", "more", "said"),
    [
        ([], {}, "at least one METHOD"),
        (["hogs", "hogs"], {}, "hogs is named twice"),
        (["hgos"], {}, "hogs"),
        (["hogs", "raw"], {"settings": {"tua": "1"}}, "--set tua: none of hogs, raw has such a parameter"),
        (["lpgnn"], {"settings": {"selection": "loss"}}, "--set selection: none of lpgnn has such a parameter"),
        (["hogs"], {"matching": ("everything", 1.0)}, "--match everything"),
        (["hogs"], {"matching": ("user", 0.0)}, "must be a finite number above 0"),
        (["hogs"], {"matching": ("user", 1.0), "epsilon": 2.0}, "with --epsilon"),
        (["hogs"], {"state": Path("here"), "repeats": 1}, "people of its own"),
        (["raw"], {"settings": {"epochs": "-1"}}, "no cell can run"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    methods: list[str], more: dict[str, object], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        small(tmp_path, *methods, **more)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_public_features_go_to_the_methods_that_have_them(tmp_path: Path) -> None:
    """One about private features runs with private ones. At a person's level it has no bound, and a vote has."""
    found = small(tmp_path, "vote", "rgnn", "mlp", matching=("user", 4.0), public_features=True, repeats=1)
    vote, rgnn, mlp = found.records
    assert vote["config"]["public_features"] and not rgnn["config"]["public_features"]
    assert mlp["config"]["public_features"]
    assert vote["config"]["epsilon"] == pytest.approx(4) and "list in clear" in found.match.unmatched["rgnn"]
    assert found.match.of_reports == ("vote",) and not found.failures


def test_a_parameter_goes_to_the_methods_that_have_it(tmp_path: Path) -> None:
    found = small(tmp_path, "hogs", "raw", settings={"tau": "0.5", "epochs": "2"}, gnn="sage")
    hogs, raw = (record["config"]["parameters"] for record in found.records)
    assert (hogs["tau"], hogs["epochs"], raw["epochs"], raw["gnn"]) == (0.5, 2, 2, "sage") and "tau" not in raw
    found = small(tmp_path, "hogs", "lp-and", settings={"selection": "loss", "epochs": "2"})  # one chooses no epoch
    hogs, null = (record["config"]["parameters"] for record in found.records)
    assert hogs["selection"] == "loss" and "selection" not in null


@pytest.mark.parametrize(
    ("options", "folder"),
    [
        (RunOptions(clients=60), "compare-generated-84dbf8e5de89"),
        (RunOptions(clients=60, seed=3, seeds={"noise": None}, dropout=0.25, label_rate=0.5, repeats=2,
                    repeats_vary="split"), "compare-generated-7e26f9f23de7"),
    ],
)  # fmt: skip
def test_a_folder_of_an_earlier_comparison_is_found_again(options: RunOptions, folder: str) -> None:
    assert _name(options) == folder


@pytest.mark.parametrize(
    "given",
    [{"dataset": "cora"}, {"clients": 70}, {"split": "split42"}, {"label_rate": 0.5}, {"seed": 1}, {"dropout": 0.1},
     {"seeds": {"split": 1}}, {"repeats": 2}, {"repeats_vary": "noise"}],
)  # fmt: skip
def test_a_comparison_of_other_people_has_another_folder(given: dict[str, object]) -> None:
    assert _name(RunOptions(**given)) != _name(RunOptions())  # type: ignore[arg-type]


def test_a_budget_does_not_name_the_folder() -> None:
    assert _name(RunOptions(epsilon=3.0, gnn="sage", workers=2)) == _name(RunOptions())
