from __future__ import annotations

import pytest

from ldpsim.curator.methods import Blink, HoGS
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.federated.fedavg import FedAvgMLP
from ldpsim.curator.methods.local.links import LPAnd
from ldpsim.curator.methods.local.lpgnn import LPGNN
from ldpsim.curator.methods.local.solitude import Solitude
from ldpsim.curator.methods.owner.owner import PrivGnn
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.settings import resolve


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
    assert "selection" not in resolve(RunOptions(), HoGS, Budget()).parameters()
    for method in (LPGNN, LPAnd, FedAvgMLP, PrivGnn):
        name = method.spec.name
        with pytest.raises(ValueError, match=f"--set selection: {name} chooses its epoch by a rule of its own"):
            resolve(RunOptions(method=name, settings={"selection": "loss"}), method, Budget())
        with pytest.raises(ValueError, match=f"--set activation: {name} has an activation of its own"):
            resolve(RunOptions(method=name, settings={"activation": "selu"}), method, Budget())


def test_solitude_is_trained_as_its_paper_says_unless_settings_differ() -> None:
    default = resolve(RunOptions(method="solitude"), Solitude, Budget())
    training = default.training
    assert (training.activation, training.epochs, training.selection) == ("selu", 500, "accuracy")
    assert not {"label_target", "loss_floor", "selection"} & default.parameters().keys()
    given = {"label_target": "smoothed", "selection": "all-three", "activation": "relu"}
    published = resolve(RunOptions(method="solitude", settings=given), Solitude, Budget())
    assert {key: published.in_force()[key] for key in given} == given
    assert published.parameters()["label_target"] == "smoothed" and "activation" not in published.parameters()
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
