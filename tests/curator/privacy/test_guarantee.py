"""Levels of a guarantee: their losses by enumeration, their text and their names."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pytest

from ldpsim.curator.attacks.method_audit import World
from ldpsim.curator.features.linear_feature_model import model_for_accounts
from ldpsim.curator.methods import Budget, HoGS, Question
from ldpsim.curator.methods.local.lpgnn import GAUSSIAN_DELTA, LPGNN
from ldpsim.curator.privacy.guarantee import Claim, Guarantee, local_guarantee, open_guarantee
from ldpsim.curator.privacy.level import Level, OfOne
from ldpsim.curator.privacy.levels import LEVELS, level_spec
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.devices.mechanisms import (
    GRR,
    AnalyticGaussian,
    ClearFeatures,
    ClearLabel,
    NeighbourhoodVote,
    OneBit,
    RandomizedResponse,
    gaussian,
)
from ldpsim.devices.noise import Noise
from ldpsim.devices.query import Ask, Query

NO_CLAIM = Claim("nothing", None)


def _split(n: int) -> Split:
    train, val, test = np.array_split(np.arange(n), 3)
    return Split(train, val, test)


def _hogs(n: int, d: int, collections: int = 1, classes: int = 7, **budget: object) -> Guarantee:
    facts, spent = PublicFacts(n, d, classes), Budget(**budget)  # type: ignore[arg-type]
    questions = HoGS().questions(facts, _split(n), spent, "c")
    return HoGS().guarantee(facts, questions, spent, collections=collections)


def _values(guarantee: Guarantee) -> dict[str, float | None]:
    return {name: level.value for name, level in guarantee.holds.items()}


def test_public_features_are_unprotected_up_to_the_user() -> None:
    guarantee = _hogs(50, 20, epsilon=4, public_features=True)
    status = {name: level.status for name, level in guarantee.holds.items()}
    assert all(status[name] == "unprotected" for name in ("bit_feature", "vector", "label", "user", "node"))
    assert guarantee.holds["bit_adjacency"].value == pytest.approx(4)  # the whole epsilon goes to the adjacency
    assert guarantee.holds["relationship"].value == pytest.approx(8)
    assert (guarantee.holds["user"].public, guarantee.holds["user"].counted) == (("features",), ("adjacency",))
    assert guarantee.holds["user"].private_value == pytest.approx(196)
    assert any("public" in reason for reason in guarantee.why_they_differ)


def test_collections_multiply_every_level() -> None:
    once, thrice = _hogs(50, 20, epsilon=4), _hogs(50, 20, collections=3, epsilon=4)
    for name, value in _values(once).items():
        assert value is None or thrice.holds[name].value == pytest.approx(3 * value)
    assert any("3 times" in reason for reason in thrice.why_they_differ)
    with pytest.raises(ValueError, match="at least one collection"):
        _hogs(50, 20, collections=0)


def test_the_loss_of_one_collection_stands_beside_that_of_all_also_of_a_private_part() -> None:
    """49 bits of 4 in one collection, three times; features are public, so a person's level is that of the list."""
    once, thrice = (_hogs(50, 20, collections=times, epsilon=4, public_features=True) for times in (1, 3))
    held = thrice.beside(once).holds
    assert held["user"].private_value == pytest.approx(3 * 49 * 4.0) and held["user"].value is None
    assert held["user"].of_one == OfOne(pytest.approx(49 * 4.0), 0.0, 3)
    assert held["bit_adjacency"].of_one == OfOne(pytest.approx(4.0), 0.0, 3)
    assert held["vector"].of_one is None is held["label"].of_one


def _question(adjacency: RandomizedResponse, devices: list[int] | None = None) -> Question:
    query = Query("c", ((Ask("adjacency", (adjacency,)),),))
    return Question(query, None if devices is None else np.array(devices))


