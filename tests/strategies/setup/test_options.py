"""Options of a run: how they are declared, mistakes, defaults, seeds, what they set, and full disks."""

from __future__ import annotations

import errno
import json
import logging
import shutil
import sqlite3
from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from safetensors import SafetensorError

from ldpsim.curator.methods import Blink, HoGS
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.feature_share import feature_share
from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.curator.methods.local.lp_and import LPAnd
from ldpsim.curator.methods.local.lpgnn import LPGNN
from ldpsim.curator.methods.local.solitude import Solitude
from ldpsim.curator.methods.owner.privgnn import PrivGnn
from ldpsim.devices.data.population import Population
from ldpsim.strategies.attacks.stress.campaign import StressOptions
from ldpsim.strategies.experiments.match import match
from ldpsim.strategies.experiments.sweep_file import read_sweep
from ldpsim.strategies.importing.options import ImportOptions
from ldpsim.strategies.outputs.shell import command_of
from ldpsim.strategies.planning.plan import TargetLoss
from ldpsim.strategies.results.folder import log_file
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.spent import guarantee_before
from ldpsim.strategies.setup.disk_space import check_refused, naming_full_disk
from ldpsim.strategies.setup.feature_share import CHOSEN
from ldpsim.strategies.setup.fingerprint import config_hash, configuration
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import Setup, load_population
from ldpsim.strategies.setup.settings import resolve


def test_repeats_vary_what_they_say() -> None:
    for vary, changes in (
        ("noise", {"noise", "training"}),
        ("split", {"split"}),
        ("all", {"noise", "training", "split"}),
    ):
        options = RunOptions(repeats=3, repeats_vary=vary)
        first, second = options.seeds_of(0).to_dict(), options.seeds_of(1).to_dict()
        assert {name for name in first if first[name] != second[name]} == changes
        assert options.seeds_of(1) != options.seeds_of(2)
    assert RunOptions(repeats=2, seeds={"noise": None}).seeds_of(1).noise is None


def test_a_parameter_has_the_name_of_its_paper_and_that_of_its_field() -> None:
    """``lambda`` is a word of Python: what is stored and hashed has the field's name, what people read the paper's."""
    of_paper, of_field = (
        RunOptions(method="privgnn", clients=60, settings={name: 0.2, "queries": 5}) for name in ("lambda", "lambda_")
    )
    assert of_paper == of_field and of_paper.settings == {"lambda_": "0.2", "queries": "5"}
    assert config_hash(configuration(of_paper)) == config_hash(configuration(of_field)) == "baa85c4d28b0"
    assert PrivGnn.from_settings({"lambda": "0.2"}) == PrivGnn(lambda_=0.2)
    assert "--set lambda=0.2" in command_of({"method": "privgnn", "config": configuration(of_field)})
    assert "--set lambda=0.2" in declared(RunOptions)["settings"].words(of_field.settings)
    with pytest.raises(ValueError, match=r"^--set lambda_?=3: it has a value already$"):
        RunOptions(settings={"lambda_": 2, "lambda": 3})
    with pytest.raises(ValueError, match=r"^--set lamda: .*did you mean lambda or gamma\?.* lambda, lr"):
        prepare(replace(of_field, settings={"lamda": "1"}))
    with pytest.raises(ValueError, match="^hogs has no such parameter|^--set lambda: "):
        prepare(RunOptions(method="hogs", clients=60, settings={"lambda": 2}))


def test_caps_have_the_words_of_levels() -> None:
    given = RunOptions(caps={"person": 8, "all-features": 4, "bit": 1})
    assert given == RunOptions(caps={"user": 8, "vector": 4, "bit": 1})
    assert given.caps == {"user": 8.0, "vector": 4.0, "bit": 1.0}
    for wrong in ("users", "friendship"):
        with pytest.raises(ValueError, match=f"--cap {wrong}=1: the level must be one of bit, all-features, person"):
            RunOptions(caps={wrong: 1})
    with pytest.raises(ValueError, match="--cap user=1: this level has a cap already"):
        RunOptions(caps={"person": 2, "user": 1})


