"""Arrays of a result's graph: the curator's reconstructed graph, as a run trained on it.

Everything here is post-processing of the reports and of public knowledge, so it costs no further privacy:
edges and weights, features, labels as the curator has them, and predictions. The true edges, the records and the
labels of test people are not in it. Reports of a simulation whose noise seed is given are not private, and neither
is a graph made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from ldpsim.curator.graph import Graph
from ldpsim.curator.linear.propagation import adjacency_matrix
from ldpsim.devices.array_types import BoolArray, IntArray

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

UNKNOWN = -1  # a label that the curator does not have


@dataclass(frozen=True, eq=False)
class GraphArrays:
    """The reconstructed graph of a repeat, with the answers of the network that trained on it.

    Args:
        trained: The graph that the network was trained on: the same arrays.
        predictions: int64 (n,), everybody's class by the trained network; None before a network is trained.
        test: int64, the people who were scored; the curator has no label of theirs.
        classes: Number of classes.
        about: ``method``, ``dataset``, ``config_hash``, ``reports_sha256`` (digest of the reports that the graph
            was made of), ``edges`` (``reconstructed`` or ``public``).

    >>> trained = Graph(np.eye(3, 2, dtype=np.float32), np.array([[0, 1], [1, 0]]), None,
    ...                 np.array([0, 1, -1]), np.array([0]), np.array([1]))
    >>> graph = GraphArrays(trained, np.array([0, 1, 1]), np.array([2]), 2, {"method": "hogs"})
    >>> len(graph), graph.directed, graph.to_pyg().edge_index.tolist()
    (3, False, [[0, 1], [1, 0]])
    >>> graph.to_networkx().nodes[2]
    {'part': 'test', 'prediction': 1}
    """

    trained: Graph = field(repr=False)
    predictions: IntArray | None = field(repr=False)
    test: IntArray = field(repr=False)
    classes: int
    about: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.trained.labels)

    @property
    def directed(self) -> bool:
        """Whether an edge or a weight differs in its two directions."""
        matrix = adjacency_matrix(len(self), self.trained.edge_index, self.trained.edge_weight)
        return bool((matrix != matrix.T).nnz)

    @property
    def edges(self) -> IntArray:
        """int64 (2, m): sources over targets; of an undirected graph each edge once, the smaller number first."""
        return self.trained.edge_index[:, self._once()]

    @property
    def weights(self) -> Any:
        """float32 (m,): weights of :attr:`edges`; None where every edge weighs 1."""
        weight = self.trained.edge_weight
        return None if weight is None else np.asarray(weight)[self._once()]

    @property
    def features(self) -> Any:
        """float32 (n, d), what the network read of each person: a numpy array, or CSR where the curator has that."""
        found = self.trained.features
        return found if issparse(found) else np.asarray(found, np.float32)

    def mask(self, nodes: IntArray) -> BoolArray:
        """bool (n,): True for these people."""
        found = np.zeros(len(self), np.bool_)
        found[nodes] = True
        return found

    def to_pyg(self) -> Data:
        """Return the graph for PyTorch Geometric.

        ``x`` float32 (n, d), dense or sparse CSR as the curator has it; ``edge_index`` int64 (2, E), an undirected
        edge in both directions; ``edge_weight`` float32 (E,) where there are weights; ``y`` int64 (n,), the labels
        that the curator has, -1 elsewhere; ``prediction`` int64 (n,), if there are any; ``train_mask``, ``val_mask``
        and ``test_mask`` bool (n,).
        """
        import torch
        from torch_geometric.data import Data

        trained = self.trained
        made = Data(edge_index=torch.from_numpy(np.ascontiguousarray(trained.edge_index)), num_nodes=len(self))
        made.y = torch.from_numpy(trained.labels.copy())
        if self.predictions is not None:
            made.prediction = torch.from_numpy(self.predictions.copy())
        made.x = _tensor(self.features)
        if trained.edge_weight is not None:
            made.edge_weight = torch.from_numpy(np.asarray(trained.edge_weight, np.float32).copy())
        for name, nodes in self._parts().items():
            made[f"{name}_mask"] = torch.from_numpy(self.mask(nodes))
        return made

    def to_networkx(self) -> networkx.Graph | networkx.DiGraph:
        """Return the graph for networkx; directed only if its edges are.

        A node is a person's number, with ``prediction`` if there are any, with ``known_label`` where the curator
        has a label, and with ``part`` (train, val or test). An edge has ``weight`` where there are weights. Features
        are left out: :meth:`to_pyg` and ``.npz`` have them.
        """
        import networkx

        made = networkx.DiGraph() if self.directed else networkx.Graph()
        part = {int(node): name for name, nodes in self._parts().items() for node in nodes}
        for node, label in enumerate(self.trained.labels):
            known = {} if label == UNKNOWN else {"known_label": int(label)}
            place = {"part": part[node]} if node in part else {}
            guess = {} if self.predictions is None else {"prediction": int(self.predictions[node])}
            made.add_node(node, **known, **place, **guess)
        weights = self.weights
        if weights is None:
            made.add_edges_from(self.edges.T.tolist())
        else:
            made.add_weighted_edges_from(zip(*self.edges.tolist(), weights.tolist(), strict=True))
        return made

    def _parts(self) -> dict[str, IntArray]:
        return {"train": self.trained.train, "val": self.trained.val, "test": self.test}

    def _once(self) -> Any:
        source, target = self.trained.edge_index
        return slice(None) if self.directed else source <= target


def _tensor(features: Any) -> Any:
    """Return features as a torch tensor, dense or CSR."""
    import torch

    if isinstance(features, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(features))
    return torch.sparse_csr_tensor(
        torch.from_numpy(features.indptr.astype(np.int64)), torch.from_numpy(features.indices.astype(np.int64)),
        torch.from_numpy(features.data.astype(np.float32)), size=features.shape,
    )  # fmt: skip