def test_only_what_was_asked_counts() -> None:
    facts, response = PublicFacts(10, 4, 2), RandomizedResponse.from_epsilon(1, n=10)
    alone = local_guarantee(facts, [_question(response, [3])], claim=NO_CLAIM)
    assert alone.holds["relationship"].value == pytest.approx(1)  # only one end was asked
    assert alone.holds["user"].value == pytest.approx(9)
    assert alone.holds["node"].value == pytest.approx(9)
    twice = local_guarantee(facts, [_question(response, [3, 4]), _question(response, [4])], claim=NO_CLAIM)
    assert twice.holds["bit_adjacency"].value == pytest.approx(2)  # device 4 was asked twice
    assert twice.holds["relationship"].value == pytest.approx(3)
    assert twice.holds["node"].value == pytest.approx(2 * 9 + 1)
    disjoint = local_guarantee(facts, [_question(response, [0, 1]), _question(response, [2, 3])], claim=NO_CLAIM)
    assert disjoint.holds["bit_adjacency"].value == pytest.approx(1)  # nobody was asked twice
    nothing = local_guarantee(facts, [], claim=NO_CLAIM)
    assert {level.status for name, level in nothing.holds.items() if name != "label"} == {"not asked"}
    assert nothing.holds["label"].status == "unprotected"  # public


def test_deltas_add_over_mechanisms_questions_and_collections() -> None:
    """Two Gaussian mechanisms, asked of three people once and of one of them again, three times over."""
    facts = PublicFacts(10, 4, 2)
    one, two = (AnalyticGaussian.from_epsilon(1.0, d=4, delta=delta) for delta in (1e-6, 1e-5))
    assert (one.loss().delta, two.loss().delta) == (1e-6, 1e-5)
    questions = [_question(RandomizedResponse.from_epsilon(1, n=10)),
                 Question(Query("c", ((Ask("features", (one, two)),),)), np.array([1, 2, 3])),
                 Question(Query("c", ((Ask("features", (one,)),),)), np.array([2]))]  # fmt: skip
    for collections in (1, 3):
        holds = local_guarantee(facts, questions, claim=NO_CLAIM, collections=collections).holds
        for level in ("bit_feature", "vector", "user", "node"):
            assert holds[level].delta == pytest.approx(collections * (2 * 1e-6 + 1e-5), rel=1e-12), level
        assert holds["bit_adjacency"].delta == holds["relationship"].delta == 0


def _worst(mechanism: RandomizedResponse | OneBit, size: int, changed: list[int]) -> float:
    """Return the largest log ratio over all reports and all pairs of inputs that differ only in ``changed``."""
    worst = 0.0
    inputs = [np.array(bits, np.bool_) for bits in product((0, 1), repeat=size)]
    fixed = np.setdiff1d(np.arange(size), changed)
    for report in inputs:
        for one, other in product(inputs, repeat=2):
            if np.array_equal(one[fixed], other[fixed]):
                worst = max(worst, mechanism.log_probability(report, one) - mechanism.log_probability(report, other))
    return worst


@pytest.mark.parametrize("reporting", ["both", "one-end"])
def test_levels_by_enumeration(reporting: str) -> None:
    """Every report of every device of a population of 4 people with 2 features."""
    n, d = 4, 2
    guarantee = _hogs(n, d, eps_adjacency=1.3, eps_features=0.4, reporting=reporting, classes=3)
    response = RandomizedResponse.from_epsilon(1.3, n=n, reporting=reporting)  # type: ignore[arg-type]
    one_bit = OneBit.from_epsilon(0.4, d=d)

    def loss(device: int, about: list[int]) -> float:
        places = np.array(
            [j - (j > device) for j in about if j < device or (j > device and reporting == "both")], np.int64
        )
        return _worst(response, response.targets(device), places.tolist()) if len(places) else 0.0

    people = range(n)
    features = _worst(one_bit, d, list(range(d)))
    pairs = [loss(i, [j]) + loss(j, [i]) for i in people for j in people if i != j]
    own = [loss(i, list(people)) + features for i in people]
    node = [own[i] + sum(loss(j, [i]) for j in people if j != i) for i in people]
    expected = {"relationship": max(pairs), "vector": features, "user": max(own), "node": max(node)}
    for name, value in expected.items():
        assert guarantee.holds[name].value == pytest.approx(value, abs=1e-6), name
        assert (guarantee.holds[name].value or 0) >= value - 1e-9  # never below