@pytest.mark.parametrize(
    ("name", "value", "own"),
    [
        ("clients", np.int64(100), 100), ("clients", 100.0, 100), ("seed", np.uint8(1), 1), ("epsilon", 4, 4.0),
        ("epsilon", np.float32(4), 4.0), ("epsilon", Fraction(1, 2), 0.5), ("label_rate", np.array(0.25), 0.25),
        ("feature_share", np.float64(0.5), 0.5), ("nulls", np.bool_(False), False), ("out", "folder", Path("folder")),
        ("state", Path("folder"), Path("folder")), ("dataset", Path("people.npz"), "people.npz"), ("out", None, None),
        ("settings", {"epochs": np.int64(5), "tau": np.float64(0.8), "loops": np.True_},
         {"epochs": "5", "tau": "0.8", "loops": "true"}),
        ("caps", {"bit": np.float64(2)}, {"bit": 2.0}), ("seeds", {"noise": None, "split": np.int64(7)},
                                                          {"noise": None, "split": 7}),
    ],
)  # fmt: skip
def test_values_of_numpy_and_paths_as_text_are_read(name: str, value: Any, own: Any) -> None:
    found = getattr(RunOptions(**{name: value}), name)
    assert found == own
    assert type(found) is type(own) or isinstance(own, Path)
    entries = list(found.values()) if isinstance(found, dict) else []
    assert [type(entry) for entry in entries] == [type(entry) for entry in (own.values() if entries else [])]


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"epsilon": "4"}, "--epsilon 4: must be a number"),
        ({"clients": 100.5}, "--clients 100.5: must be a whole number"),
        ({"clients": True}, "--clients True: must be a whole number"),
        ({"seed": None}, "--seed None: must be a whole number"),
        ({"nulls": 1}, "--no-nulls 1: must be True or False"),
        ({"out": 3}, "--out 3: must be a path"),
        ({"method": ["hogs"]}, r"--method \['hogs'\]: must be text"),
        ({"settings": {"tau": [1]}}, r"--set tau \[1\]: must be text"),
        ({"settings": "tau=1"}, "--set tau=1: must be a table of names and values"),
        ({"caps": {"bit": "2"}}, "--cap bit 2: must be a number"),
    ],
)
def test_a_value_of_another_type_is_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=f"^{line}$"):
        RunOptions(**given)


def test_numpy_values_are_read_wherever_options_are_given() -> None:
    """One place converts them: runs, grids, targets, imports and stress tests; 4 and 4.0 are one budget."""
    cells = read_sweep(None, {"epsilon": np.arange(3, 5), "settings.tau": [np.float64(0.7)]})
    assert [(cell.options.epsilon, cell.options.settings) for cell in cells] == [
        (3.0, {"tau": "0.7"}), (4.0, {"tau": "0.7"}),
    ]  # fmt: skip
    stress = StressOptions(clients=np.int64(40), asks=(np.int64(2), 1), epsilon_bit=np.float32(1))
    target = TargetLoss(holds=np.float32(4), max_attack=np.float64(0.9))
    assert json.loads(json.dumps([vars(target), stress.clients, stress.asks]))[1:] == [40, [1, 2]]
    assert ImportOptions(feature_range=np.array([0, 2]), ignore=["a"]).feature_range == (0, 2)
    hashes = {setup.digest for setup in (prepare(RunOptions(clients=40, epsilon=value)) for value in (4, 4.0))}
    assert len(hashes) == 1


def test_set_goes_to_the_method_or_the_training() -> None:
    settings = resolve(RunOptions(settings={"tau": "0.7", "lr": "0.1", "epochs": "5"}), HoGS, Budget())
    assert settings.method == HoGS(tau=0.7)
    assert (settings.training.lr, settings.training.epochs, settings.training.gnn) == (0.1, 5, "gcn")
    assert settings.provenance == {"tau": "--set", "lr": "--set", "epochs": "--set"}
    assert settings.parameters()["tau"] == 0.7 and settings.parameters()["lr"] == 0.1


