"""Channels of votes, their batches, the model of own features, and volunteers with one vote of everybody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array

from ldpsim.curator.features.linear_feature_model import (
    FeatureModelFit,
    fit_feature_model,
    model_for_accounts,
    whole_number_model,
)
from ldpsim.curator.learning.folds import folds_of
from ldpsim.curator.learning.ridge import ridge
from ldpsim.curator.methods.base import Question
from ldpsim.curator.reports.labels import ObservedLabels, observed_labels
from ldpsim.curator.reports.reports import Reports
from ldpsim.curator.votes.calibration import CALIBRATION_HOMOPHILY, expected_shares, posterior_mean, right_share
from ldpsim.curator.votes.knowledge import (
    FEATURES,
    FOLDS,
    PRIOR_COUNT,
    VOTE,
    VotePosterior,
    knowledge,
    people_of_batch,
    reports_by_batch,
    vote_log_likelihood,
)
from ldpsim.curator.votes.volunteer_knowledge import (
    ASSUMED,
    ClassReports,
    class_shares,
    volunteer_knowledge,
    vote_channel,
)
from ldpsim.curator.votes.volunteer_questions import VolunteerQuestions, next_voters
from ldpsim.devices.data.population import Population
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.facts import PublicFacts, PublicKnowledge, Split
from ldpsim.devices.mechanisms import NeighbourhoodVote
from ldpsim.devices.mechanisms.feature_model import UNIT, FeatureModel, whole_features
from ldpsim.devices.noise import Noise
from ldpsim.devices.query import Ask
from tests.curator.worlds import world


@pytest.mark.parametrize("soft", [False, True])
def test_the_law_is_that_of_the_formula_without_the_own_count(soft: bool) -> None:
    rng, classes, people = np.random.default_rng(2), 3, 40
    reports = rng.integers(0, classes + 1, people)
    labels = rng.dirichlet(np.ones(classes), people) if soft else np.eye(classes)[rng.integers(0, classes, people)]
    labels[30:] = 0  # people without a label
    found = np.exp(vote_log_likelihood(reports, labels))
    overall = np.array([labels[reports == r].sum() + 1 for r in range(classes + 1)])
    overall = overall / overall.sum()
    for person, c in product(range(people), range(classes)):
        others = np.arange(people) != person
        same = labels[others & (reports == reports[person]), c].sum()
        wanted = (same + PRIOR_COUNT * overall[reports[person]]) / (labels[others, c].sum() + PRIOR_COUNT)
        assert found[person, c] == pytest.approx(wanted)


@pytest.mark.parametrize(("right", "told"), [(160, True), (20, False)])
def test_votes_count_as_often_as_they_are_right_and_not_at_all_where_they_mislead(right: int, told: bool) -> None:
    """Of 200 labelled people 160 votes name the class: it gets .8. Where 20 do, what features say is left: a third."""
    labels = np.arange(300) % 3
    named = np.where(np.random.default_rng(0).permutation(200) < right, labels[:200], (labels[:200] + 1) % 3)
    named = np.concatenate([named, labels[200:]])
    alike, sure = np.full((300, 3), -np.log(3)), 12.0 * np.eye(3)[named]
    evidence = VotePosterior(ObservedLabels(np.where(np.arange(300) < 200, labels, -1), 3), np.zeros((300, 3)),
                            {FEATURES: alike, VOTE: sure}, np.ones(300, np.bool_))  # fmt: skip
    log_p, exponents = evidence.posterior(np.arange(200))
    share = 0.8 if told else 1 / 3
    assert np.exp(log_p)[np.arange(300), named] == pytest.approx(share, abs=0.01)
    assert exponents[VOTE] == pytest.approx(np.log(8) / 12 if told else 0.0, abs=0.01)  # e^12a / (e^12a + 2) = .8


def test_what_is_known_of_a_reported_label_is_the_report_and_the_features() -> None:
    """P(class) is in proportion to what features say, times e^2 where the person reports the class (GRR at loss 2)."""
    reports, public, _ = world(private_labels=True)
    known = knowledge(reports, public)
    assert reports.labels is not None
    for person in public.split.labelled[::10]:
        said = np.exp(known.components[FEATURES][person])
        odds = said * np.where(np.arange(3) == reports.labels[person], np.exp(2.0), 1.0)
        assert known.label_rows[person] == pytest.approx(odds / odds.sum(), abs=1e-6)
    assert not known.label_rows[public.split.test].any() and not known.voted.any()


def test_a_batch_of_votes_ends_with_people_of_whom_not_all_have_a_label() -> None:
    """Parts go to labelled people 0 to 3, to 0 and 6, to 7, and at last to 2, whose batch has not ended."""
    vote = NeighbourhoodVote.from_probabilities(np.eye(3)[np.arange(8) % 3], 2.0, homophily=0.8)
    split, facts = Split(np.arange(2), np.arange(2, 4), np.arange(4, 8)), PublicFacts(8, 1, 3)
    parts = []
    for people in ([0, 1], [2, 3], [0, 6], [7], [2]):
        asked = np.isin(np.arange(8), people)
        votes = {"votes": np.where(asked, 0, -1)}
        parts.append(Reports(facts, {"adjacency": Ask("adjacency", (vote,))}, {"adjacency": asked}, asked, votes))
    batches = reports_by_batch(replace(parts[-1], parts=tuple(parts)), split)
    assert [[parts.index(part) for part in batch] for batch in batches] == [[0, 1, 2], [3], [4]]


def test_each_batch_has_folds_of_labelled_people_and_the_most_certain_of_the_others() -> None:
    split = Split(np.arange(0, 120), np.arange(120, 180), np.arange(180, 300))
    certainty, asked = np.random.default_rng(0).random(300), np.zeros(300, np.bool_)
    seen: list[int] = []
    for number in range(3):
        *folds, others = people_of_batch(split, certainty, asked, batches=3, number=number)
        assert len(folds) == FOLDS and {len(fold) for fold in folds} == {6}
        assert all(np.isin(fold, split.labelled).all() for fold in folds)
        left = np.setdiff1d(np.flatnonzero(~asked), split.labelled)
        assert np.array_equal(others, np.sort(left[np.argsort(-certainty[left])[:40]]))
        for people in (*folds, others):
            seen += people.tolist()
            asked[people] = True
    assert sorted(seen) == list(range(300))


M, D, C = 160, 24, 3


FACTS = PublicFacts(400, D, C)


TRUTH = np.random.default_rng(0).integers(0, C, M + 200)


# words of a class are likelier
BITS = np.random.default_rng(1).random((M + 200, D)) < 0.1 + 0.3 * (np.arange(D) % C == TRUTH[:, None])


NUMBERS = np.random.default_rng(2).normal(0.5 + 0.1 * (np.arange(D) % C == TRUTH[:, None]), 0.1).astype(np.float32)


def _said(own: FeatureModelFit, features: np.ndarray) -> np.ndarray:
    """float64 (people, classes): what devices make of the model, in nats."""
    read = whole_features(features, own.levels, FACTS.feature_low, FACTS.feature_high)
    return own.model.scores(read, words=own.levels == 1) / UNIT


def test_a_model_of_words_is_ridge_and_complement_bayes_on_rows_of_length_one() -> None:
    own = fit_feature_model(BITS[:M].astype(np.float32), ObservedLabels(TRUTH[:M], FACTS.classes), FACTS)
    rows = BITS / np.sqrt(np.maximum(BITS.sum(axis=1, keepdims=True), 1))
    fit = ridge(rows, np.arange(M), TRUTH, C, (0.03, 0.1, 0.3, 1.0, 3.0))
    counts = np.stack([rows[:M][TRUTH[:M] == c].sum(axis=0) for c in range(C)], axis=1)
    others = counts.sum(axis=1, keepdims=True) - counts + 1
    bayes = rows @ -np.log(others / others.sum(axis=0))
    said = _said(own, BITS[M:].astype(np.float32))
    # Two exponents explain all classes of everybody, up to a constant of the person.
    parts = np.stack([5 * fit.scores[M:], bayes[M:], np.ones((200, C))], axis=-1)
    centred = parts - parts.mean(axis=1, keepdims=True)
    target = said - said.mean(axis=1, keepdims=True)
    exponents, *_ = np.linalg.lstsq(centred.reshape(-1, 3), target.ravel(), rcond=None)
    assert np.abs(centred @ exponents - target).max() < 0.01 and (exponents[:2] >= -1e-3).all()
    assert np.mean(said.argmax(axis=1) == TRUTH[M:]) > 0.7


def test_a_model_of_numbers_is_ridge_on_columns_of_mean_0_and_deviation_1() -> None:
    """Class 0 has 16 columns, 1 and 2 have 4 each: a wrong middle would speak for a class."""
    columns = np.repeat([0, 1, 2], [16, 4, 4])
    rng = np.random.default_rng(7)
    numbers = np.clip(rng.normal(0.3 + 0.2 * (columns == TRUTH[:, None]), 0.2), 0, 1).astype(np.float32)
    own = fit_feature_model(numbers[:M], ObservedLabels(TRUTH[:M], FACTS.classes), FACTS)
    read = np.rint(255 * numbers.astype(np.float64))
    rows = (read - read[:M].mean(axis=0)) / read[:M].std(axis=0) / D**0.5
    fit = ridge(rows, np.arange(M), TRUTH, C, (0.03, 0.1, 0.3, 1.0, 3.0))
    scores, said = fit.scores[M:], _said(own, numbers[M:])
    scores, said = (each - each.mean(axis=1, keepdims=True) for each in (scores, said))
    exponent = np.vdot(scores, said) / np.vdot(scores, scores)
    assert np.abs(exponent * scores - said).max() < 0.02 and exponent > 1
    assert np.mean(said.argmax(axis=1) == TRUTH[M:]) > 0.7


@pytest.mark.parametrize("features", [BITS.astype(np.float32), NUMBERS], ids=["words", "numbers"])
def test_the_own_label_is_not_in_what_the_model_says_of_a_volunteer(features: np.ndarray) -> None:
    """With labels that say nothing, a model that has seen them guesses many; without the own one it is at chance."""
    labels = np.random.default_rng(3).integers(0, C, 40)
    own = fit_feature_model(features[:40], ObservedLabels(labels, FACTS.classes), FACTS)
    left_out = float(np.mean(own.log_probability.argmax(axis=1) == labels))
    assert left_out < 0.55 and np.exp(own.log_probability).sum(axis=1) == pytest.approx(1)


@pytest.mark.parametrize(("columns", "classes"), [(0, 2), (3, 1), (3, 0)])
def test_a_model_of_nothing_is_refused(columns: int, classes: int) -> None:
    with pytest.raises(ValueError, match="needs columns and two classes or more"):
        model_for_accounts(columns, classes)


@pytest.mark.parametrize(("columns", "classes"), [(1, 2), (5, 3), (2, 4)])
def test_a_change_of_words_changes_the_answer_of_the_model_for_accounts(columns: int, classes: int) -> None:
    rows = np.concatenate([np.zeros((1, columns)), np.ones((1, columns)), np.eye(columns)]).astype(np.int64)
    best = model_for_accounts(columns, classes).scores(rows, words=True).argmax(axis=1)
    assert best[0] == 0 and (best[1:] != 0).all()


# --- volunteers ---------------------------------------------------------------------------

N, CLASSES = 90, 3
PEOPLE: Population = generate(N, 20, CLASSES, seed=1)
SPLIT: Split = make_split("random", PEOPLE, 0, volunteers=0.3)
ASKED = VolunteerQuestions("c", 4.0, 0.8, "both", "both", batches=2)


def public() -> PublicKnowledge:
    return PublicKnowledge(PEOPLE.facts, SPLIT, np.full(N, -1))


def answers(questions: Sequence[Question]) -> dict[int, dict[str, tuple[bytes, ...]]]:
    """Everybody's answers, as a device gives them."""
    found: dict[int, dict[str, tuple[bytes, ...]]] = {}
    for question in questions:
        for device in question.devices.tolist():
            for ask in question.query.asks:
                noise = [Noise([bytes([device]) * 32], stream) for stream in range(len(ask.mechanisms))]
                given = tuple(m.respond([PEOPLE.record(device)], stream, devices=[device])[0]
                              for m, stream in zip(ask.mechanisms, noise, strict=True))  # fmt: skip
                found.setdefault(device, {})[ask.attribute] = given
    return found


