"""The transform: a true graph goes in, the curator's graph and what holds come out."""

from __future__ import annotations

import math

import pytest
import torch
from torch_geometric.data import Data

from ldpsim.strategies import RunOptions, simulate
from ldpsim.strategies.ask_once import AskOnce

N = 40


def people(**more: object) -> Data:
    ring = torch.arange(N)
    made = Data(x=torch.eye(4).repeat(10, 1), y=ring % 2, edge_index=torch.stack([ring, (ring + 2) % N]))
    for name, value in more.items():
        made[name] = value
    return made


def test_the_curators_graph_has_no_record_and_no_label_of_test_people() -> None:
    true = people()
    found = AskOnce("hogs", epsilon=8.0)(true)
    test = found.test_mask
    assert (found.y[test] == -1).all() and (found.y[~test] == true.y[~test]).all()
    assert {name for name in found.keys() if torch.is_tensor(found[name]) and name != "edge_weight"} == {  # noqa: SIM118
        "x", "edge_index", "y", "train_mask", "val_mask", "test_mask",
    }  # fmt: skip
    assert not torch.equal(found.x, true.x)
    assert true.edge_index.shape == (2, N)  # the input is left as it is


def test_it_is_the_graph_and_the_guarantee_of_a_run(tmp_path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "ring.pt"
    torch.save(people(), file)
    given = {"method": "rr", "epsilon": 6.0, "seed": 3}
    found = AskOnce(**given)(people())  # type: ignore[arg-type]
    run = simulate(RunOptions(dataset=str(file), out=None, reference=False, nulls=False, settings={"epochs": "1"},
                              **given))  # type: ignore[arg-type]  # fmt: skip
    assert torch.equal(found.edge_index, run.graph.to_pyg().edge_index)
    assert found.holds == run.record["privacy"]["holds"]
    assert math.isfinite(found.holds["relationship"]["value"])


def test_masks_of_the_data_divide_the_people() -> None:
    masks = {f"{part}_mask": torch.arange(N) % 4 == place for place, part in enumerate(("train", "val", "test"))}
    found = AskOnce("rr")(people(**masks))
    assert all(torch.equal(found[name], mask) for name, mask in masks.items())
    drawn = AskOnce("rr", split="random")(people(**masks))
    assert not torch.equal(drawn.test_mask, masks["test_mask"])


@pytest.mark.parametrize("method", ["fedavg-mlp", "privgnn", "silo-fedavg-gcn", "raw"])
def test_a_method_without_one_question_is_refused(method: str) -> None:
    with pytest.raises(ValueError, match=f"^{method}: its devices do not answer one question"):
        AskOnce(method)(people())


def test_a_fault_of_the_data_is_one_line() -> None:
    with pytest.raises(ValueError, match="the edges are missing"):
        AskOnce()(Data(x=torch.eye(4)))


def test_an_option_that_is_misspelt_names_the_nearest() -> None:
    with pytest.raises(ValueError, match=r"^epsilonn: there is no such option; did you mean epsilon\?$"):
        AskOnce(epsilonn=3)
