"""A network of one's own: a class of torch that a person names, over the curator's graph.

``--gnn package:Class``, or the name of an entry point of the group ``ldpsim.networks``. The class is made as
``Class(features, hidden, classes)``, three numbers, and called as ``network(x, edge_index, edge_weight)``: float32
(n, features), int64 (2, E) with an undirected edge in both directions, and float32 (E,), 1 without weights. It returns
scores, float32 (n, classes). The loop, the optimiser and the choice of the epoch are those of every training here.
"""

from __future__ import annotations

import hashlib
import inspect
from dataclasses import replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import csr_array, eye_array, issparse
from torch import Tensor, nn

from ldpsim.curator.learning.networks import NETWORKS, Network
from ldpsim.curator.names import callable_named, nearest

if TYPE_CHECKING:
    from ldpsim.curator.graph import Graph

GROUP = "ldpsim.networks"
MOST_ENTRIES = 1 << 28  # of dense features: a gibibyte


def place_of(name: str) -> str:
    """Return ``module:Class`` for a network's name; nothing is imported.

    Raises:
        ValueError: one line, for an unknown name.
    """
    installed = {entry.name: entry.value for entry in entry_points(group=GROUP)}
    if ":" not in name and name not in installed:
        names = [*NETWORKS, *installed]
        raise ValueError(f"--gnn {name}: unknown{nearest(name, names)} (known: {', '.join(names)}, package:Class)")
    return installed.get(name, name)


def network_named(name: str) -> type[nn.Module]:
    """Return the class of this name; it is imported.

    Raises:
        ValueError: one line, for an unknown name, or what is no class of torch.
    """
    kind: Any = callable_named(place_of(name), "--gnn")
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        raise ValueError(f"--gnn {name}: is no class that inherits from torch.nn.Module")
    return kind


def check_network(name: str, *, people: int, features: int, hidden: int, classes: int) -> None:
    """Make the network and score four people in a ring, before anybody is asked.

    Raises:
        ValueError: one line, for a class that does not do what this module says, or features too large to be dense.
    """
    features = features or people  # one free row each, as :func:`make_network` has it
    if people * features > MOST_ENTRIES:
        raise ValueError(f"--gnn {name}: {people:,} people with {features:,} features are too many for a network that "
                         "reads them dense; take gcn, sage or gat")  # fmt: skip
    kind, ring = network_named(name), torch.tensor([[0, 1, 2, 3, 1, 2, 3, 0], [1, 2, 3, 0, 0, 1, 2, 3]])
    try:
        with torch.random.fork_rng():
            network = kind(features, hidden, classes)
            scores = network(torch.zeros(4, features), ring, torch.ones(8))
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ValueError(
            f"--gnn {name}: Class(features, hidden, classes) and network(x, edge_index, edge_weight) raised {why}"
        ) from error
    if not (isinstance(scores, Tensor) and scores.shape == (4, classes) and scores.dtype == torch.float32):
        got = f"{scores.dtype} {tuple(scores.shape)}" if isinstance(scores, Tensor) else type(scores).__name__
        raise ValueError(f"--gnn {name}: must return scores, float32 (people, classes), not {got} for 4 people")
    if not scores.requires_grad:
        raise ValueError(f"--gnn {name}: its scores depend on no weight, so nothing can be learned")


def source_of(name: str) -> str:
    """Return the SHA-256 of the code of a network: of its module, or of the class where there is no file."""
    kind = network_named(name)
    for part in (inspect.getmodule(kind), kind):
        try:
            return hashlib.sha256(inspect.getsource(part).encode()).hexdigest()  # type: ignore[arg-type]
        except (OSError, TypeError):
            continue
    return hashlib.sha256(kind.forward.__code__.co_code).hexdigest()  # typed into Python's prompt


class OwnNetwork(Network):
    """A class of a person's own in the loop of all trainings; its dropout is its own.

    It may draw from torch's global state: a pass of training goes on with a state of its own, and puts the other back.

    Args:
        name: Its name, as for :func:`network_named`.
        graph, options: Those of :class:`Network`; edges with learned weights are not among them.
    """

    normalises = drops_itself = True

    def __init__(self, name: str, graph: Graph, **options: Any) -> None:
        self.kind = network_named(name)
        super().__init__(graph, **options)

    def build(self, graph: Graph, device: torch.device) -> None:
        features = graph.features.toarray() if issparse(graph.features) else graph.features
        edges, weight = np.ascontiguousarray(graph.edge_index), graph.edge_weight
        self.inputs = torch.from_numpy(np.ascontiguousarray(features, np.float32)).to(device)
        self.spread = torch.from_numpy(edges).to(device)
        weight = np.ones(edges.shape[1]) if weight is None else weight
        self.weight = torch.from_numpy(np.ascontiguousarray(weight, np.float32)).to(device)
        self.network = self.kind(self.width, self.hidden_width, self.classes)
        self.state = torch.get_rng_state()

    def pre_activation(self) -> Tensor:
        return self.inputs

    def activate(self, z: Tensor, *, training: bool) -> Tensor:
        """float32 (n, classes): the scores; a pass of training draws anew."""
        self.network.train(training)
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self.state)
            scores: Tensor = self.network(z, self.spread, self.weight)
            if training:
                self.state = torch.get_rng_state()
        return scores

    def output(self, hidden: Tensor) -> Tensor:
        return hidden


def make_network(name: str, graph: Graph, **arguments: Any) -> Network:
    """Return a network with fresh weights from torch's current random state; ValueError for an unknown name.

    People without features have one free row each, as in FeatFree: a network needs an input. The arguments are those of
    :class:`Network`.
    """
    if not graph.features.shape[1]:
        graph = replace(graph, features=csr_array(eye_array(len(graph.labels), dtype="float32")))
    return NETWORKS[name](graph, **arguments) if name in NETWORKS else OwnNetwork(name, graph, **arguments)
