"""Null models: they learn from training labels, choose by validation labels, and do not depend on test labels."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.features.feature_posterior import FeaturePosterior
from ldpsim.curator.graph import Graph
from ldpsim.curator.learning import training
from ldpsim.curator.nulls import inputs, models
from ldpsim.curator.nulls.inputs import NullInputs, known_from_graph, known_from_reports, sampled_people
from ldpsim.curator.nulls.models import chance, features_alone, graph_alone, graph_learned
from ldpsim.curator.owned import OwnedGraph
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import GRR, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask

N, D, CLASSES = 60, 30, 3
RNG = np.random.Generator(np.random.PCG64(3))
TRUTH = np.arange(N) % CLASSES
# ten words a class; a person has each with chance .6, and of the other classes with chance .1
WORDS = (RNG.random((N, D)) < np.where(np.arange(D) // 10 == TRUTH[:, None], 0.6, 0.1)).astype(np.float32)
RING = np.stack([np.arange(N), (np.arange(N) + CLASSES) % N])  # everybody's neighbours are of the same class
ORDER = RNG.permutation(N)
SPLIT = Split(*(np.sort(part) for part in (ORDER[:30], ORDER[30:45], ORDER[45:])))
NOBODY = np.zeros(0, np.int64)


def known(split: Split = SPLIT, labels: np.ndarray = TRUTH, **changed: Any) -> NullInputs:
    hidden = np.full(N, -1)
    hidden[split.labelled] = labels[split.labelled]
    given = {"edges": RING, "features": csr_array(WORDS), **changed}
    return NullInputs(ObservedLabels(hidden, CLASSES), split, **given)


def test_chance_is_the_largest_class_of_the_training_labels() -> None:
    labels = np.array([2, 1, 1, 2, 0, 0, 0])
    split = Split(np.array([0, 1, 2, 3]), np.array([4, 5, 6]), NOBODY)
    hidden = np.where(np.arange(7) < 4, -1, labels)  # no training label: validation
    for given, largest in ((labels, 1), (hidden, 0), (np.full(7, -1), 0)):  # 1 and 2 are equally large
        assert chance(NullInputs(ObservedLabels(given, 3), split)) == largest


def test_labels_spread_over_the_known_edges_only() -> None:
    split = Split(np.array([0, 1, 2]), SPLIT.val, NOBODY)
    spread = graph_alone(known(split))
    assert spread is not None and spread.dtype == np.int64
    assert np.array_equal(spread, TRUTH)
    cut = graph_alone(known(split, edges=RING[:, :1]))  # only the edge 0-3 is known: all others get class 0
    assert cut is not None and cut[[0, 1, 2, 3]].tolist() == [0, 1, 2, 0] and not cut[4:].any()


def test_validation_labels_teach_where_the_method_learns_from_them_too() -> None:
    """The largest class, the sources of the graph and what ridge regression learns from are those of both."""
    split = Split(np.array([0]), np.array([1, 2, 4, 5]), NOBODY)
    found = known(split, uses_validation_labels=True)
    assert found.training_people.tolist() == [0, 1, 2, 4, 5] and known(split).training_people.tolist() == [0]
    assert chance(found) == 1 and chance(known(split)) == 0  # of 0; 1, 1; 2, 2
    spread = graph_alone(found)
    assert spread is not None and np.array_equal(spread, TRUTH)


RINGS = np.stack([np.repeat(np.arange(N), 2), (np.repeat(np.arange(N), 2) + np.tile([1, 12], N)) % N])


def test_of_the_graph_alone_validation_labels_choose_spreading_or_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    spread = graph_alone(known())
    assert spread is not None
    alike = graph_learned(known(), seed=0)  # spreading is right about all: no network is above it
    assert alike is not None and np.array_equal(alike, spread) and np.array_equal(alike, TRUTH)
    both = known(edges=np.unique(np.sort(RINGS, axis=0), axis=1))
    unlike = np.array(both.labels.labels)
    found, again = (graph_learned(both, seed=0) for _ in range(2))
    assert found is not None and again is not None and np.array_equal(found, again)
    val = SPLIT.val
    poor = graph_alone(both)
    assert poor is not None and np.mean(found[val] == unlike[val]) >= np.mean(poor[val] == unlike[val])
    # where validation labels teach, spreading is judged by what training labels alone give
    taught = graph_learned(known(edges=both.edges, uses_validation_labels=True), seed=0)
    learned = np.mean(found[val] == unlike[val]) > np.mean(poor[val] == unlike[val])
    assert np.array_equal(taught, found) if learned else np.array_equal(taught[val], unlike[val])
    seen: list[Any] = []
    monkeypatch.setattr(training, "train", lambda graph, **given: seen.append((graph, given)) or FakeNetwork())
    right = graph_learned(both, seed=7)
    assert right is not None and np.array_equal(right, TRUTH)
    ((graph, given),) = seen
    assert given["seed"] == 7 and graph.features.shape == (N, N) and graph.features.base.nnz == N
    assert np.array_equal(graph.train, np.sort(SPLIT.train)) and np.array_equal(graph.val, np.sort(SPLIT.val))


def test_spreading_is_judged_without_the_labels_that_it_knows_by_heart(monkeypatch: pytest.MonkeyPatch) -> None:
    """No training person is a friend of anybody: from training labels, spreading names class 0 for 5 of 15 people.

    Where validation labels teach, it has learned all of them. A network that is right about 6 is better.
    """
    nobody_else = RING[:, np.isin(RING, SPLIT.val).all(axis=0)]
    given = known(edges=nobody_else, uses_validation_labels=True)
    by_heart = graph_alone(given)
    fair = graph_alone(known(edges=nobody_else))
    assert by_heart is not None and np.array_equal(by_heart[SPLIT.val], TRUTH[SPLIT.val])
    assert fair is not None
    few = int(np.sum(fair[SPLIT.val] == TRUTH[SPLIT.val]))
    for right, chosen in ((few, False), (few + 1, True)):
        network = (TRUTH + 1) % CLASSES
        network[SPLIT.val[:right]] = TRUTH[SPLIT.val[:right]]
        monkeypatch.setattr(training, "train", lambda *_, made=network, **__: SimpleNamespace(predictions=made))
        found = graph_learned(given, seed=0)
        assert found is not None and np.array_equal(found, network if chosen else by_heart)


class FakeNetwork:
    predictions = TRUTH


def test_models_without_what_they_need_are_none() -> None:
    empty = Split(NOBODY, SPLIT.val, SPLIT.test)
    unchosen = known(Split(SPLIT.train, NOBODY, SPLIT.test))
    spread = graph_learned(unchosen, seed=0)
    assert spread is not None and np.array_equal(spread, graph_alone(unchosen))  # type: ignore[arg-type]
    assert graph_learned(known(edges=None), seed=0) is None and graph_learned(known(empty), seed=0) is None
    assert graph_alone(known(edges=None)) is None and graph_alone(known(empty)) is None
    assert features_alone(known(features=None), seed=0) is None and features_alone(known(empty), seed=0) is None
    assert features_alone(known(features=csr_array((N, 0))), seed=0) is None


def test_features_predict_the_class() -> None:
    for features in (csr_array(WORDS), WORDS, (WORDS - 0.3) * 50, WORDS + 1):
        found = features_alone(known(features=features), seed=0)
        assert found is not None and found.dtype == np.int64
        assert np.mean(found[SPLIT.test] == TRUTH[SPLIT.test]) > 0.85


def _perceptron(hits: int) -> np.ndarray:
    """Return scores: everybody is of class 1, but so many validation people have the right one."""
    classes = np.ones(N, np.int64)
    classes[SPLIT.val] = (TRUTH[SPLIT.val] + (np.arange(len(SPLIT.val)) >= hits)) % CLASSES
    return np.eye(CLASSES)[classes]


REPORTED = frozenset({"features"})
FEW = WORDS[:, ::6]  # too few words to be right about everybody


def test_the_better_on_validation_is_chosen_and_a_tie_goes_to_ridge(monkeypatch: pytest.MonkeyPatch) -> None:
    by_ridge = features_alone(known(Split(SPLIT.train, NOBODY, SPLIT.test)), seed=0)  # nobody to choose by
    hits = int(np.sum(by_ridge[SPLIT.val] == TRUTH[SPLIT.val]))
    for more, ridge_wins in ((-1, True), (0, True), (1, False)):
        monkeypatch.setattr(models, "fit_perceptron", lambda *a, more=more, **k: _perceptron(hits + more))
        found = features_alone(known(reported=REPORTED), seed=0)
        assert np.array_equal(found[SPLIT.test], by_ridge[SPLIT.test]) is ridge_wins


@pytest.mark.parametrize("uses_validation_labels", [False, True])
@pytest.mark.parametrize("features", [csr_array(WORDS[:, ::6]), (WORDS[:, ::6] - 0.3) * 50])
def test_of_public_features_the_pool_is_chosen_by_validation_labels_alone(
    features: Any, uses_validation_labels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pool that is right about validation people wins whatever it says of others; one that is not so does not."""
    honest = models.feature_posterior

    def pool(right: bool) -> Any:
        def found(*given: Any, **more: Any) -> FeaturePosterior:
            classes = np.full(N, 2)
            classes[SPLIT.val] = (TRUTH[SPLIT.val] + (not right)) % CLASSES
            return replace(honest(*given, **more), log_probability=np.eye(CLASSES)[classes])

        return found

    given = known(features=features, uses_validation_labels=uses_validation_labels)
    for right in (True, False):
        monkeypatch.setattr(models, "feature_posterior", pool(right))
        found = features_alone(given, seed=0)
        assert found is not None and (found[SPLIT.test] == 2).all() is np.bool_(right)


