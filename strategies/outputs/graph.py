"""The curator's reconstructed graph of a result, as a run trained on it: its arrays, and the files it is saved as.

Everything here is post-processing of the reports and of public knowledge, so it costs no further privacy:
edges and weights, features, labels as the curator has them, and predictions. The true edges, the records and the
labels of test people are not in it. Reports of a simulation whose noise seed is given are not private, and neither
is a graph made of them.

A file's suffix is its form:

=============  ==========================================================================================
``.npz``       arrays without pickle, the schema of ``--dataset FILE.npz``, and what the curator knows
``.graphml``   networkx's GraphML: edges, weights, labels, predictions, parts
``.csv``       ``source,target`` and ``weight`` where there are weights, one line an edge
=============  ==========================================================================================

A ``.npz`` is a data set of its own: ``ldpsim run --dataset graph.npz`` takes the reconstructed graph for the truth.
Its ``labels`` are those that the curator has, and the predictions of everybody else; ``label_known`` tells which.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from ldpsim.curator.graph import Graph
from ldpsim.curator.linear.propagation import adjacency_matrix
from ldpsim.devices.array_types import BoolArray, IntArray
from ldpsim.devices.atomic_files import write_atomically
from ldpsim.strategies.outputs.html_table import html_table
from ldpsim.strategies.results.numbers import count

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data

    from ldpsim.strategies.setup.options import RunOptions

UNKNOWN = -1  # a label that the curator does not have


@dataclass(frozen=True, eq=False)
class ResultGraph:
    """The reconstructed graph of a run's last repeat, with the predictions of the network that trained on it.

    Args:
        trained: The graph that the network was trained on: the same arrays.
        predictions: int64 (n,), everybody's class by the trained network; None before a network is trained.
        test: int64, the people who were scored; the curator has no label of theirs.
        classes: Number of classes.
        about: ``method``, ``dataset``, ``config_hash``, ``reports_sha256`` (digest of the reports that the graph
            was made of), ``edges`` (``reconstructed`` or ``public``).

    >>> trained = Graph(np.eye(3, 2, dtype=np.float32), np.array([[0, 1], [1, 0]]), None,
    ...                 np.array([0, 1, -1]), np.array([0]), np.array([1]))
    >>> graph = ResultGraph(trained, np.array([0, 1, 1]), np.array([2]), 2, {"method": "hogs"})
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
        matrix = self.trained.features
        return matrix if issparse(matrix) else np.asarray(matrix, np.float32)

    def mask(self, nodes: IntArray) -> BoolArray:
        """bool (n,): True for these people."""
        mask = np.zeros(len(self), np.bool_)
        mask[nodes] = True
        return mask

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
            own_label = {} if label == UNKNOWN else {"known_label": int(label)}
            place = {"part": part[node]} if node in part else {}
            guess = {} if self.predictions is None else {"prediction": int(self.predictions[node])}
            made.add_node(node, **own_label, **place, **guess)
        weights = self.weights
        if weights is None:
            made.add_edges_from(self.edges.T.tolist())
        else:
            made.add_weighted_edges_from(zip(*self.edges.tolist(), weights.tolist(), strict=True))
        return made

    def save(self, path: str | Path) -> Path:
        """Write the graph, completely or not at all, and return the path; the suffix is the form.

        Raises:
            ValueError: one line: another suffix, or a folder that does not exist.
            UnwrittenGraph: if the file cannot be written.
        """
        path = Path(path)
        check_path(path)
        try:
            write_atomically(path, FORMS[path.suffix](self))
        except OSError as error:
            raise UnwrittenGraph(f"{path} cannot be written: {error.strerror}") from None
        return path

    def _repr_html_(self) -> str:
        n, d = self.features.shape
        labels = int((self.trained.labels >= 0).sum())
        kind = f"{'directed' if self.directed else 'undirected'}{'' if self.weights is None else ', with weights'}"
        rows = [
            ("edges", f"{self.edges.shape[1]:,} {kind}"),
            ("people", f"{n:,}, with {count(d, 'feature')}; {count(labels, 'label')} known, {self.classes} classes"),
            *((name, str(value)) for name, value in self.about.items()),
        ]
        return html_table("the curator's graph", rows)

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


