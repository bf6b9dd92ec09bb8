"""The device model: what its table, affinity and model are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.device_model import DeviceModelInputs, device_model_inputs, labelled_shares
from ldpsim.curator.friend_affinity import FriendAffinity, affinity_of_pairs
from ldpsim.curator.knowledge.knowledge import Knowledge
from ldpsim.curator.nulls import inputs
from ldpsim.curator.nulls.inputs import NullInputs, known_from_reports
from ldpsim.curator.reports.labels import ObservedLabels
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.votes.volunteer_knowledge import ASSUMED
from ldpsim.devices.data.population import Population, build_population, records_of
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import ClearFeatures, ClearLabel
from ldpsim.devices.prediction import DeviceModel
from ldpsim.devices.query import Ask
from tests.curator.worlds import world

N, CLASSES = 600, 3
RNG = np.random.Generator(np.random.PCG64(51))
LABELS = RNG.integers(CLASSES, size=N)
SPLIT = Split(np.arange(300), np.arange(300, 400), np.arange(400, N))
FACTS = PublicFacts(N, 6, CLASSES)
FEATURES = (RNG.random((N, 6)) < 0.1 + 0.8 * (np.arange(6) // 2 == LABELS[:, None])).astype(np.float32)


def _edges(share: float) -> np.ndarray:
    """Edges of which this share are within a class, the others between two people at random."""
    left, right = RNG.integers(N, size=(2, 6000))
    same = RNG.random(6000) < share
    partner = np.array([RNG.choice(np.flatnonzero(LABELS == label)) for label in LABELS[left]])
    right = np.where(same, partner, right)
    pairs = np.unique(np.sort(np.stack([left, right])[:, left != right], axis=0), axis=1)
    return pairs


def _public(edges: np.ndarray | None, features: object = None) -> PublicKnowledge:
    labels = np.full(N, -1)
    labels[SPLIT.labelled] = LABELS[SPLIT.labelled]
    return PublicKnowledge(FACTS, SPLIT, labels, features, edges)


def _known(features: object = None) -> NullInputs:
    public = _public(None)
    return NullInputs(ObservedLabels(public.labels, CLASSES), SPLIT, None, features)


def _people(features: np.ndarray, edges: np.ndarray, **given: Any) -> Population:
    """The people with these features, float32 (N, 6), in clear on their devices."""
    return build_population(
        "made", n=N, d=6, edges=edges, feature_indptr=np.arange(N + 1) * 6, feature_indices=np.tile(np.arange(6), N),
        feature_values=features.ravel(), labels=LABELS, classes=CLASSES, **given,
    )  # fmt: skip


def _said(
    made: DeviceModel, people: np.ndarray, homophily: float = 0.5, shares: np.ndarray | None = None
) -> np.ndarray:
    """float64 (people, classes): the class distributions P of the table, from ln(h P / pi + 1 - h)."""
    table = made.score_table
    pi = SHARES if shares is None else shares
    ratios = np.exp(table.rows[table.codes[people]] / 256)
    return np.asarray(np.maximum(ratios - 1 + homophily, 0) * pi / homophily)


def _of(evidence: NullInputs, homophily: float = 0.5) -> DeviceModelInputs:
    shares = labelled_shares(evidence)
    friends = FriendAffinity.of_homophily(homophily, shares, "assumed")
    return DeviceModelInputs(evidence, FACTS, shares, friends, friends)


def _parts(homophily: float, features: object = None) -> DeviceModelInputs:
    return _of(_known(features), homophily)


SHARES = labelled_shares(_known())


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_the_affinity_is_that_of_public_edges(share: float) -> None:
    # 6,000 edges, 4 of 9 between labelled people: the standard error is below .02
    found = affinity_of_pairs(Knowledge(None, _public(_edges(share))), SPLIT.labelled, SHARES)
    assert found.homophily == pytest.approx(share, abs=0.1) and found.source == "public graph"
    assert found.matrix.sum(axis=1) == pytest.approx(1)
    assert np.diag(found.matrix).mean() == pytest.approx(share + (1 - share) / 3, abs=0.1)


def test_the_affinity_of_classes_that_meet_crosswise_is_not_that_of_a_homophily() -> None:
    """Nearly all friends of class 0 are of class 1 and the other way round; people of class 2 meet anybody."""
    rng = np.random.default_rng(5)
    left = rng.integers(N, size=6000)
    wanted = np.where(rng.random(6000) < 0.9, np.array([1, 0, 2])[LABELS[left]], LABELS[rng.integers(N, size=6000)])
    right = np.array([rng.choice(np.flatnonzero(LABELS == label)) for label in wanted])
    pairs = np.unique(np.sort(np.stack([left, right])[:, left != right], axis=0), axis=1)
    found = affinity_of_pairs(Knowledge(None, _public(pairs)), SPLIT.labelled, SHARES)
    true = np.zeros((CLASSES, CLASSES))
    both = np.isin(pairs, SPLIT.labelled).all(axis=0)
    np.add.at(true, tuple(LABELS[pairs[:, both]]), 1)
    true = true + true.T
    assert found.matrix == pytest.approx(true / true.sum(axis=1, keepdims=True), abs=0.02)
    assert found.matrix[0].argmax() == 1 and found.matrix[1].argmax() == 0


@pytest.mark.parametrize("given", [{}, {"reporting": "one-end"}, {"private_labels": True, "silent": (3, 7)}], ids=str)
def test_only_pairs_of_the_counted_people_make_the_affinity(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of very many people the reports of the others are left out before anything is matched."""
    reports, public, _ = world(**given)
    people = np.sort(public.split.labelled)
    shares = np.ones(public.facts.classes)
    whole = affinity_of_pairs(Knowledge(reports, public), people, shares)
    monkeypatch.setattr(inputs, "LARGEST_SAMPLE", 1)
    sampled = affinity_of_pairs(Knowledge(reports, public), people, shares)
    assert sampled.matrix == pytest.approx(whole.matrix, rel=1e-9) and sampled.source == "reported lists"
    assert sampled.homophily == pytest.approx(whole.homophily, rel=1e-9) != ASSUMED


