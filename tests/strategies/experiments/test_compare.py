from __future__ import annotations

import json
from pathlib import Path

import pytest

from ldpsim.strategies.experiments.compare import Comparison, _name, compare
from ldpsim.strategies.setup.options import RunOptions

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


@pytest.mark.parametrize(
    "given",
    [{"dataset": "cora"}, {"clients": 70}, {"split": "split42"}, {"label_rate": 0.5}, {"seed": 1}, {"dropout": 0.1},
     {"seeds": {"split": 1}}, {"repeats": 2}, {"repeats_vary": "noise"}, {"epsilon": 3.0}, {"gnn": "sage"},
     {"tuned": True}, {"reference": False}, {"defence": "all"}, {"caps": {"bit": 9.0}}, {"on_requery": "replay"}],
)  # fmt: skip
def test_every_option_that_a_comparison_shows_names_the_folder(given: dict[str, object]) -> None:
    assert _name(RunOptions(**given)) != _name(RunOptions())  # type: ignore[arg-type]
