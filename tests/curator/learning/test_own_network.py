"""``--gnn package:Class``: trained as ours are, the same bytes for a seed, and a bad class is one line."""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import ldpsim
from ldpsim.curator.learning import own_network
from ldpsim.curator.learning.training import TrainingSettings, train
from ldpsim.curator.methods import Graph

PAGE = (Path(__file__).parents[3] / "docs" / "from-python.md").read_text()
BAD = """
import torch
from torch import nn
class Dropping(nn.Module):
    def __init__(self, features, hidden, classes):
        super().__init__()
        self.out = nn.Linear(features, classes)
    def forward(self, x, edge_index, edge_weight):
        sums = torch.zeros_like(x).index_add(0, edge_index[1], edge_weight[:, None] * x[edge_index[0]])
        return self.out(torch.dropout(x + sums, 0.5, self.training))
class OneArgument(Dropping):
    def __init__(self, features): super().__init__()
class Narrow(Dropping):
    def forward(self, x, edge_index, edge_weight): return super().forward(x, edge_index, edge_weight)[:, :1]
class Frozen(Dropping):
    def forward(self, x, edge_index, edge_weight): return super().forward(x, edge_index, edge_weight).detach()
number = 3
def function(): pass
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with ``mine.py``, the page's, and ``bad.py``."""
    (block,) = re.findall(r"^```python\n(import torch\n.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (tmp_path / "mine.py").write_text(block)
    (tmp_path / "bad.py").write_text(BAD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    for name in ("mine", "bad"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return tmp_path


def _graph(**changed: Any) -> Graph:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 60)
    features = (rng.random((60, 9)) < 0.2 + 0.5 * (labels[:, None] == np.arange(9) % 3)).astype(np.float32)
    left, right = np.nonzero(np.triu((labels[:, None] == labels) & (rng.random((60, 60)) < 0.2), 1))
    given = {"features": features, "edge_index": np.stack([np.r_[left, right], np.r_[right, left]]),
             "edge_weight": None, "labels": labels, "train": np.arange(30), "val": np.arange(30, 45)}  # fmt: skip
    return Graph(**{**given, **changed})


def _trained(graph: Graph, name: str = "bad:Dropping") -> Any:
    return train(
        graph, settings=TrainingSettings(gnn=name, epochs=60, gnn_dropout=0.9), classes=3, seed=1, device="cpu"
    )


def test_it_learns_and_a_seed_gives_the_same_bytes() -> None:
    graph = _graph()
    before = torch.get_rng_state()
    one = _trained(graph)
    assert torch.equal(before, torch.get_rng_state())
    torch.manual_seed(99)  # its draws are its own
    again = _trained(_graph(features=csr_array(graph.features), edge_weight=np.ones(graph.edge_index.shape[1])))
    weighted = _trained(_graph(edge_weight=np.full(graph.edge_index.shape[1], 0.1, np.float32)))
    assert np.array_equal(one.log_probability, again.log_probability)
    assert not np.array_equal(one.log_probability, weighted.log_probability)
    assert np.mean(one.predictions[45:] == graph.labels[45:]) > 0.8
    assert list(one.model.state_dict()) == ["network.out.weight", "network.out.bias"]


@pytest.mark.parametrize(("name", "line"), [
    ("mine:Nothing", "mine has no Nothing"), ("nowhere:Net", "there is no module nowhere"),
    ("bad:number", "number is not callable"), ("bad:function", "is no class that inherits from torch.nn.Module"),
    ("bad:OneArgument", "raised TypeError: OneArgument.__init__() takes 2"),
    ("bad:Narrow", "must return scores, float32 (people, classes), not torch.float32 (4, 1) for 4 people"),
    ("bad:Frozen", "its scores depend on no weight"), ("gcnn", "must be one of gcn, sage, gat, or a class"),
])  # fmt: skip
def test_a_bad_class_is_one_line_before_anybody_is_asked(module: Path, name: str, line: str) -> None:
    with pytest.raises(ValueError, match=re.escape(line)) as caught:
        ldpsim.simulate(clients=60, gnn=name, out=module / "runs")
    assert "\n" not in str(caught.value) and not (module / "runs").exists()


def test_free_rows_that_are_too_large_to_be_dense_are_refused_before_anybody_is_asked() -> None:
    with pytest.raises(ValueError, match="20,000 people with 20,000 features are too many"):
        own_network.check_network("mine:MyNet", people=20_000, features=0, hidden=4, classes=2)


@pytest.mark.parametrize(
    ("options", "line"),
    [({"method": "solitude"}, "solitude trains gcn, sage, gat alone"),
     ({"settings": {"gnn_dropout": "0.2"}}, "dropout of its own"),
     ({"method": "fedavg-gnn"}, "trains a network of its own: it takes no --gnn")],
)  # fmt: skip
def test_what_has_no_place_for_it_says_so(options: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        ldpsim.simulate(clients=60, gnn="mine:MyNet", out=None, **options)


def test_an_entry_point_and_five_lines_with_a_data_object(monkeypatch: pytest.MonkeyPatch, module: Path) -> None:
    """The class of the page, by object and by an installed name; other code is another run."""
    import mine  # type: ignore[import-not-found]
    from torch_geometric.data import Data

    graph = _graph()
    data = Data(x=torch.from_numpy(graph.features), y=torch.from_numpy(graph.labels),
                edge_index=torch.from_numpy(graph.edge_index))  # fmt: skip
    quick: dict[str, Any] = {"dataset": data, "out": None, "nulls": False, "settings": {"epochs": "3"}}
    result = ldpsim.simulate(network=mine.MyNet, **quick)
    assert (result.record["gnn"], result.record["dataset"]["name"], len(result.graph)) == ("mine:MyNet", "data", 60)
    assert "gnn_dropout" not in result.record["config"]["parameters"]
    entry = EntryPoint("installed", "mine:MyNet", own_network.GROUP)
    for place in (own_network, sys.modules["ldpsim.strategies.setup.options"]):
        monkeypatch.setattr(place, "entry_points", lambda group: [entry] if group == own_network.GROUP else [])
    assert ldpsim.simulate(gnn="installed", **quick).record["accuracy"] == result.record["accuracy"]
    (module / "mine.py").write_text((module / "mine.py").read_text().replace(".relu()", ".tanh()"))
    monkeypatch.delitem(sys.modules, "mine")
    assert ldpsim.simulate(network="mine:MyNet", **quick).record["config_hash"] != result.record["config_hash"]
    with pytest.raises(ValueError, match="simulate alone takes a Data object"):
        ldpsim.compare(["hogs"], dataset=data)