@pytest.mark.parametrize("given", [{}, {"reporting": "one-end"}], ids=str)
@pytest.mark.parametrize(("epsilon", "assumed"), [(0.01, 35), (0.3, 5)])
def test_noise_does_not_turn_friends_into_opposites(given: dict[str, Any], epsilon: float, assumed: int) -> None:
    """At epsilon .01 the share of edges within a class is a quotient of noise; at .3 its sign is (seeds 0 to 39)."""
    worlds = (world(seed=seed, epsilon=epsilon, inside=0.1, outside=0.08, **given) for seed in range(40))
    found = [affinity_of_pairs(Knowledge(reports, public), public.split.labelled, np.ones(public.facts.classes))
             for reports, public, _ in worlds]  # fmt: skip
    assert [each.source for each in found].count("assumed") >= assumed
    assert sum(each.homophily < 0 for each in found) <= 2
    assert all(each.homophily == ASSUMED for each in found if each.source == "assumed")


@pytest.mark.parametrize("share", [0.0, 0.3])
def test_the_homophily_of_few_edges_is_the_mean_of_its_posterior(share: float) -> None:
    """Beside numerical integration: a normal prior of mean .3 and deviation .5, h >= 0."""
    edges = _edges(share)[:, :60]
    found = affinity_of_pairs(Knowledge(None, _public(edges)), SPLIT.labelled, SHARES)
    both = np.isin(edges, SPLIT.labelled).all(axis=0)
    same = LABELS[edges[0, both]] == LABELS[edges[1, both]]
    end_shares = np.bincount(LABELS[edges[:, both]].ravel(), minlength=CLASSES) / (2 * both.sum())
    by_chance = np.square(end_shares).sum()
    estimate = (same.mean() - by_chance) / (1 - by_chance)
    error = np.sqrt(same.mean() * (1 - same.mean()) / both.sum()) / (1 - by_chance)
    values = np.linspace(0, 4, 400_001)
    weights = np.exp(-((values - ASSUMED) ** 2) / (2 * 0.5**2) - (values - estimate) ** 2 / (2 * error**2))
    assert found.homophily == pytest.approx((values * weights).sum() / weights.sum(), rel=1e-4)


