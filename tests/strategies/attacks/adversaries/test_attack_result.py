"""Results of attacks: distinct answers, stages counted once, losses added."""

from __future__ import annotations

from flwr.app import ConfigRecord, Error, Message, RecordDict

from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import BUILT_IN, GRR, OneBit, RandomizedResponse
from ldpsim.devices.query import Ask, Query
from ldpsim.strategies.attacks.adversaries.curator import AttackResult, Curator, Release, Target
from ldpsim.strategies.attacks.adversaries.questions import every_mechanism, rebudgeted, two_stages
from tests.strategies.attacks.adversaries.conftest import loss_of

N, D, C = 12, 10, 3
BITS, TRUTH = OneBit.from_epsilon(1.0, d=D), GRR.from_epsilon(1.0, categories=C)
QUERY = Query("c", ((Ask("features", (BITS,)), Ask("label", (TRUTH,))),))


def test_a_staged_query_is_one_answer() -> None:
    staged = two_stages(Query("c", ((Ask("adjacency", (RandomizedResponse.from_epsilon(1.0, n=N),)),),)), N)
    outcome = AttackResult()
    first, second = (tuple((j + s) % 3 for j in range(N)) for s in (0, 1))
    outcome.releases |= {Release(0, staged, "adjacency", (b"1",)),
                         Release(0, staged.at_stage(1, first), "adjacency", (b"2",))}  # fmt: skip
    assert outcome.distinct_releases == 1 and loss_of(outcome, 0, "adjacency") == staged.loss("adjacency").vector
    outcome.releases.add(Release(0, staged.at_stage(1, second), "adjacency", (b"2",)))  # to another question
    assert outcome.distinct_releases == 2
    assert two_stages(staged, N) == staged
    pooled = AttackResult()
    pooled.merge(outcome)
    pooled.merge(outcome)
    assert pooled.distinct_releases == 2


def test_budgets_are_changed_whatever_the_mechanism() -> None:
    facts = PublicFacts(N, D, C)
    found = [(name, m) for name in ("adjacency", "features", "label") for m in every_mechanism(name, facts)]
    assert {m.name for _, m in found} == set(BUILT_IN)
    for attribute, mechanism in found:
        query = Query("c", ((Ask(attribute, (mechanism,)),),))
        smaller, larger = (rebudgeted(query, factor, facts) for factor in (0.5, 2.0))
        if mechanism.name.startswith("clear"):
            assert smaller == larger == query
        else:
            assert smaller.loss(attribute).vector < query.loss(attribute).vector < larger.loss(attribute).vector
        assert rebudgeted(query, 1, facts) is query


def test_what_is_no_report_is_noted() -> None:
    target = Target(QUERY, None, 1, lambda: None)  # type: ignore[arg-type,return-value]
    curator = Curator(target)
    asked = Message(RecordDict(), 1, "query.report")
    report = RecordDict({"report": ConfigRecord({"report": b"label 2", "device": 0, "replayed": False})})
    for content in (report, RecordDict({"leak": ConfigRecord({"x": 1})})):
        curator.hear(Message(content, reply_to=asked), 0, None)
    curator.hear(Message(report, reply_to=asked), 0, QUERY)
    assert curator.result.unasked == 3
    curator.hear(Message(Error(0, "ValueError: label 2"), reply_to=asked), 0, QUERY)
    assert curator.result.texts == {"ValueError: label 2"} and curator.result.answers["other"] == 2