def test_nothing_stored_is_said() -> None:
    with pytest.raises(ValueError, match="--tuned: no stored setting for hogs, generated"):
        resolve(RunOptions(tuned=True, epsilon=7.77), HoGS, Budget(epsilon=7.77))


def test_the_selection_of_an_epoch_is_a_parameter_where_it_plays_a_part() -> None:
    by_loss = resolve(RunOptions(settings={"selection": "loss"}), HoGS, Budget())
    assert by_loss.training.selection == "loss" and by_loss.parameters()["selection"] == "loss"
    assert resolve(RunOptions(), HoGS, Budget()).parameters()["selection"] == "accuracy"
    for method in (LPGNN, LPAnd, FedAvgMLP, PrivGnn):
        name = method.spec.name
        with pytest.raises(ValueError, match=f"--set selection: {name} chooses its epoch by a rule of its own"):
            resolve(RunOptions(method=name, settings={"selection": "loss"}), method, Budget())
        with pytest.raises(ValueError, match=f"--set activation: {name} has an activation of its own"):
            resolve(RunOptions(method=name, settings={"activation": "selu"}), method, Budget())
        assert not {"selection", "activation"} & resolve(RunOptions(method=name), method, Budget()).parameters().keys()


def test_solitude_is_trained_as_its_paper_says_unless_settings_differ() -> None:
    default = resolve(RunOptions(method="solitude"), Solitude, Budget())
    training = default.training
    assert (training.activation, training.epochs, training.selection) == ("selu", 500, "accuracy")
    given = {"label_target": "smoothed", "selection": "all-three", "activation": "relu"}
    published = resolve(RunOptions(method="solitude", settings=given), Solitude, Budget())
    assert {key: published.all_parameters()[key] for key in given} == given
    assert given.items() <= published.parameters().items()
    for wrong in ({"label_target": "true"}, {"loss_floor": "1"}, {"loss_floor": "-1e-20"}):
        with pytest.raises(ValueError, match=f"--set {next(iter(wrong))}=.*must be"):
            resolve(RunOptions(method="solitude", settings=wrong), Solitude, Budget())


def test_heads_are_a_parameter_of_a_gat_alone() -> None:
    gat = resolve(RunOptions(gnn="gat", settings={"gat_heads": "2"}), HoGS, Budget())
    assert gat.training.gat_heads == 2 and gat.parameters()["gat_heads"] == 2
    assert "gat_heads" not in resolve(RunOptions(), HoGS, Budget()).parameters()
    blink = RunOptions(method="blink", dataset="cora", gnn="gat", tuned=True, epsilon=4.0, split="split42")
    assert resolve(blink, Blink, Budget(epsilon=4.0, public_features=True)).training.gat_heads == 1
    with pytest.raises(ValueError, match="--set gat_heads=0: must be 1..256"):
        resolve(RunOptions(gnn="gat", settings={"gat_heads": "0"}), HoGS, Budget())


OPTIONS = RunOptions(method="sbp", clients=400, reference=False, nulls=False, device="cpu", out=None)


@pytest.fixture(scope="module")
def population() -> Population:
    return load_population(OPTIONS)


def made(population: Population, **given: Any) -> Setup:
    return prepare(replace(OPTIONS, **given), population=population)


def test_a_share_is_chosen_from_public_facts_and_hashed_as_if_it_were_given(population: Population) -> None:
    facts, split = population.facts, made(population).plans[0].split
    for epsilon in (0.5, 40.0):
        setup = made(population, epsilon=epsilon)
        share = feature_share(facts, len(split.train), epsilon)
        assert setup.budget.feature_share == share and (share > 0) == (epsilon > 10)
        assert setup.settings.provenance["feature_share"] == CHOSEN
        given = made(population, epsilon=epsilon, feature_share=share)
        assert given.digest == setup.digest == made(population, epsilon=epsilon, feature_share="auto").digest
        assert "feature_share" not in given.settings.provenance
    asked = [setup.method.questions(facts, split, made(population, epsilon=epsilon).budget, "c")[0].query.attributes
             for epsilon in (0.5, 40.0)]  # fmt: skip
    assert asked == [("adjacency",), ("adjacency", "features")]