class UnwrittenGraph(ValueError):
    """Error of a file that cannot be written; one line."""


def is_form(text: str | Path) -> bool:
    """Return whether a text is a form alone, ``npz`` for example."""
    return f".{text}" in FORMS


def check_graph_file(target: str | Path | None, without_graph: str, options: RunOptions) -> None:
    """Check before a run that its graph can be saved; None: it shall not be.

    Args:
        target: A file, or a form alone for a file in the run's folder.
        without_graph: Reason why the run has no graph; empty if it has one.
        options: The run.

    Raises:
        ValueError: one line: a run without a graph or without a folder, a suffix that is no form, or a folder that
            does not exist.
    """
    if target is None:
        return
    if without_graph:
        raise ValueError(f"--save-graph {target}: {without_graph}")
    if is_form(target):
        if options.out is None:
            raise ValueError(f"--save-graph {target}: the run has no folder; name a file")
        return
    try:
        check_path(Path(target))
    except ValueError as error:
        raise ValueError(f"--save-graph {error}") from None


def check_path(path: Path) -> None:
    """Check that a graph can be written to a path.

    Raises:
        ValueError: one line: a suffix that is no form, or a folder that does not exist.
    """
    if path.suffix not in FORMS:
        raise ValueError(f"{path}: a graph is saved as {', '.join(FORMS)}")
    if not path.absolute().parent.is_dir():
        raise ValueError(f"{path}: the folder {path.parent} does not exist")


def _npz(graph: ResultGraph) -> bytes:
    trained, mask, predicted = graph.trained, graph.trained.labels >= 0, graph.predictions
    arrays: dict[str, Any] = {
        "edge_index": trained.edge_index.astype("<i8"),
        "labels": (trained.labels if predicted is None else np.where(mask, trained.labels, predicted)).astype("<i8"),
        "label_known": mask,
        **({} if predicted is None else {"predictions": predicted.astype("<i8")}),
        "num_classes": np.int64(graph.classes),
        "about": np.array(json.dumps(dict(graph.about), sort_keys=True)),
    }
    if trained.edge_weight is not None:
        arrays["edge_weight"] = np.asarray(trained.edge_weight, "<f4")
    features = graph.features
    if isinstance(features, np.ndarray):
        arrays["x"] = features.astype("<f4")
        span = (features.min(initial=0.0), features.max(initial=0.0))
    else:
        arrays |= {"indptr": features.indptr.astype("<i8"), "indices": features.indices.astype("<i8"),
                   "values": features.data.astype("<f4"), "num_features": np.int64(features.shape[1])}  # fmt: skip
        span = (features.data.min(initial=0.0), features.data.max(initial=0.0))
    # Whole numbers: a bound that says less of the values, and the range of 0 and 1 stays what it is.
    low, high = math.floor(span[0]), math.ceil(span[1])
    arrays["feature_range"] = np.array([low, max(high, low + 1)], "<f8")
    parts = {"train": trained.train, "val": trained.val, "test": graph.test}
    if all(len(nodes) for nodes in parts.values()):  # `--split file` needs all three
        arrays |= {name: nodes.astype("<i8") for name, nodes in parts.items()}
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def _graphml(graph: ResultGraph) -> bytes:
    import networkx

    content = io.BytesIO()
    networkx.write_graphml_xml(graph.to_networkx(), content)
    return content.getvalue()


def _csv(graph: ResultGraph) -> bytes:
    content, weights = io.StringIO(), graph.weights
    rows: Any = graph.edges.T.tolist() if weights is None else zip(*graph.edges.tolist(), weights.tolist(), strict=True)
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(("source", "target") if weights is None else ("source", "target", "weight"))
    writer.writerows(rows)
    return content.getvalue().encode()


FORMS: dict[str, Callable[[ResultGraph], bytes]] = {".npz": _npz, ".graphml": _graphml, ".csv": _csv}


class NoGraph(ValueError):
    """Error of a run that reconstructed no graph, or kept none; one sentence."""
