"""Text of consent: it says what the policy and the question say, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from cli.consent import consent_text
from cli.words import best_guess
from curator.methods import Question
from devices.facts import PublicFacts
from devices.policy.policy import Policy
from strategies.flower_app.deployed import PublicFile, agreed_policy, questions_of

FACTS = PublicFacts(20, 6, 3)


def made(epsilon: float = 2.0, people: int = 3, **policy: Any) -> tuple[Policy, tuple[Question, ...]]:
    public = PublicFile(FACTS, np.full(FACTS.n, -1), np.arange(people))
    config = {"method": "vote", "epsilon": epsilon, "settings": "batches=2"}
    return agreed_policy(config, public, **policy), questions_of(config, public)


def roles(text: str) -> tuple[str, str]:
    """The text of each role on one line."""
    volunteer, everybody = text.split("\n\n")
    return " ".join(volunteer.split()), " ".join(everybody.split())


def test_a_volunteer_gives_label_and_features_in_clear() -> None:
    volunteer, _ = roles(consent_text(*made()))
    assert volunteer.startswith("A volunteer (3 of 20 people, by public number: 0, 1, 2)")
    for said in ("asked once, for the label and all features.",
                 "in clear, to any collector who asks first, because none is pinned",
                 "Nothing protects it, and nobody can take it back",
                 "not asked for the list of neighbours", "A second question gets a refusal"):  # fmt: skip
        assert said in volunteer


def test_a_pinned_collector_is_said() -> None:
    policy, questions = made()
    volunteer, _ = roles(consent_text(replace(policy, collector="0a" * 32), questions))
    assert "in clear, to the pinned collector alone." in volunteer and "any collector" not in volunteer


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_everybody_else_gives_one_answer_with_these_odds(epsilon: float) -> None:
    text = consent_text(*made(epsilon))
    _, everybody = roles(text)
    assert "asked once, for all features and the list of neighbours together." in everybody
    assert "not asked for the label, and gives nothing in clear" in everybody
    rows = {line.strip().split("  ")[0]: line.rpartition("best guess ")[2] for line in text.splitlines()
            if line.startswith("    ") and line.endswith(" %")}  # fmt: skip
    own, both_ends = best_guess(epsilon), best_guess(2 * epsilon)
    for words in ("a bit: one entry of a list", "a bit: one feature", "all features"):
        assert rows[words] == own
    assert rows["a person: all that a person reports"] == own
    assert rows["a relationship: an edge, at both ends"] == both_ends


def test_the_policy_says_what_a_second_question_gets() -> None:
    for text in roles(consent_text(*made(on_requery="replay"))):
        assert "The same question again gets the same bytes, and any other one a refusal." in text


@pytest.mark.parametrize("caps", [{"vector": 1.0}, {"user": 1.5}])
def test_a_policy_that_refuses_the_question_is_said(caps: dict[str, float]) -> None:
    assert "it goes beyond a cap of the policy" in roles(consent_text(*made(caps=caps)))[1]
    assert "cap" not in consent_text(*made(caps={"vector": 2.5, "user": 2.5}))


def test_many_volunteers_and_none() -> None:
    assert "(12 of 20 people, by public number: 0, 1, 2, 3, 4, 5, 6, 7, ...)" in consent_text(*made(people=12))
    policy, questions = made()
    with pytest.raises(ValueError, match="the facts name no volunteers"):
        consent_text(replace(policy, volunteers=None), questions)
    assert max(map(len, consent_text(policy, questions).splitlines())) <= 80