def test_the_deltas_of_all_reports_that_a_change_touches_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edge is in two reports, a node in everybody's; counting one delta would claim too little."""
    pure = RandomizedResponse.loss
    monkeypatch.setattr(RandomizedResponse, "loss", lambda self, device=None: replace(pure(self), delta=1e-6))
    for reporting, edge, node in (("both", 2, 10), ("one-end", 1, 10)):
        held = _hogs(10, 4, collections=3, epsilon=4, reporting=reporting).holds
        assert held["bit_adjacency"].delta == pytest.approx(3e-6)
        assert held["relationship"].delta == pytest.approx(3e-6 * edge)
        assert held["user"].delta == pytest.approx(3e-6) and held["node"].delta == pytest.approx(3e-6 * node)
        assert held["vector"].delta == held["bit_feature"].delta == 0
        alone = [_question(RandomizedResponse.from_epsilon(1.0, n=10, reporting=reporting), [7])]  # type: ignore[arg-type]
        for times in (1, 2):  # one end of its pairs alone reports them
            one = local_guarantee(PublicFacts(10, 4, 2), alone * times, claim=NO_CLAIM).holds["relationship"]
            assert (one.value, one.delta) == (pytest.approx(times * 1.0), pytest.approx(times * 1e-6))
        public = _hogs(10, 4, collections=3, epsilon=4, reporting=reporting, public_features=True).holds
        assert (public["user"].delta, public["user"].private_delta) == (0.0, pytest.approx(3e-6))
        assert (public["node"].delta, public["node"].private_delta) == (0.0, pytest.approx(3e-6 * node))


def test_a_sum_is_exact_where_one_pair_of_inputs_attains_all_of_it() -> None:
    """Two lists flip as one does. Of two reports of features, or of a label, that is not known: their sum bounds."""
    responses = [RandomizedResponse.from_epsilon(loss, n=6) for loss in (1.0, 0.25)]
    bits = [OneBit.from_epsilon(loss, d=4) for loss in (0.5, 0.25)]
    labels = [GRR.from_epsilon(loss, categories=3) for loss in (1.0, 2.0)]

    def kinds(*asks: Ask) -> dict[str, tuple[str | None, float | None]]:
        held = local_guarantee(PublicFacts(6, 4, 3), [Question(Query("c", (asks,)))], claim=NO_CLAIM).holds
        return {name: (held[name].kind, held[name].value) for name in ("bit_adjacency", "vector", "label", "user")}

    one = kinds(Ask("adjacency", tuple(responses)), Ask("features", (bits[0],)), Ask("label", (labels[0],)))
    assert one == {"bit_adjacency": ("exact", 1.25), "vector": ("exact", pytest.approx(2.0)),
                   "label": ("exact", 1.0), "user": ("exact", pytest.approx(6.25 + 2.0 + 1.0))}  # fmt: skip
    of_features = kinds(Ask("adjacency", (responses[0],)), Ask("features", tuple(bits)), Ask("label", (labels[0],)))
    assert of_features == {"bit_adjacency": ("exact", 1.0), "vector": ("bound", pytest.approx(3.0)),
                           "label": ("exact", 1.0), "user": ("bound", pytest.approx(5 + 3.0 + 1.0))}  # fmt: skip
    of_labels = kinds(Ask("adjacency", (responses[0],)), Ask("features", (bits[0],)), Ask("label", tuple(labels)))
    assert of_labels == {"bit_adjacency": ("exact", 1.0), "vector": ("exact", pytest.approx(2.0)),
                         "label": ("bound", 3.0), "user": ("bound", pytest.approx(5 + 2.0 + 3.0))}  # fmt: skip