def test_without_pairs_the_homophily_is_the_assumed_one() -> None:
    found = affinity_of_pairs(Knowledge(None, _public(None)), SPLIT.labelled, SHARES)
    assert (found.homophily, found.source) == (ASSUMED, "assumed")


def test_labels_in_clear_stand_in_the_table_and_nothing_is_said_of_others_without_features() -> None:
    made = _parts(0.5).build_without_reports()
    known = made.score_table.rows[made.score_table.codes].any(axis=1)
    assert np.array_equal(np.flatnonzero(known), SPLIT.labelled)
    assert (_said(made, SPLIT.labelled).argmax(axis=1) == LABELS[SPLIT.labelled]).all()
    assert made.columns == 0


def test_features_in_clear_teach_the_model_and_fill_the_table() -> None:
    edges = _edges(0.7)
    made = _parts(0.7, csr_array(FEATURES)).build_without_reports()
    people, test = _people(FEATURES, edges), SPLIT.test
    named = made.classes_of(records_of(people, test), test)
    of_features = (_said(made, test, 0.7).argmax(axis=1) == LABELS[test]).mean()
    assert of_features > 0.8  # chance is 1/3; 200 people
    assert (named == LABELS[test]).mean() > of_features


def test_a_method_without_distributions_has_a_table_of_how_often_it_is_right() -> None:
    predictions = np.where(RNG.random(N) < 0.8, LABELS, (LABELS + 1) % CLASSES)
    made = _parts(0.5).build_device_model(None, predictions, calibrated=True)
    assert (_said(made, SPLIT.test).argmax(axis=1) == predictions[SPLIT.test]).all()
    said = _said(made, SPLIT.test).max(axis=1)
    assert said.mean() == pytest.approx(0.8, abs=0.15)  # 100 validation people in three classes


def test_the_temperature_makes_a_network_that_is_too_sure_less_sure() -> None:
    right = RNG.random(N) < 0.6
    said = np.where(right, LABELS, (LABELS + 1) % CLASSES)
    sure = 12.0 * np.eye(CLASSES)[said]
    made = _parts(0.5).build_device_model(sure, sure.argmax(axis=1), calibrated=False)
    assert _said(made, SPLIT.test).max() < 0.85


def test_the_temperature_is_that_of_validation_labels_alone() -> None:
    """A network is right about everybody who taught it, and about 60 of 100 validation people: it says 60 %."""
    named = LABELS.copy()
    named[SPLIT.val[:40]] = (LABELS[SPLIT.val[:40]] + 1) % CLASSES
    sure, test = 12.0 * np.eye(CLASSES)[named], SPLIT.test
    said = _said(_parts(0.5).build_device_model(sure, named, calibrated=False), test)
    assert said[np.arange(len(test)), named[test]] == pytest.approx(0.6, abs=0.02)
    assert np.sort(said, axis=1)[:, :2] == pytest.approx(0.2, abs=0.02)
    as_it_is = _said(_parts(0.5).build_device_model(sure, named, calibrated=True), test)
    assert as_it_is.max(axis=1) == pytest.approx(1.0, abs=0.01)  # a score is off by 2^-9 nats


