"""Losses of several questions, and all transcripts of five people who vote.

A transcript is what everybody answered, in order. Each question may depend on all answers
before it: Pr[transcript] is the product of Pr[answer | question, own list], so every level
can be enumerated over all 1,024 graphs of five people.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import combinations, product

import numpy as np
import pytest

from ldpsim.curator.privacy.guarantee import Claim, Level, local_guarantee
from ldpsim.curator.reports.question import Question
from ldpsim.devices.data.records import Record
from ldpsim.devices.facts import PublicFacts
from ldpsim.devices.mechanisms import NeighbourhoodVote, RandomizedResponse
from ldpsim.devices.mechanisms.mechanism import one_value
from ldpsim.devices.query import Ask, Query

N, EPS = 5, 1.3
PAIRS = list(combinations(range(N), 2))
GRAPHS = np.array(list(product((0, 1), repeat=len(PAIRS))))
LISTS = np.array([[[g[PAIRS.index((min(i, j), max(i, j)))] if i != j else 0 for j in range(N)] for i in range(N)]
                  for g in GRAPHS])  # fmt: skip
Rule = Callable[[int, tuple[int, ...]], int]  # person and past answers -> the person who is asked about


def vote(about: int, reporting: str = "both") -> NeighbourhoodVote:
    """Hostile: nobody but one person is known, so the answer says whether that person is in the list."""
    q = np.zeros((N, 2))
    q[about, 1] = 1
    return NeighbourhoodVote.from_probabilities(q, EPS, homophily=0.9, candidates=2, reporting=reporting)  # type: ignore[arg-type]


@cache
def chances(reporting: str) -> np.ndarray:
    """float (about, device, list, answer): ln Pr, by the mechanism's own code; lists are numbered by their bits."""
    found = np.zeros((N, N, 1 << N, 2))
    nothing = np.zeros(0, np.float32)
    for about, device, code in product(range(N), range(N), range(1 << N)):
        asked = vote(about, reporting)
        near = np.array([j for j in range(N) if code >> j & 1], np.int32)
        value = one_value(asked, Record(near[:0], nothing, near, 0), device)
        found[about, device, code] = [asked.log_probability(answer, value) for answer in (0, 1)]
    return found


def steps(rule: Rule, times: int) -> Iterator[list[tuple[int, int, int]]]:
    """Every transcript: (person, whom the question is about, answer) in order."""
    for answers in product((0, 1), repeat=N * times):
        yield [(k % N, rule(k % N, answers[:k]), answer) for k, answer in enumerate(answers)]


def losses(rule: Rule, *, times: int = 1, reporting: str = "both") -> dict[str, float]:
    """The largest log ratio of any transcript, by what changes."""
    law, codes = chances(reporting), LISTS @ (1 << np.arange(N))
    distance = np.abs(GRAPHS[:, None] - GRAPHS[None])
    edge = distance.sum(axis=2) == 1
    of_zero = np.array([0 in pair for pair in PAIRS])
    node = (distance[:, :, ~of_zero].sum(axis=2)) == 0
    degree = GRAPHS[:, of_zero].sum(axis=1)
    masks = {"relationship": edge, "node": node}
    for d in range(1, N):
        masks[f"delete {d}"] = node & (degree[:, None] == 0) & (degree[None] == d)
        masks[f"at most {d}"] = node & (degree[:, None] <= d) & (degree[None] <= d)
    pairs = {name: np.nonzero(mask) for name, mask in masks.items()}
    worst = dict.fromkeys(("bit", "user", *masks), 0.0)
    one_bit = np.array([[(a ^ b).bit_count() == 1 for b in range(1 << N)] for a in range(1 << N)])
    for transcript in steps(rule, times):
        whole = np.zeros(len(GRAPHS))
        for person in range(N):
            own = sum((law[about, i, :, answer] for i, about, answer in transcript if i == person), np.zeros(1 << N))
            whole += own[codes[:, person]]
            gaps = np.abs(own[:, None] - own[None])
            worst["user"] = max(worst["user"], gaps.max())
            worst["bit"] = max(worst["bit"], gaps[one_bit].max())
        for name, (one, other) in pairs.items():
            worst[name] = max(worst[name], float(np.abs(whole[one] - whole[other]).max()))
    return worst


def about_zero(person: int, past: tuple[int, ...]) -> int:
    return 0 if person else 1


