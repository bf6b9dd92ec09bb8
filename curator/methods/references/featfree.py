"""FeatFree ("Revisiting Locally Differentially Private Graph Neural Networks", IEEE S&P 2027), from the authors' code.

It asks nobody for features. A network learns from the public graph and public labels alone, on rows that are random or
free (:mod:`ldpsim.curator.linear.free_rows`). ``features=identity`` is FeatFree-P of the paper. The last accepted
epoch is kept (``selection=all-three``), and training ends ``patience`` epochs after it.

The seed of the training draws the random rows and the weights.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from scipy.sparse import csr_array

from ldpsim.curator.linear.free_rows import free_rows
from ldpsim.curator.methods.base import Graph
from ldpsim.curator.methods.parameters import one_of, parameter, unused, whole
from ldpsim.curator.methods.references.references import PublicGraph
from ldpsim.curator.owned import OwnedGraph

if TYPE_CHECKING:
    from ldpsim.curator.learning.training import TrainedNetwork, TrainingSettings

WIDTH = 1600  # of random rows for people without features (the paper's Table 6)


@dataclass(frozen=True)
class FeatFree(PublicGraph):
    """FeatFree.

    Args:
        features: Rows of the people: ``identity`` (one free row a person) or ``random``.
        smoother: ``hoa`` or ``kprop``.
        hops: K.
        width: Columns of random rows; 0 for as many as the data set has features, and 1600 if it has none.
        patience: Epochs without an accepted one after which training ends.

    Raises:
        ValueError: for a parameter outside its range.
    """

    scaling: str = unused("literal")
    features: str = parameter("identity", one_of("identity", "random"))
    smoother: str = parameter("hoa", one_of("hoa", "kprop"))
    hops: int = parameter(8, whole(0, 64))
    width: int = parameter(0, whole(0, 1 << 14), features=("random",))
    patience: int = parameter(150, whole(1))

    spec = replace(
        PublicGraph.spec, name="featfree",
        paper="FeatFree, a reference of Revisiting Locally Differentially Private Graph Neural Networks",
        training_defaults={"gnn_dropout": 0.5, "epochs": 500, "selection": "all-three", "activation": "selu",
                           "gat_joined": True},
        search_grid=(
            {"hops": (0, 2, 4, 8, 16, 32, 64)},
            {"lr": (0.01, 0.001, 0.0001), "weight_decay": (0.0, 1e-4, 1e-3, 1e-2), "gnn_dropout": (0.25, 0.5, 0.75)},
        ),
    )  # fmt: skip

    def inputs(self, owned: OwnedGraph) -> Any:
        """Return rows of zeros in the shape of the features: no feature is read."""
        return csr_array((owned.facts.n, self.width or owned.facts.d or WIDTH), dtype="float32")

    def train(
        self, graph: Graph, *, settings: TrainingSettings, classes: int, seed: int, device: str
    ) -> TrainedNetwork:
        """Train on the smoothed rows; the features of the graph give no more than the width of random rows."""
        from ldpsim.curator.learning.networks import adjacency_of  # torch is only needed from here on
        from ldpsim.curator.learning.training import train

        rows = free_rows(adjacency_of(graph), self.features, self.smoother, self.hops, width=graph.features.shape[1],
                         seed=seed)  # fmt: skip
        return train(replace(graph, features=rows), settings=settings, classes=classes, seed=seed, device=device,
                     patience=self.patience, late=True)  # fmt: skip