def test_two_gaussian_reports_lose_less_than_the_sums_that_are_printed() -> None:
    """With a delta the sums are an upper bound: the exact composition lies below them."""
    facts, method = PublicFacts(10, 4, 2), LPGNN(mechanism="gaussian")
    asked = method.questions(facts, _split(10), Budget(eps_features=2.0, eps_labels=1.0), "c")
    held = local_guarantee(facts, asked, claim=NO_CLAIM, collections=2).holds["vector"]
    sigma = gaussian.calibrate(2.0, GAUSSIAN_DELTA, shift=1.0)
    exact = gaussian.epsilon_of(2 * GAUSSIAN_DELTA, shift=math.sqrt(2), sigma=sigma)
    assert held.value == pytest.approx(4.0, abs=1e-8) and held.delta == pytest.approx(2 * GAUSSIAN_DELTA)
    assert 2.0 < exact < 3.2


def _own_features(reporting: str, volunteers: bool = True) -> Guarantee:
    model = model_for_accounts(4, 3)
    vote = NeighbourhoodVote.from_probabilities(np.eye(3)[np.arange(6) % 3], 2.0, model=model, homophily=0.8,
                                              reporting=reporting)  # type: ignore[arg-type]  # fmt: skip
    label = Ask("label", (GRR.from_epsilon(1.0, categories=3),))
    plain, labelled = (Query("c", ((Ask("adjacency", (vote,)), *more),)) for more in ((), (label,)))
    questions = [Question(plain, np.arange(3)), Question(labelled, np.arange(3, 6))]
    if volunteers:  # two more people, in clear
        in_clear = (Ask("features", (ClearFeatures(4),)), Ask("label", (ClearLabel(3),)))
        questions.append(Question(Query("c", (in_clear,)), np.arange(2)))
    return local_guarantee(PublicFacts(6, 4, 3), questions, claim=NO_CLAIM, volunteers=volunteers)


@pytest.mark.parametrize("reporting", ["both", "one-end"])
def test_an_answer_about_list_and_features_counts_once(reporting: str) -> None:
    """It is at each level about either; a person's record counts it once. Device 0 of one end has features, too."""
    values = _values(_own_features(reporting))
    assert {values[name] for name in ("bit_adjacency", "bit_feature", "vector")} == {2.0}
    assert values["relationship"] == (4.0 if reporting == "both" else 2.0)
    assert values["label"] == 1.0 and values["user"] == 3.0
    assert values["node"] == (3.0 + 5 * 2.0 if reporting == "both" else 2.0 + 5 * 2.0)


def test_what_volunteers_give_in_clear_is_said_and_not_counted() -> None:
    said, unsaid = _own_features("both"), _own_features("both", volunteers=False)
    assert _values(said) == _values(unsaid)
    for level in ("bit_feature", "vector", "user", "node"):
        assert "volunteers" in said.holds[level].not_counted
        assert "volunteers" not in unsaid.holds[level].not_counted
    assert any("nothing protects theirs" in reason for reason in said.why_they_differ)
    assert not any("nothing protects theirs" in reason for reason in unsaid.why_they_differ)


def test_the_label_of_volunteers_is_theirs_and_nobody_else_is_asked_for_one() -> None:
    """Where everybody else votes alone, no label of theirs is public: it is not asked. Without volunteers it is."""
    vote = NeighbourhoodVote.from_probabilities(np.eye(3)[np.arange(6) % 3], 2.0, homophily=0.8)
    in_clear = (Ask("features", (ClearFeatures(4),)), Ask("label", (ClearLabel(3),)))
    questions = [
        Question(Query("c", (in_clear,)), np.arange(2)),
        Question(Query("c", ((Ask("adjacency", (vote,)),),)), np.arange(2, 6), part=1),
    ]
    held = local_guarantee(PublicFacts(6, 4, 3), questions, claim=NO_CLAIM, volunteers=True).holds
    assert (held["label"].status, held["label"].value, held["label"].public) == ("not asked", None, ())
    assert held["user"].value == 2.0 and held["user"].not_counted == ("volunteers",)
    public = local_guarantee(PublicFacts(6, 4, 3), questions[1:], claim=NO_CLAIM).holds
    assert (public["label"].status, public["label"].public) == ("unprotected", ("label",))
    assert public["user"].value == 2.0 and public["user"].not_counted == ("label",)