def test_a_class_alone_has_the_shares_of_labels_of_validation_people() -> None:
    """Of 100 validation people the method names class 0; their labels are 50, 30 and 20. One more counts, and 1/3."""
    labels = np.full(N, -1)
    labels[SPLIT.train], labels[SPLIT.val] = 0, np.repeat([0, 1, 2], [50, 30, 20])
    evidence = NullInputs(ObservedLabels(labels, CLASSES), SPLIT)
    said = _of(evidence).build_device_model(None, np.repeat([0, 1], [500, 100]), calibrated=True)
    shares = np.array([51 + 1 / 3, 30 + 1 / 3, 20 + 1 / 3]) / 102
    pi = labelled_shares(evidence)
    assert _said(said, np.arange(400, 500), shares=pi) == pytest.approx(np.tile(shares, (100, 1)), abs=0.02)
    unseen = np.array([1 / 3, 4 / 3, 1 / 3]) / 2  # nobody of the validation people is named 1
    assert _said(said, np.arange(500, 600), shares=pi) == pytest.approx(np.tile(unseen, (100, 1)), abs=0.02)


NUMBERS = np.where(np.arange(6) // 2 == LABELS[:, None], 0.75, 0.25).astype(np.float32)


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-7.0, 2.0)])
def test_public_features_that_are_numbers_are_read_as_numbers(low: float, high: float) -> None:
    """Everybody is at a quarter or three quarters of the range in each column: as words all people are alike."""
    features, test = (low + (high - low) * NUMBERS).astype(np.float32), SPLIT.test
    made = replace(
        _parts(0.7, features), facts=replace(FACTS, feature_low=low, feature_high=high)
    ).build_without_reports()
    assert made is not None and (made.levels, made.low, made.high) == (255, low, high)
    assert (_said(made, test, 0.7).argmax(axis=1) == LABELS[test]).all()
    model, levels = made.feature_model, np.rint(255 * NUMBERS[test].astype(np.float64))
    scores = np.exp((model.means + levels @ model.weights) / 2.0**16)
    assert _said(made, test, 0.7) == pytest.approx(scores / scores.sum(axis=1, keepdims=True), abs=0.03)
    people = _people(features, np.zeros((2, 0), np.int64), feature_range=(low, high))
    assert (made.classes_of(records_of(people, test), test) == LABELS[test]).all()


def _volunteered() -> tuple[Reports, PublicKnowledge]:
    """Labelled people have given label and features in clear; nobody else was asked."""
    asks = {"features": Ask("features", (ClearFeatures(6),)), "label": Ask("label", (ClearLabel(CLASSES),))}
    people = np.isin(np.arange(N), SPLIT.labelled)
    given = {"features": csr_array(FEATURES * people[:, None]), "labels": np.where(people, LABELS, -1)}
    part = Reports(FACTS, asks, dict.fromkeys(asks, people), people, given)
    return replace(part, parts=(part,)), PublicKnowledge(FACTS, SPLIT, np.full(N, -1))


def test_what_volunteers_give_teaches_and_says_nothing_of_others() -> None:
    """Null models have no features; the device model learns, and people who were not asked are unknown in the table."""
    reports, public = _volunteered()
    evidence = known_from_reports(reports, public)
    assert evidence.features is None and np.array_equal(evidence.labels.labels, reports.labels)
    made = device_model_inputs(reports, public, evidence).build_without_reports()
    assert made is not None and made.columns == 6
    known = made.score_table.rows[made.score_table.codes].any(axis=1)
    assert np.array_equal(np.flatnonzero(known), SPLIT.labelled)
    assert np.array_equal(_said(made, SPLIT.labelled, ASSUMED).argmax(axis=1), LABELS[SPLIT.labelled])
    named = made.classes_of(records_of(_people(FEATURES, np.zeros((2, 0), np.int64)), SPLIT.test), SPLIT.test)
    assert np.mean(named == LABELS[SPLIT.test]) > 0.8  # by the own features, which the device has in clear