def asked(number: int, by: VolunteerQuestions = ASKED) -> tuple[list[Question], Reports, tuple[Question, ...]]:
    """Questions and reports of so many rounds, and the questions of the next round."""
    questions: list[Question] = []
    rounds = by.rounds(public())
    made = next(rounds)
    for _ in range(number):
        questions += [replace(each, part=len(questions) + place) for place, each in enumerate(made)]
        reports = Reports.from_bytes(PEOPLE.facts, questions, answers(questions))
        try:
            made = rounds.send(reports)
        except StopIteration:
            made = ()
    return questions, reports, made


def test_volunteers_are_asked_first_and_everybody_else_once() -> None:
    questions, _, further = asked(3)
    assert further == ()
    first, *votes = questions
    assert np.array_equal(first.devices, SPLIT.labelled) and first.query.in_clear
    others = np.concatenate([vote.devices for vote in votes])
    assert np.array_equal(np.sort(others), np.setdiff1d(np.arange(N), SPLIT.labelled))
    assert all(vote.query.in_clear is False and vote.query.attributes == ("adjacency", "features") for vote in votes)
    planned = ASKED.for_accounts(PEOPLE.facts, SPLIT)
    assert np.array_equal(planned[1].devices, np.sort(others))
    assert planned[1].query.loss("features") == votes[0].query.loss("features") == votes[1].query.loss("adjacency")