def test_nothing_private_decides(population: Population) -> None:
    changed = load_population(replace(OPTIONS, seed=5))
    assert changed.facts == population.facts and changed.digest != population.digest
    for epsilon in (0.5, 8.0, 15.0, 40.0):
        ours, theirs = made(population, epsilon=epsilon), made(changed, epsilon=epsilon)
        assert ours.budget == theirs.budget


@pytest.mark.parametrize(
    ("given", "share", "chosen"),
    [
        ({"epsilon": 15.0, "feature_share": 0.25}, 0.25, False),
        ({"feature_share": 0}, 0, False),
        ({"public_features": True}, 0.1, False),  # nothing to divide, and older hashes stay
        ({"eps_adjacency": 12.0}, 0.0, True),
        ({"eps_adjacency": 3.0, "eps_features": 1.0}, 0.0, True),
        ({"settings": {"asks": "solitude"}}, 0.1, False),
        ({"method": "hogs"}, 0.1, False),
        ({"method": "hogs", "feature_share": 0.0, "eps_features": 1.0}, 0.0, False),
    ],
)
def test_the_share_in_force(given: dict[str, Any], share: float, chosen: bool, population: Population) -> None:
    setup = made(population, **given)
    assert setup.budget.feature_share == share
    assert (setup.settings.provenance.get("feature_share") == CHOSEN) == chosen


def test_a_match_solves_with_the_share_of_the_budget_that_it_finds(population: Population) -> None:
    for level, target in (("relationship", 4.0), ("relationship", 16.0)):
        found = match(replace(OPTIONS, epsilon=None), population, level, target)
        assert found.holds == pytest.approx(target, rel=0.01) and not found.reason
        assert isinstance(found.options.feature_share, float)
        held = guarantee_before(prepare(found.options, population=population)).to_dict()["holds"][level]["value"]
        assert held == found.holds
    assert match(OPTIONS, population, "relationship", 4.0).options.feature_share == 0.0


def sqlite_full() -> sqlite3.Error:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorcode = sqlite3.SQLITE_FULL
    return error


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        OSError("38400 requested and 12288 written"),  # numpy's
        SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
        sqlite_full(),
    ],
)
def test_an_error_of_a_full_disk_without_a_path_gets_the_folder(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(OSError, match="No space left on device") as failed, naming_full_disk(tmp_path):
        raise error
    assert (failed.value.errno, failed.value.filename) == (errno.ENOSPC, str(tmp_path))


@pytest.mark.parametrize(
    "error", [OSError(errno.ENOSPC, "No space", "a/b"), PermissionError(13, "no"), ValueError("x"), OSError("other")]
)
def test_other_errors_stay_as_they_are(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)) as failed, naming_full_disk(tmp_path):
        raise error
    assert failed.value is error


@pytest.mark.parametrize(("refused", "free", "full"), [(100, 470_000, True), (100, 480_000, False), (0, 0, False)])
def test_ledgers_that_could_not_be_written_are_a_full_disk_where_answers_have_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refused: int, free: int, full: bool
) -> None:
    """Damaged ledgers on a disk with room are another fault."""
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    with pytest.raises(OSError, match="100 devices could not answer") if full else nullcontext():
        check_refused(tmp_path, refused)


def test_a_log_that_cannot_be_written_ends_the_run_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    (tmp_path / "log.txt").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left") as failed, log_file(tmp_path):
        logging.getLogger("ldpsim").info("a line")
    assert failed.value.filename == str(tmp_path / "log.txt")
    assert capsys.readouterr().err == ""