def test_a_label_that_a_model_has_learned_by_heart_does_not_choose_it() -> None:
    """The class is the product of two signs, which no linear model tells, and each person has a column alone.

    Ridge regression learns validation labels too, each by its own column: it names all of them, and half of the others.
    Without the own label it names few. The perceptron learns from training people alone, and names everybody.
    """
    n, split = 240, Split(np.arange(120), np.arange(120, 180), np.arange(180, 240))
    signs = np.random.default_rng(0).choice([-1.0, 1.0], (n, 2))
    truth = (signs.prod(axis=1) > 0).astype(np.int64)
    features = np.concatenate([np.repeat(signs, 20, axis=1), np.eye(n)], axis=1).astype(np.float32)
    labels = ObservedLabels(np.where(np.isin(np.arange(n), split.test), -1, truth), 2)
    given = NullInputs(labels, split, None, features, REPORTED, uses_validation_labels=True)
    assert (given.ridge.scores[split.val].argmax(axis=1) == truth[split.val]).all()
    found = features_alone(given, seed=0)
    assert found is not None and np.array_equal(found[split.test], truth[split.test])


@pytest.mark.parametrize(
    ("features", "given", "is_tried"),
    [
        (csr_array(FEW), {}, True),
        (FEW, {}, True),
        (csr_array(FEW), {"reported": REPORTED}, True),
        (FEW, {"reported": REPORTED}, False),  # every entry is noise
    ],
)
def test_logistic_regression_is_of_the_family_where_features_are_public_or_sparse(
    features: Any, given: dict[str, Any], is_tried: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is chosen by its fit to training labels, and returned by that to all who teach; not above the limit."""
    seen: list[Any] = []
    fair, final = np.ones(N, np.int64), np.full(N, 2)
    for taught in (False, True):

        def fit(rows: Any, labels: Any, learned: Any, chosen: Any, others: Any) -> Any:
            seen.append((learned, chosen, others))
            fair[chosen] = TRUTH[chosen]
            return np.eye(CLASSES)[fair], np.eye(CLASSES)[final]

        monkeypatch.setattr(models, "logistic_scores", fit)
        seen.clear()
        found = features_alone(known(features=features, uses_validation_labels=taught, **given), seed=0)
        assert found is not None and (found == 2).all() is np.bool_(is_tried)
        if is_tried:
            ((learned, chosen, others),) = seen
            assert np.array_equal(learned, SPLIT.train) and np.array_equal(chosen, SPLIT.val)
            assert np.array_equal(others, np.sort(SPLIT.labelled)) if taught else others is None
    with monkeypatch.context() as few:
        few.setattr(models, "MOST_PEOPLE", N - 1)
        found = features_alone(known(features=features, **given), seed=0)
        assert found is not None and not (found == 2).all()
    unchosen = features_alone(known(Split(SPLIT.train, NOBODY, SPLIT.test), features=features, **given), seed=0)
    assert unchosen is not None and not (unchosen == 2).all()


def test_the_perceptron_sees_no_edge_and_learns_from_training_labels(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Graph, dict[str, Any]]] = []

    honest = training.train

    def watched(graph: Graph, **given: Any) -> training.TrainedNetwork:
        seen.append((graph, given))
        return honest(graph, **given)

    monkeypatch.setattr(training, "train", watched)
    features_alone(known(), seed=9, device="auto")
    ((graph, given),) = seen
    assert graph.edge_index.shape == (2, 0) and graph.edge_weight is None
    assert np.array_equal(graph.train, SPLIT.train) and np.array_equal(graph.val, SPLIT.val)
    assert (graph.labels[SPLIT.test] == -1).all()
    np.testing.assert_allclose(graph.features.sum(axis=1), 1, rtol=1e-5)  # as the reference `mlp` has them
    assert (given["seed"], given["device"], given["classes"]) == (9, "auto", CLASSES)
    assert (given["settings"].gnn, given["settings"].selection) == ("mlp", "loss")


@pytest.mark.parametrize("uses_validation_labels", [False, True])
@pytest.mark.parametrize("reported", [frozenset(), REPORTED], ids=["public", "reported"])
def test_whatever_teaches_the_others_the_perceptron_has_not_seen_the_labels_that_choose_it(
    uses_validation_labels: bool, reported: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[np.ndarray, np.ndarray]] = []
    honest = training.train

    def watched(graph: Graph, **given: Any) -> training.TrainedNetwork:
        seen.append((graph.train, graph.val))
        return honest(graph, **given)

    monkeypatch.setattr(training, "train", watched)
    features_alone(known(reported=reported, uses_validation_labels=uses_validation_labels), seed=0)
    assert seen
    assert all(np.array_equal(train, SPLIT.train) and np.array_equal(val, SPLIT.val) for train, val in seen)


def test_scrambled_test_labels_change_nothing() -> None:
    scrambled = TRUTH.copy()
    scrambled[SPLIT.test] = np.random.Generator(np.random.PCG64(5)).permutation(TRUTH[SPLIT.test])
    assert (scrambled != TRUTH).any()
    answers = []
    for labels in (TRUTH, scrambled):
        owned = OwnedGraph(FACTS, SPLIT, csr_array(WORDS), RING, labels)
        seen = known_from_graph(owned, ("adjacency", "features", "label"))
        assert (seen.labels.labels[SPLIT.test] == -1).all()
        learned = graph_learned(seen, seed=0), features_alone(seen, seed=0)
        answers.append((np.array([chance(seen)]), graph_alone(seen), *learned))
    for one, other in zip(*answers, strict=True):
        assert one is not None and other is not None and np.array_equal(one, other)


# --- what they know ------------------------------------------------------------------------

FACTS = PublicFacts(N, D, CLASSES)


def reports(**given: Any) -> Reports:
    everybody = np.ones(N, np.bool_)
    asks = {"label": Ask("label", (GRR.from_epsilon(1.0, categories=CLASSES),))} if given else {}
    return Reports(FACTS, asks, dict.fromkeys(asks, everybody), everybody, given)


@pytest.mark.parametrize(("most", "people"), [(45, 1), (44, 2), (23, 2), (22, 3), (15, 3), (14, 4), (1, 45)])
def test_a_sample_of_labelled_people_is_never_larger_than_it_may_be(
    most: int, people: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every k-th of 45 people, with the smallest k that leaves so many."""
    monkeypatch.setattr(inputs, "LARGEST_SAMPLE", most)
    found = sampled_people(known())
    assert found.tolist() == np.sort(SPLIT.labelled)[::people].tolist() and len(found) <= most


def test_public_knowledge_is_used_as_it_is() -> None:
    features = csr_array(WORDS)
    found = known_from_reports(reports(), PublicKnowledge(FACTS, SPLIT, TRUTH, features, RING))
    assert found.edges is RING and found.features is features and found.labels.classes == CLASSES
    assert np.array_equal(found.labels.labels, np.where(np.isin(np.arange(N), SPLIT.test), -1, TRUTH))
    assert not found.reported
    nothing = known_from_reports(reports(), PublicKnowledge(FACTS, SPLIT, np.full(N, -1)))
    assert nothing.edges is None and nothing.features is None
    assert (nothing.labels.labels == -1).all() and not len(nothing.labels.with_label(SPLIT.train))


def test_pairs_that_are_public_are_not_known_from_answers() -> None:
    """Nor are public features: a null model that reads them asks nobody."""
    everybody = np.ones(N, np.bool_)
    asks = {"adjacency": Ask("adjacency", (RandomizedResponse.from_epsilon(1.0, n=N),)),
            "features": Ask("features", (OneBit.from_epsilon(1.0, d=D),))}  # fmt: skip
    told = {"adjacency": csr_array((N, N), dtype=np.bool_), "features": np.zeros((N, 4), np.uint8)}
    both = Reports(FACTS, asks, dict.fromkeys(asks, everybody), everybody, told)
    nothing, words = np.full(N, -1), csr_array(WORDS)
    for features, edges in ((None, None), (words, None), (None, RING), (words, RING)):
        found = known_from_reports(both, PublicKnowledge(FACTS, SPLIT, nothing, features, edges))
        asked = {"adjacency": edges is None, "features": features is None}
        assert found.reported == {name for name, was_asked in asked.items() if was_asked}
        assert (found.edges is RING) == (edges is not None) and (found.features is words) == (features is not None)


def test_nothing_is_estimated_of_who_did_not_answer() -> None:
    """Neither of people who were not asked; here a mechanism of another package reports 2 numbers, and 0 means -1."""
    doubled = SimpleNamespace(field="features", estimate=lambda report: 2.0 * report - 1)
    asks: Any = {"features": SimpleNamespace(attribute="features", mechanisms=(doubled,))}
    asked, answered = np.arange(N) != 3, np.arange(N) != 7
    told = np.where((asked & answered)[:, None], [1, 0], 0)
    given = Reports(FACTS, asks, {"features": asked}, answered, {"features": told})
    found = known_from_reports(given, PublicKnowledge(FACTS, SPLIT, np.full(N, -1)))
    assert np.array_equal(found.features, np.where((asked & answered)[:, None], [1, -1], 0))


def test_reported_labels_of_test_nodes_are_dropped() -> None:
    """Reports of an earlier run may have been split in another way."""
    told = np.where(np.arange(N) == SPLIT.train[0], -1, TRUTH[::-1])
    given = reports(labels=told)
    found = known_from_reports(given, PublicKnowledge(FACTS, SPLIT, np.full(N, -1)))
    assert np.array_equal(found.labels.labels, np.where(np.isin(np.arange(N), SPLIT.test), -1, told))
    assert found.labels.with_label(SPLIT.train).tolist() == SPLIT.train[1:].tolist() and found.reported == {"label"}
    assert np.array_equal(given.labels, told)


@pytest.mark.parametrize("reads", [(), ("label",), ("adjacency", "features"), ("adjacency", "features", "label")])
def test_an_owner_knows_what_it_reads(reads: tuple[str, ...]) -> None:
    owned = OwnedGraph(FACTS, SPLIT, csr_array(WORDS), RING, TRUTH)
    found = known_from_graph(owned, reads)
    assert (found.edges is RING) == ("adjacency" in reads)
    assert (found.features is owned.features) == ("features" in reads)
    shown = np.where(np.isin(np.arange(N), SPLIT.labelled), TRUTH, -1)
    assert np.array_equal(found.labels.labels, shown if "label" in reads else np.full(N, -1))