def test_the_table_knows_volunteers_and_earlier_answers_alone() -> None:
    _, reports, _ = asked(2)
    known = volunteer_knowledge(reports, public())
    rows = known.table
    assert np.array_equal(rows[SPLIT.labelled], np.eye(CLASSES)[PEOPLE.labels[SPLIT.labelled]])
    told = reports.arrays["votes"] >= 0
    assert rows[told].sum(axis=1) == pytest.approx(1)
    told[SPLIT.labelled] = True
    assert not rows[~told].any()


@pytest.mark.parametrize(("weights", "factor"), [(3.0, 1.0), (40_000.0, 0.8191999)])
def test_a_model_beyond_32_bits_is_weakened_as_a_whole(weights: float, factor: float) -> None:
    """2^31 - 1 units are 32,768 nats: weights of 40,000 are multiplied by .8192, and so is everything else."""
    model = whole_number_model(np.array([[weights, -weights / 4]]), np.array([1.0, -1.0]))
    found = np.concatenate([model.weights.ravel(), model.means]) / UNIT
    assert found == pytest.approx(factor * np.array([weights, -weights / 4, 1.0, -1.0]), rel=1e-6, abs=1e-4)
    assert FeatureModel.read(model.as_text(), 1, 2).weights.tolist() == model.weights.tolist()


