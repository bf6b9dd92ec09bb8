"""Public sets of features: which questions get them, and colluders who cannot choose."""

from __future__ import annotations

import numpy as np

from curator.defences.public_sampling import sampled_publicly, with_public_sets
from curator.reports.question import Question
from devices.facts import PublicFacts
from devices.mechanisms import GRRFS, Mechanism, MultiBit, OneBit
from devices.query import Ask, Query
from tests.curator.defences.lies import features_of, public


def _asked(mechanism: Mechanism, collection: str = "c") -> Mechanism:
    question = Question(Query(collection, ((Ask("features", (mechanism,)),),)))
    (found,) = with_public_sets((question,), collection)
    return found.query.asks[0].mechanisms[0]


def test_only_multi_bit_that_samples_gets_a_public_set() -> None:
    sampled = MultiBit.from_epsilon(1.0, d=9, m=2)
    asked = _asked(sampled)
    assert isinstance(asked, MultiBit) and asked.set_seed >= 0 and asked.loss() == sampled.loss()
    for same in (MultiBit.from_epsilon(1.0, d=9, m=9), OneBit.from_epsilon(1.0, d=9),
                 GRRFS.from_epsilon(1.0, facts=PublicFacts(5, 9, 2), m=2)):  # fmt: skip
        assert _asked(same) == same


def test_each_collection_has_sets_of_its_own() -> None:
    sampled = MultiBit.from_epsilon(1.0, d=9, m=2)
    assert _asked(sampled, "one") == _asked(sampled, "one") != _asked(sampled, "two")


def test_a_hundred_colluders_hit_a_feature_as_often_as_honest_people() -> None:
    """Whatever bytes they send, their reports are about the features of their numbers: within 5 sd of chance."""
    n, d = 2000, 40
    asked = _asked(MultiBit.from_epsilon(1.0, d=d, m=1))
    assert isinstance(asked, MultiBit)
    reports = asked.stack(dict.fromkeys(range(n), b"\x80"), n)
    found = np.asarray(reports[:100].toarray(), np.int64).sum(axis=0)
    assert found.sum() == 100 and found.max() < 2.5 + 5 * (100 / d) ** 0.5
    kept, notes = sampled_publicly(features_of(asked, reports, n, d), public(n), 1e-6)
    assert kept.features is reports and notes == {"set_seed": asked.set_seed}


def test_it_says_when_there_was_nothing_to_do() -> None:
    plain = MultiBit.from_epsilon(1.0, d=4, m=2)
    assert "chose" in sampled_publicly(features_of(plain, np.zeros((3, 4)), 3, 4), public(3), 0.1)[1]["not_used"]
    other = OneBit.from_epsilon(1.0, d=4)
    assert "multi-bit" in sampled_publicly(features_of(other, np.zeros((3, 1)), 3, 4), public(3), 0.1)[1]["not_used"]