def test_the_own_loss_of_a_node_in_few_lists_is_that_of_all_its_reports() -> None:
    """A vote of 2, a label of 1 and four features of .5: own 5, and 4 for each list that changes its answer.

    Of six people, five others answer about a node: 5 + 5 * 2 in all, and more than 5 + 4 for D of 1.
    """
    vote = NeighbourhoodVote.from_probabilities(np.eye(3)[np.arange(6) % 3], 2.0, homophily=0.8)
    asks = (Ask("adjacency", (vote,)), Ask("features", (OneBit.from_epsilon(0.5, d=4),)),
            Ask("label", (GRR.from_epsilon(1.0, categories=3),)))  # fmt: skip
    question = [Question(Query("c", (asks,)))]
    for collections in (1, 3):
        node = local_guarantee(PublicFacts(6, 4, 3), question, claim=NO_CLAIM, collections=collections).holds["node"]
        assert (node.own, node.per_list) == (pytest.approx(5.0 * collections), pytest.approx(4.0 * collections))
        assert node.value == pytest.approx((5 + 5 * 2.0) * collections)
    votes = [Question(Query("c", (asks[:1],)))]
    public = local_guarantee(PublicFacts(6, 4, 3), votes, claim=NO_CLAIM, public_features=True).holds["node"]
    assert (public.own, public.per_list) == (2.0, 4.0)  # what is public is none of its reports
    bits = [Question(Query("c", ((Ask("adjacency", (RandomizedResponse.from_epsilon(1.0, n=6),)),),)))]
    assert local_guarantee(PublicFacts(6, 4, 3), bits, claim=NO_CLAIM).holds["node"].own is None


@pytest.mark.parametrize("used", [(), ("label",), ("adjacency", "features", "label")])
def test_a_method_without_noise_opens_what_it_reads_and_nothing_else(used: tuple[str, ...]) -> None:
    held = open_guarantee(used, trust="none", statement="nothing").holds
    levels = {"adjacency": ("bit_adjacency", "relationship"), "features": ("bit_feature", "vector"),
              "label": ("label",)}  # fmt: skip
    open_ = {name for attribute in used for name in levels[attribute]}
    open_ |= {"user", "node", "central_node"} if used else set()
    assert {name for name, level in held.items() if level.status == "unprotected"} == open_
    assert {name for name, level in held.items() if level.status == "not asked"} == set(LEVELS) - open_


def test_an_unknown_level_is_one_clear_line() -> None:
    holds = {**dict.fromkeys(LEVELS, Level("not asked")), "neighbourhood": Level("not asked")}
    world = World(PublicFacts(4, 2, 2), (), Noise)
    for look in (
        lambda: level_spec("neighbourhood"),
        lambda: Guarantee("none", Claim("nothing", None), holds),
        lambda: list(world.changes("neighbourhood")),
    ):
        with pytest.raises(ValueError, match="^neighbourhood: there is no such level of guarantee .known: bit_adj"):
            look()


def test_a_level_that_reports_do_not_show_is_not_audited_as_another() -> None:
    with pytest.raises(ValueError, match="central_node: reports of people do not show"):
        list(World(PublicFacts(4, 2, 2), (), Noise).changes("central_node"))


def test_the_text_and_the_json_of_a_level_have_all_its_figures() -> None:
    of_one = OfOne(0.5, 1e-6, 4)
    given = {"counted": ("adjacency",), "public": ("features",), "reason": "a {a}", "figures": {"a": 7.75}}
    level = Level("unprotected", None, private_value=1.25, private_delta=1e-7, own=2.5, per_list=3.5, of_one=of_one,
                  **given)  # fmt: skip
    figures = {float(figure) for figure in re.findall(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?(?!\w)", level.detail)}
    assert figures == {1.25, 1e-7, 2.5, 3.5, 7.75}
    made = level.to_dict()
    assert made["of_one"] == asdict(of_one) and made["detail"] == level.detail and made["figures"] == {"a": 7.75}
    assert made["counted"] == ["adjacency"] and made["public"] == ["features"] and made["not_counted"] == []
    for name in ("value", "status", "delta", "kind", "private_value", "private_delta", "own", "per_list", "relation"):
        assert made[name] == getattr(level, name)