@pytest.mark.parametrize("evidence", ["both", "features", "list"])
def test_the_channel_of_a_vote_is_that_of_the_text(evidence: str) -> None:
    by = replace(ASKED, evidence=evidence)
    _, reports, _ = asked(3, by)
    known = volunteer_knowledge(reports, public(), evidence, 0.8)
    assert (known.homophily, known.calibrated) == (0.8, False)
    labels = PEOPLE.labels[SPLIT.labelled]
    shares = (np.bincount(labels, minlength=CLASSES) + 1) / (len(labels) + CLASSES)
    assert known.shares == pytest.approx(shares)
    rows, counts = np.unique(np.eye(CLASSES)[labels], axis=0, return_counts=True)
    said = np.tile(np.log(shares), (len(labels), 1)) if evidence == "list" else known.fit.log_probability
    right = right_share(said, labels, rows, counts, shares, 0.8 if evidence == "list" else 0.0)
    right -= 2 * np.sqrt(right * (1 - right) / len(labels))
    votes = reports.arrays["votes"]
    truth = np.exp(4.0) / (np.exp(4.0) + CLASSES - 1)
    kept = truth - (1 - truth) / (CLASSES - 1)
    given = np.bincount(votes[votes >= 0], minlength=CLASSES)
    overall = np.maximum((given / given.sum() - (1 - kept) / CLASSES) / kept, 0) * given.sum() + 1
    overall = overall / overall.sum()
    by_chance = float(shares @ overall)
    beyond = min(1, max(0, (right - by_chance) / (1 - by_chance)))
    for person in np.flatnonzero(votes >= 0)[:5].tolist():
        odds = []
        for c in range(CLASSES):
            chosen = [beyond * (v == c) + (1 - beyond) * overall[v] for v in range(CLASSES)]
            told = [truth if v == votes[person] else (1 - truth) / (CLASSES - 1) for v in range(CLASSES)]
            odds.append(shares[c] * float(np.dot(chosen, told)))
        assert known.probability[person] == pytest.approx(np.array(odds) / sum(odds), abs=1e-6)
    log_p, exponents = known.posterior(SPLIT.labelled)
    assert np.exp(log_p) == pytest.approx(known.probability) and exponents == {}


