"""Run of ``--task links``: a method scores pairs of people whose edges no device reported.

held-out edges leave the lists -> devices -> reports -> graph -> score of a pair

The score is the better one, by AUC on the validation pairs, of two: the method's own estimate of a
pair, if it has one, and a link scorer (:mod:`curator.pairs.scorer`) that learns the edges of the
method's graph from the method's features. The curator knows the validation pairs, as it knows
validation labels in the task of classes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from curator.graph import Graph
from curator.learning.training import TrainingSettings
from curator.methods import Method, find
from curator.nulls import links as nulls
from curator.nulls.known import NullEvidence
from curator.pairs.ranking import auc, average_precision, placements
from curator.pairs.rows import undirected
from curator.pairs.scorer import TrainedLinks, train_links
from curator.reports.reports import Reports
from strategies.people.owned_graph import own
from strategies.results.outcome import Predictions, Score
from strategies.results.shown_nulls import CHANCE, COMMON_NEIGHBOURS, FEATURES_ALONE, PAGERANK
from strategies.runs.asking import known_to_curator
from strategies.runs.one_report import OneReportRun
from strategies.runs.run import Predict, RepeatContext
from strategies.setup.options import LINKS
from strategies.setup.run_setup import RunSetup

_ESTIMATES = "pair_estimates"  # note of a graph: the method's own estimates


class LinkRun(OneReportRun):
    """One question to every device; then links that no device reported are predicted."""

    uses: ClassVar[frozenset[str]] = frozenset(("adjacency", "features"))

    def check(self, setup: RunSetup) -> None:
        """Check that the method can score pairs, and that its questions can be asked."""
        if not setup.method.link_task:
            raise ValueError(f"--task {LINKS}: {setup.method.name} has no score for a pair of people")
        if setup.options.from_reports is not None:
            raise ValueError(f"--from-reports with --task {LINKS}: kept reports may be about the held-out edges")
        super().check(setup)

    def without_graph(self, method: Method) -> str:
        """Return why no graph is kept."""
        return f"--task {LINKS} predicts nobody's class, so the graph has no predictions to keep"

    def graph(self, scene: RepeatContext, reports: Reports | None) -> Graph:
        """Return the method's graph, with its own estimates of the pairs."""
        graph = super().graph(scene, reports)
        if reports is None:
            return graph
        estimates = scene.setup.method.pair_estimates(reports, known_to_curator(scene), _pairs_of(scene).pairs)
        return graph if estimates is None else replace(graph, notes={**graph.notes, _ESTIMATES: estimates})

    def train(self, scene: RepeatContext, graph: Graph) -> TrainedLinks:
        """Train the link scorer, and return the better one of its scores and the method's own estimates."""
        trained = _learn(scene, scene.setup.method, graph, scene.setup.settings.training)
        own = graph.notes.get(_ESTIMATES)
        if own is None or auc(own[: _pairs_of(scene).val.shape[1]]) <= trained.val_auc:
            return trained
        return replace(trained, predictions=own, model=None)

    def extra(self, scene: RepeatContext, trained: Any) -> Mapping[str, Mapping[str, Any]]:
        """Return the section ``links``: sizes, and the score that was chosen."""
        pairs = _pairs_of(scene)
        sizes = {name: getattr(pairs, name).shape[1] for name in ("val", "test")}
        return {LINKS: {"pairs": sizes, "score": "link scorer" if trained.model is not None else "the method's own"}}

    def score(self, scene: RepeatContext, predictions: Predictions) -> Score:
        """Return the AUC of the test pairs."""
        found = placements(_test(scene, predictions))
        return Score(float(np.mean(found)), found)

    def figures(self, scene: RepeatContext, predictions: Predictions) -> dict[str, float | None]:
        """Return AUC and average precision of the test pairs, and of the validation pairs."""
        test, val = _test(scene, predictions), predictions[: _pairs_of(scene).val.shape[1]]
        return {"test": auc(test), "val": auc(val), **{name: average_precision(scores) for name, scores in
                (("average_precision", test), ("val_average_precision", val))}}  # fmt: skip

    def null_models(self, scene: RepeatContext, known: NullEvidence) -> Iterator[tuple[str, Predict]]:
        """Yield chance, common neighbours, PageRank on the known edges, and features alone."""
        held = _pairs_of(scene)
        pairs, val = held.pairs, held.val.shape[1]
        seed, device = scene.seeds.training, scene.setup.options.device
        yield CHANCE, lambda: np.zeros(pairs.shape[1])
        yield COMMON_NEIGHBOURS, lambda: nulls.common_neighbours(known, pairs)
        yield PAGERANK, lambda: nulls.pagerank_of_pairs(known, pairs)
        yield FEATURES_ALONE, lambda: nulls.features_of_links(known, pairs, val, seed=seed, device=device)

    def reference(self, scene: RepeatContext, settings: TrainingSettings) -> Predictions | None:
        """Return the scores of the link scorer on the true features and all edges that are not held out."""
        raw = find("raw")()
        graph = raw.from_owned(own(scene.setup.population, scene.split, trust="none"))
        return _learn(scene, raw, graph, settings).predictions


def _pairs_of(scene: RepeatContext) -> Any:
    assert scene.links is not None
    return scene.links


def _test(scene: RepeatContext, predictions: Predictions) -> Predictions:
    return predictions[_pairs_of(scene).val.shape[1] :]


def _learn(scene: RepeatContext, method: Method, graph: Graph, settings: TrainingSettings) -> TrainedLinks:
    held = _pairs_of(scene)
    return train_links(
        method.link_rows(graph), undirected(graph), held.pairs, held.val.shape[1],
        settings=settings, seed=scene.seeds.training, device=scene.setup.options.device,
    )  # fmt: skip