def _reported_labels() -> ObservedLabels:
    """Of 400 labelled people 200, 120 and 80 report class 0, 1 and 2, the true one with probability 2/3."""
    said = np.full(N, -1)
    said[SPLIT.labelled] = np.repeat(np.arange(CLASSES), [200, 120, 80])
    soft = np.log(np.where(np.arange(CLASSES) == said[:, None], 2 / 3, 1 / 6))
    return ObservedLabels(said, CLASSES, 2 / 3, 1 / 6, np.where(said[:, None] < 0, 0, soft))


def test_a_reported_label_weighs_as_its_mechanism_says() -> None:
    """The method says .5, .3, .2 of everybody: a person who reports class 2 has .5, .3 and 4 * .2, over their sum."""
    evidence = NullInputs(_reported_labels(), SPLIT, None, csr_array(FEATURES))
    parts, pi = _of(evidence), labelled_shares(evidence)
    made = parts.build_device_model(np.log(np.tile([0.5, 0.3, 0.2], (N, 1))), np.zeros(N, np.int64), calibrated=True)
    for report, person in ((None, 599), (0, 0), (1, 200), (2, 399)):
        row = np.array([0.5, 0.3, 0.2]) * np.where(np.arange(CLASSES) == report, 4, 1)
        assert _said(made, np.array([person]), shares=pi)[0] == pytest.approx(row / row.sum(), abs=0.02)
    assert parts.build_without_reports() is None  # no label is in clear: without a report nothing is known


def test_class_shares_are_those_of_labels_and_not_of_reports() -> None:
    """E[count] = 1/6 * 400 + 1/2 of the class: the classes have 2 * 200 - 400/3, 2 * 120 - 400/3, 2 * 80 - 400/3."""
    made = _of(NullInputs(_reported_labels(), SPLIT)).build_device_model(None, np.zeros(N, np.int64), calibrated=True)
    sizes = 2 * np.array([200, 120, 80]) - 400 / 3 + 1  # one more person in each
    assert made.prior.tolist() == np.rint(65536 * np.log(sizes / sizes.sum())).astype(int).tolist()


def test_a_model_of_reported_features_is_their_ridge_regression_around_the_mean() -> None:
    """Class 0 has four columns, and 1 and 2 one each. Scores are s R + b ln(shares) + a constant of the person, s and
    b at least 0, with R the fit on columns less their mean, over their spread."""
    columns = np.array([0, 0, 0, 0, 1, 2])
    rng = np.random.default_rng(4)
    own = (rng.random((N, 6)) < 0.1 + 0.7 * (columns == LABELS[:, None])).astype(np.float64)
    estimates = (own + rng.normal(0, 1, (N, 6))).astype(np.float32)
    evidence = replace(_known(estimates), reported=frozenset({"features"}))
    model = _of(evidence).features
    assert model is not None and model.levels == 255
    said = model.model.scores((255 * own[SPLIT.test]).astype(np.int64), words=False) / 2.0**16
    centre, spread = estimates.mean(axis=0, dtype=np.float64), estimates.std(axis=0, dtype=np.float64)
    fit = evidence.ridge
    scores = (own[SPLIT.test] - centre) / spread / 6**0.5 @ fit.weights + fit.mean
    known = LABELS[SPLIT.val]
    prior = np.log((np.bincount(known, minlength=CLASSES) + 1) / (len(known) + CLASSES))
    parts = np.stack([scores, np.tile(prior, (len(scores), 1))], axis=-1)
    parts -= parts.mean(axis=1, keepdims=True)
    target = said - said.mean(axis=1, keepdims=True)
    exponents, *_ = np.linalg.lstsq(parts.reshape(-1, 2), target.ravel(), rcond=None)
    assert np.abs(parts @ exponents - target).max() < 0.01 and (exponents >= -1e-3).all()
    assert np.mean(said.argmax(axis=1) == LABELS[SPLIT.test]) > 0.6