def test_a_vote_channel_is_how_often_votes_are_right_beyond_chance() -> None:
    votes, shares = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.2, 0.6])
    chance = float(votes @ shares)
    for right, beyond in ((1.0, 1.0), (0.0, 0.0), (chance, 0.0), ((1 + chance) / 2, 0.5)):
        wanted = beyond * np.eye(CLASSES) + (1 - beyond) * votes
        assert vote_channel(right, votes, shares) == pytest.approx(wanted, abs=1e-9)


def test_people_who_know_their_label_report_it_or_are_the_calibration_group() -> None:
    """And nobody is asked twice."""
    by = replace(ASKED, labels=True)
    questions, _, further = asked(4, by)
    assert further == ()
    in_clear, labels, calibration, first, second = questions
    assert np.array_equal(in_clear.devices, SPLIT.labelled)
    assert labels.query.attributes == ("label",) and labels.query.in_clear is False
    assert labels.devices is not None and calibration.devices is not None
    assert len(calibration.devices) == len(SPLIT.ordinary) // 8
    assert np.array_equal(np.sort(np.concatenate([labels.devices, calibration.devices])), SPLIT.ordinary)
    assert calibration.query.attributes == ("adjacency", "label")
    voters = np.sort(np.concatenate([vote.devices for vote in (first, second)]))
    assert np.array_equal(voters, SPLIT.test)
    assert {question.query.total() for question in questions[1:]} == {4.0}
    vote, about_lists = (question.query.asks[0].mechanisms[0] for question in (first, calibration))
    assert isinstance(vote, NeighbourhoodVote) and isinstance(about_lists, NeighbourhoodVote)
    assert about_lists.calibration and not vote.calibration
    planned = by.for_accounts(PEOPLE.facts, SPLIT)
    people = [in_clear.devices, labels.devices, calibration.devices, voters]
    assert all(np.array_equal(p.devices, of) for p, of in zip(planned, people, strict=True))  # type: ignore[arg-type]
    assert [p.query.total() for p in planned[1:]] == [4.0] * 3 and [p.part for p in planned] == [0, 1, 2, 3]


