"""Files of a reconstructed graph, one form a suffix.

=============  ==========================================================================================
``.npz``       arrays without pickle, the schema of ``--dataset FILE.npz``, and what the curator knows
``.graphml``   networkx's GraphML: edges, weights, labels, predictions, parts
``.gml``       networkx's GML: the same
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
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsim.devices.atomic_files import write_atomically

if TYPE_CHECKING:
    from ldpsim.strategies.outputs.graph_arrays import GraphArrays
    from ldpsim.strategies.setup.options import RunOptions


class UnwrittenGraph(ValueError):
    """Error of a file that cannot be written; one line."""


def is_form(given: str | Path) -> bool:
    """Return whether a text is a form alone, ``npz`` for example."""
    return f".{given}" in FORMS


def check_graph_file(given: str | Path | None, without_graph: str, options: RunOptions) -> None:
    """Check before a run that its graph can be saved; None: it shall not be.

    Args:
        given: A file, or a form alone for a file in the run's folder.
        without_graph: Reason why the run has no graph; empty if it has one.
        options: The run.

    Raises:
        ValueError: one line: a run without a graph or without a folder, a suffix that is no form, or a folder that
            does not exist.
    """
    if given is None:
        return
    if without_graph:
        raise ValueError(f"--save-graph {given}: {without_graph}")
    if is_form(given):
        if options.out is None:
            raise ValueError(f"--save-graph {given}: the run has no folder; name a file")
        return
    try:
        check_path(Path(given))
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


def write_graph(graph: GraphArrays, path: Path) -> Path:
    """Write a graph, completely or not at all; return the path.

    Raises:
        ValueError: as :func:`check_path`.
        UnwrittenGraph: if the file cannot be written.
    """
    check_path(path)
    try:
        write_atomically(path, FORMS[path.suffix](graph))
    except OSError as error:
        raise UnwrittenGraph(f"{path} cannot be written: {error.strerror}") from None
    return path


def _npz(graph: GraphArrays) -> bytes:
    trained, known, predicted = graph.trained, graph.trained.labels >= 0, graph.predictions
    arrays: dict[str, Any] = {
        "edge_index": trained.edge_index.astype("<i8"),
        "labels": (trained.labels if predicted is None else np.where(known, trained.labels, predicted)).astype("<i8"),
        "label_known": known,
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


def _graphml(graph: GraphArrays) -> bytes:
    import networkx

    content = io.BytesIO()
    networkx.write_graphml_xml(graph.to_networkx(), content)
    return content.getvalue()


def _gml(graph: GraphArrays) -> bytes:
    import networkx

    content = io.BytesIO()
    networkx.write_gml(graph.to_networkx(), content)
    return content.getvalue()


def _csv(graph: GraphArrays) -> bytes:
    content, weights = io.StringIO(), graph.weights
    rows: Any = graph.edges.T.tolist() if weights is None else zip(*graph.edges.tolist(), weights.tolist(), strict=True)
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(("source", "target") if weights is None else ("source", "target", "weight"))
    writer.writerows(rows)
    return content.getvalue().encode()


FORMS: dict[str, Callable[[GraphArrays], bytes]] = {".npz": _npz, ".graphml": _graphml, ".gml": _gml, ".csv": _csv}