@pytest.mark.parametrize("reported", [True, False], ids=["reported", "numbers"])
def test_where_features_say_nothing_a_device_is_told_the_class_shares(reported: bool) -> None:
    """80 %, 15 % and 5 % of those who train, and of those who validate, are of a class, and all features are noise."""
    rng = np.random.default_rng(2)
    labels, features = np.tile(np.repeat([0, 1, 2], [16, 3, 1]), N // 20), rng.random((N, 6)).astype(np.float32)
    hidden = np.where(np.isin(np.arange(N), SPLIT.test), -1, labels)
    estimates = (features - 0.5 + rng.normal(0, 1, (N, 6))).astype(np.float32)
    evidence = NullInputs(ObservedLabels(hidden, CLASSES), SPLIT, None, estimates if reported else features,
                            frozenset({"features"} if reported else ()))  # fmt: skip
    model = _of(evidence).features
    assert model is not None
    scores = np.exp(model.model.scores(np.rint(255 * features).astype(np.int64), words=False) / 2.0**16)
    shares = scores / scores.sum(axis=1, keepdims=True)
    assert shares.mean(axis=0) == pytest.approx([0.8, 0.15, 0.05], abs=0.03)
    assert shares[:, 0].std() < 0.05


def test_reported_features_are_as_sure_as_they_are_without_the_own_label() -> None:
    """500 columns that say nothing, and 400 labels: the fit knows nearly all by heart, and tells nobody anything."""
    rng = np.random.default_rng(3)
    estimates = rng.choice([-1.0, 1.0], (N, 500)).astype(np.float32)
    evidence = replace(_known(estimates), reported=frozenset({"features"}), uses_validation_labels=True)
    assert np.mean(evidence.ridge.scores[SPLIT.labelled].argmax(axis=1) == LABELS[SPLIT.labelled]) > 0.9
    model = replace(_of(evidence), facts=replace(FACTS, d=500)).features
    assert model is not None
    scores = np.exp(model.model.scores(np.where(estimates > 0, 255, 0), words=False) / 2.0**16)
    assert (scores / scores.sum(axis=1, keepdims=True)).max() < 0.5


def test_of_very_many_people_a_sample_teaches_by_its_own_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every fourth of 400: the model is that of these people alone."""
    some = np.where(np.isin(np.arange(N), np.arange(0, 400, 4)), LABELS, -1)
    alone = _of(NullInputs(ObservedLabels(some, CLASSES), SPLIT, None, csr_array(FEATURES)))
    monkeypatch.setattr(inputs, "LARGEST_SAMPLE", 100)
    found = _parts(0.5, csr_array(FEATURES)).features
    monkeypatch.undo()
    assert found is not None and alone.features is not None
    assert found.model.as_text() == alone.features.model.as_text()


@pytest.mark.parametrize("bits", [False, True], ids=["public features", "reported features"])
def test_the_device_model_without_reports_is_made_of_no_report(bits: bool) -> None:
    """Reports of other friends and other features: the device model differs, and the one without reports does not."""
    reports, public, _ = world(bits=bits, public=not bits)
    rng = np.random.default_rng(6)
    order = rng.permutation(public.facts.n)
    arrays = {"adjacency": reports.adjacency[order][:, rng.permutation(public.facts.n)]}
    others = reports.with_arrays(**arrays, **({"features": reports.features[order]} if bits else {}))
    one, two = (device_model_inputs(each, public, known_from_reports(each, public)) for each in (reports, others))
    assert (
        one.build_without_reports() is not None
        and one.build_without_reports().as_text() == two.build_without_reports().as_text()
    )
    rows = np.log(np.full((public.facts.n, 3), 1 / 3))
    after = [
        each.build_device_model(rows, np.zeros(public.facts.n, np.int64), calibrated=True).as_text()
        for each in (one, two)
    ]
    assert after[0] != after[1]