@pytest.mark.parametrize(("known", "epsilon", "size"), [
    (64, 4.0, 8), (800, 4.0, 100), (8000, 4.0, 108), (8000, 2.0, 173), (8000, 1.0, 469), (2000, 1.0, 250),
])  # fmt: skip
def test_the_calibration_group_is_as_large_as_its_noise_asks_for(known: int, epsilon: float, size: int) -> None:
    """The standard error .5 / (k sqrt m) of its share is .05: k is tanh(epsilon / 2), .96, .76 and .46."""
    facts = PublicFacts(known + 100, 5, CLASSES)
    split = Split(np.arange(10), np.arange(10, 20), np.arange(20, 100), ordinary=np.arange(100, known + 100))
    by = replace(ASKED, labels=True, epsilon=epsilon)
    assert size in (known // 8, int(np.ceil(100 / np.tanh(epsilon / 2) ** 2)))
    group = by.for_accounts(facts, split)[2].devices
    assert group is not None and len(group) == size and np.isin(group, split.ordinary).all()
    halves = [replace(by, evidence=half).for_accounts(facts, split) for half in ("features", "list")]
    assert all(np.array_equal(half[2].devices, group) for half in halves)  # null models ask the same people


@pytest.mark.parametrize("epsilon", [1e-160, 1e-320, 5e-324])
def test_an_epsilon_whose_square_is_no_number_is_refused_in_words(epsilon: float) -> None:
    by = replace(ASKED, labels=True, epsilon=epsilon)
    with pytest.raises(ValueError, match=r"^epsilon \S+ is too small: the report would say nothing$"):
        by.for_accounts(PEOPLE.facts, SPLIT)


def test_the_votes_have_the_homophily_that_the_calibration_group_tells() -> None:
    """Its reports are read without the noise, and the same reports give the same homophily at every batch."""
    by = replace(ASKED, labels=True)
    questions, reports, (vote,) = asked(2, by)
    group = questions[2].devices
    assert group is not None
    people = SPLIT.labelled
    known = volunteer_knowledge(reports, public())
    answers_of_group = reports.arrays["votes"][group]
    assert set(answers_of_group.tolist()) <= {0, 1}
    rows, counts = np.unique(known.table[known.table.any(axis=1)], axis=0, return_counts=True)
    kept = np.expm1(4.0) / (np.expm1(4.0) + 2)
    wanted = posterior_mean(int(answers_of_group.sum()), len(group), kept, expected_shares(rows, counts, known.shares))
    assert known.homophily == pytest.approx(wanted, abs=1e-12) and known.calibrated
    _, later, _ = asked(4, by)
    assert volunteer_knowledge(later, public()).homophily == known.homophily
    made = NeighbourhoodVote.from_probabilities(known.table, 4.0, homophily=known.homophily, shares=known.shares)
    assert vote.query.asks[0].mechanisms[0].table == made.table  # type: ignore[attr-defined]
    assert not np.isin(vote.devices, people).any()
    without = replace(by, labels=False)
    assert volunteer_knowledge(asked(1, without)[1], public()).homophily == ASSUMED  # type: ignore[arg-type]


@pytest.mark.parametrize(("ones", "low", "high"), [(0, -0.9, -0.6), (50, -0.3, 0.1), (60, 0.05, 0.45), (92, 0.7, 0.8)])
def test_more_ones_are_friends_who_are_more_alike(ones: int, low: float, high: float) -> None:
    """One hundred reports without noise, of three classes whose people all are in the table."""
    shares = np.array([0.5, 0.3, 0.2])
    expected = expected_shares(np.eye(3), np.array([50, 30, 20]), shares)
    assert np.all(np.diff(expected) > 0) and expected[3] == pytest.approx(0.5, abs=0.05)
    assert low <= posterior_mean(ones, 100, 1.0, expected) <= high


def test_the_expected_share_is_that_of_people_drawn_by_the_assumptions() -> None:
    """Power: without the people whose friends say nothing, or with one friend each, the two differ by over .03."""
    rng = np.random.default_rng(8)
    shares, homophily, number = np.array([0.5, 0.3, 0.2]), 0.8, 60_000
    table, counts = np.array([[0.6, 0.3, 0.1], [0.3, 0.5, 0.2], [0.2, 0.2, 0.6]]), np.array([300, 400, 300])
    weights = table * counts[:, None] / (table * counts[:, None]).sum(axis=0)
    scores = np.log(CALIBRATION_HOMOPHILY * table / shares + 1 - CALIBRATION_HOMOPHILY)
    own = rng.choice(3, number, p=shares)
    other = (own + rng.integers(1, 3, number)) % 3
    ahead = np.zeros(number)
    related = rng.random(number) >= 0.1
    size = rng.geometric(1 / 3, number)
    for friend in range(30):
        same = (rng.random(number) < homophily) & related
        kind = np.where(same, own, rng.choice(3, number, p=shares))
        row = (rng.random(number)[:, None] > np.cumsum(weights, axis=0).T[kind]).sum(axis=1)
        ahead += (friend < size) * (scores[row, own] - scores[row, other])
    seen = np.mean(ahead > 1e-12) + np.mean(np.abs(ahead) <= 1e-12) / 2
    assert expected_shares(table, counts, shares, (homophily,))[0] == pytest.approx(seen, abs=0.02)


def test_votes_are_right_as_often_as_features_where_lists_say_nothing() -> None:
    shares = np.array([0.5, 0.3, 0.2])
    own = np.log(np.array([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]))
    given = (own, np.array([0, 0]), np.eye(3), np.array([5, 3, 2]), shares)
    assert right_share(*given, 0.0) == pytest.approx(0.5, abs=0.06)  # 2,000 draws of two people, one of them right
    assert right_share(*given, 0.8) > 0.7


def test_class_shares_are_those_of_the_largest_likelihood() -> None:
    """Without noise, and with so much that the reports say nothing, by hand; between them by the gradient."""
    counts = np.array([3.0, 2.0, 1.0])
    told = np.repeat([0, 1, 2], [10, 20, 70])
    exact = class_shares(counts, ClassReports(np.arange(100), told, share=1.0))
    assert exact == pytest.approx((counts + np.array([10, 20, 70])) / 106, abs=1e-6)
    nothing = class_shares(counts, ClassReports(np.arange(100), told, share=0.0))
    assert nothing == pytest.approx(counts / 6, abs=1e-6)
    noisy = class_shares(counts, ClassReports(np.arange(100), told, share=0.5))
    response = 0.5 * np.eye(3) + 0.5 / 3
    seen = np.array([10, 20, 70])
    gradient = counts / noisy + response @ (seen / (noisy @ response))  # of the log-likelihood in the shares
    assert gradient == pytest.approx(np.full(3, 106.0), abs=0.01)


def test_a_label_under_noise_has_the_law_of_the_response_and_stands_in_the_table_of_votes() -> None:
    by = replace(ASKED, labels=True)
    questions, reports, _ = asked(1, by)
    known = volunteer_knowledge(reports, public())
    labels, told = PEOPLE.labels[SPLIT.labelled], questions[1].devices
    shares = known.shares
    truth = np.exp(4.0) / (np.exp(4.0) + CLASSES - 1)
    for person in told.tolist():
        law = np.where(np.arange(CLASSES) == reports.labels[person], truth, (1 - truth) / (CLASSES - 1))
        assert known.table[person] == pytest.approx(shares * law / np.sum(shares * law), abs=1e-6)
    assert np.array_equal(known.table[SPLIT.labelled], np.eye(CLASSES)[labels])  # nobody doubts a volunteer's
    assert not known.table[np.setdiff1d(np.arange(N), np.concatenate([told, SPLIT.labelled]))].any()
    assert np.array_equal(np.flatnonzero(observed_labels(reports, public()).labels >= 0), SPLIT.labelled)


def test_shares_of_votes_are_without_the_noise() -> None:
    votes = ClassReports(np.arange(1000), np.repeat([0, 1, 2], [700, 200, 100]), share=0.6)
    expected = np.array([(0.7 - 0.4 / 3) / 0.6, (0.2 - 0.4 / 3) / 0.6, 0.0]) * 1000 + 1
    assert votes.shares(3) == pytest.approx(expected / expected.sum())


def test_next_voters_are_dealt_to_batches_without_a_look_at_them() -> None:
    volunteers, done = np.array([2, 5]), np.zeros(20, np.bool_)
    seen = []
    while len(people := next_voters(20, volunteers, done, batches=4)):
        seen.append(people)
        done[people] = True
    assert [len(people) for people in seen] == [5, 5, 4, 4]
    assert sorted(np.concatenate(seen)) == sorted(set(range(20)) - {2, 5})
    dealt = folds_of(18, 4, seed=0)
    assert np.array_equal(seen[0], np.setdiff1d(np.arange(20), volunteers)[dealt == 0])


def test_nobody_who_volunteered_answered() -> None:
    _, reports, _ = asked(1)
    silent = Reports(reports.facts, reports.asks, reports.recipients, np.zeros(N, np.bool_),
                     {"features": csr_array((N, 20)), "labels": np.full(N, -1)})  # fmt: skip
    with pytest.raises(ValueError, match="no volunteer has given a label"):
        volunteer_knowledge(silent, public())