def adaptive(person: int, past: tuple[int, ...]) -> int:
    about = (3 * sum(past) + len(past) + (past[-1] if past else 0)) % N
    return about if about != person else (about + 1) % N


def held(reporting: str = "both", collections: int = 1) -> dict[str, Level]:
    questions = [
        Question(Query("c", ((Ask("adjacency", (vote(about_zero(i, ()), reporting),)),),)), np.array([i]))
        for i in range(N)
    ]
    facts = PublicFacts(N, 1, 2)
    return dict(local_guarantee(facts, questions, claim=Claim("", None), collections=collections).holds)


def test_every_transcript_of_five_people_who_answer_once() -> None:
    """All bounds are attained by a hostile table; a question that hangs on the past gets no further."""
    found = losses(about_zero)
    levels = held()
    assert found["bit"] == pytest.approx(EPS) and found["user"] == pytest.approx(EPS)
    assert found["relationship"] == pytest.approx(2 * EPS)
    assert found["node"] == pytest.approx(N * EPS)
    for d in range(1, N):
        assert found[f"delete {d}"] == pytest.approx((1 + d) * EPS)
        assert found[f"at most {d}"] == pytest.approx(min(1 + 2 * d, N) * EPS)
    for level, name in (("bit_adjacency", "bit"), ("user", "user"), ("relationship", "relationship"), ("node", "node")):
        assert found[name] - 1e-9 <= (levels[level].value or 0) == pytest.approx(found[name], abs=1e-8), level
    assert (levels["node"].own, levels["node"].per_list) == (pytest.approx(EPS), pytest.approx(2 * EPS))
    past = losses(adaptive)
    assert all(past[name] <= found[name] + 1e-9 for name in found) and past["relationship"] > EPS


def test_one_end_halves_an_edge() -> None:
    found, levels = losses(about_zero, reporting="one-end"), held("one-end")
    assert found["relationship"] == pytest.approx(EPS) == levels["relationship"].value
    assert found["user"] == pytest.approx(EPS) == levels["user"].value
    assert levels["node"].own == pytest.approx(EPS)  # one answer, however many entries it is about
    # person 0 reports about nobody: its own list is empty, and four others name it
    assert found["node"] == pytest.approx(4 * EPS, abs=1e-8) == levels["node"].value


def test_batches_of_different_people_do_not_add_up() -> None:
    """Two questions of one collection, each person in one of them, cost what one question does."""
    facts, both = PublicFacts(N, 1, 2), [vote(0), vote(1)]
    asked = [Question(Query("c", ((Ask("adjacency", (m,)),),)), np.array(who))
             for m, who in zip(both, ([0, 1, 2], [3, 4]), strict=True)]  # fmt: skip
    levels = local_guarantee(facts, asked, claim=Claim("", None)).holds
    assert [levels[name].value for name in ("bit_adjacency", "user", "relationship", "node")] == [
        pytest.approx(k * EPS) for k in (1, 1, 2, N)
    ]  # fmt: skip
    again = local_guarantee(facts, [*asked, Question(asked[0].query, np.array([3]))], claim=Claim("", None)).holds
    assert [again[name].value for name in ("bit_adjacency", "user", "relationship", "node")] == [
        pytest.approx(k * EPS) for k in (2, 2, 3, N + 1)
    ]  # fmt: skip


def test_a_pair_where_one_question_reads_one_end_and_another_both() -> None:
    facts = PublicFacts(N, 1, 2)
    ends = [RandomizedResponse.from_epsilon(e, n=N, reporting=r) for e, r in ((1.0, "both"), (0.25, "one-end"))]  # type: ignore[arg-type]
    asked = [Question(Query("c", ((Ask("adjacency", (m,)),),)), np.array(who))
             for m, who in zip(ends, ([0, 4], [2, 3]), strict=True)]  # fmt: skip
    assert local_guarantee(facts, asked, claim=Claim("", None)).holds["relationship"].value == pytest.approx(2)
    last = [asked[0], Question(asked[1].query, np.array([4]))]
    assert local_guarantee(facts, last, claim=Claim("", None)).holds["relationship"].value == pytest.approx(2.25)
    first = [asked[0], Question(asked[1].query, np.array([0]))]  # person 0 has nobody before it
    assert local_guarantee(facts, first, claim=Claim("", None)).holds["relationship"].value == pytest.approx(2)
