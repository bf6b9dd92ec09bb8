"""Content of the consent sheet: it says what the policy and the question say, the same in both languages."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from cli.consent.roles import roles_of, times_of_100
from cli.consent.sheet import Part, Section, Sheet, sheet_of
from cli.consent.texts import LANGUAGES, said
from devices.policy.policy import Policy
from strategies.flower_app.deployed import PublicFile, agreed_policy, questions_of
from tests.cli.consent.agreed import FACTS, Agreed, agreed, all_agreed

CASES = all_agreed()
OPEN = {language: (said(language, "odds.open"), said(language, "odds.public")) for language in LANGUAGES}


def all_texts(sheet: Sheet) -> list[str]:
    found = [sheet.title, sheet.lead, *sheet.columns]
    for part in sheet.parts:
        found += [part.heading, part.lead]
        for section in part.sections:
            found += [section.heading, section.note, *section.points]
            for row in section.odds:
                found += [row.about, row.guess, row.warning, str(row.times)]
    return found


def figures(sheet: Sheet) -> list[list[str]]:
    """The figures of each text, as English writes them."""
    back = str.maketrans(",.", ".,") if sheet.language == "de" else {}
    return [re.findall(r"\d[\d.,e-]*(?<![.,-])", text.translate(back)) for text in all_texts(sheet)]


def odds(part: Part) -> Section:
    return next(section for section in part.sections if section.odds)


def points(part: Part, heading: str) -> str:
    return " ".join(next(section.points for section in part.sections if section.heading == heading))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CASES)
def test_what_is_unprotected_is_said_and_never_called_protected(name: str, language: str) -> None:
    policy, asked = CASES[name]
    for questions in (asked, None):
        sheet = sheet_of(policy, questions, language=language)
        for part, role in zip(sheet.parts, roles_of(policy, questions), strict=True):
            rows = {row.about: row for row in odds(part).odds}
            for level, held in role.holds.items():
                if held.status == "not asked":
                    continue
                row = rows.pop(said(language, "label.level" if level == "label" else level))
                assert row.times == times_of_100(held)
                assert row.protected == (held.status == "bounded")
                assert (row.warning in OPEN[language]) == (held.status == "unprotected")
                if held.status == "unprotected":
                    assert row.times == 100
                elif row.times == 100:
                    assert row.warning == said(language, "odds.weak")
            assert rows == {}


@pytest.mark.parametrize("name", CASES)
def test_both_languages_have_the_same_figures(name: str) -> None:
    policy, questions = CASES[name]
    made = [figures(sheet_of(policy, questions, language=language)) for language in LANGUAGES]
    assert made[0] == made[1] and sum(map(len, made[0])) > 10


def test_large_numbers_are_written_in_each_language() -> None:
    policy, _ = agreed()
    large = replace(policy, facts=replace(policy.facts, n=1_234_567))
    english, german = (sheet_of(large, language=language) for language in LANGUAGES)
    assert english.parts[1].heading == "Everybody else (1,234,564 of 1,234,567 people)"
    assert german.parts[1].heading == "Alle anderen (1.234.564 von 1.234.567 Personen)"
    assert figures(english) == figures(german)


def told(made: Agreed, **given: object) -> dict[str, str]:
    """Everything that each role is told, on one line."""
    return {part.heading.partition(" (")[0]: " ".join(all_texts(replace(sheet, parts=(part,))))
            for sheet in [sheet_of(*made, **given)] for part in sheet.parts}  # type: ignore[arg-type]  # fmt: skip


def test_a_volunteer_gives_label_and_features_in_clear() -> None:
    policy, questions = agreed()
    volunteer = sheet_of(policy, questions).parts[0]
    assert volunteer.heading == "Volunteers (3 of 20 people)" and volunteer.lead.endswith(": 0, 1, 2")
    assert points(volunteer, "What is asked").startswith("Your device is asked once. The question is about: all your")
    assert "Not asked: your list of neighbours." in points(volunteer, "What is asked")
    clear = points(volunteer, "What is in clear")
    assert "without any change: all your features, your label. Nothing protects it." in clear
    assert "Others may have you in their lists." in clear
    assert "all your features together infinite" in " ".join(odds(volunteer).points)


@pytest.mark.parametrize(("epsilon", "own", "both_ends"), [(1.0, 74, 89), (2.0, 89, 99), (4.0, 99, 100)])
def test_everybody_else_answers_with_these_odds(epsilon: float, own: int, both_ends: int) -> None:
    """e / (1 + e) = 0.7311, e^2 / (1 + e^2) = 0.8808, e^4 / (1 + e^4) = 0.98201, e^8 / (1 + e^8) = 0.99966."""
    part = sheet_of(*agreed(epsilon=epsilon)).parts[1]
    rows = {row.about: row.times for row in odds(part).odds}
    assert rows["one entry of your list"] == rows["all your features together"] == own
    assert rows["all that your device answers"] == own
    assert rows["one connection, by all answers about it"] == both_ends
    assert "None of your values leaves your device as it is." in points(part, "What is in clear")
    assert "Not asked: your label." in points(part, "What is asked")
    assert "Chance changes the answer" in points(part, "What is asked")


def test_people_who_are_asked_different_questions_are_told_so() -> None:
    """Beside volunteers, people who know their label answer it in place of a vote."""
    public = PublicFile(FACTS, np.full(FACTS.n, -1), np.arange(3), np.arange(5, 9))
    config = {"method": "vote", "epsilon": 2.0}
    part = sheet_of(agreed_policy(config, public), questions_of(config, public)).parts[1]
    asked = points(part, "What is asked")
    assert "is about: your list of neighbours, all your features; or: your label." in asked
    rows = {row.about: row for row in odds(part).odds}
    assert rows["your label alone"].protected and rows["your label alone"].times < 100
    assert "Not asked" not in asked
    # a person who gets two questions is told both
    (part,) = sheet_of(*agreed("vote", labels="private")).parts
    asked = points(part, "What is asked")
    assert "is about: your list of neighbours, your label; or: your list of neighbours." in asked
    assert "in 2 steps" in asked


def test_public_labels_are_named() -> None:
    (part,) = sheet_of(*agreed("hogs", labels="public")).parts
    assert part.heading == "Everybody (20 people)"
    assert "The labels of some people are public" in points(part, "What is in clear")
    (row,) = (row for row in odds(part).odds if row.about == "your label alone")
    assert row.times == 100 and row.warning == "NOT PROTECTED where it is public"
    (private,) = sheet_of(*agreed("sbp", labels="private")).parts
    assert "public" not in points(private, "What is in clear")


def test_who_gets_the_answer_and_what_a_second_question_gets() -> None:
    policy, questions = agreed()
    for text in told((policy, questions)).values():
        assert "Any collector who asks first: no key is pinned" in text
        assert "If the same collection repeats its question" in text
    pinned = replace(policy, collector="0a" * 32, on_requery="replay")
    for text in told((pinned, questions)).values():
        assert f"Only the collector with this public key: {'0a' * 32}" in text and "Any collector" not in text
        assert "Whoever repeats the question gets the same answer" in text and "the same collection" not in text


def test_a_question_beyond_a_cap_is_said_and_what_the_rules_allow_beside_it() -> None:
    assert "it goes beyond a cap" in told(agreed(caps={"vector": 1.0}))["Everybody else"]
    policy, questions = agreed(epsilon=1.0)
    free = told((replace(policy, user_cap=math.inf), questions))["Everybody else"]
    assert "more often: all that your device answers 89." in free and "beyond a cap" not in free
    assert "more often" not in told((replace(policy, user_cap=1.0), questions))["Everybody else"]
    assert "in 2 steps" in told(agreed("fp-ldpgen", labels="public"))["Everybody"]


def test_a_reader_is_told_the_own_role_alone() -> None:
    policy, _ = agreed()
    roles = {people: [part.heading.split()[0] for part in sheet_of(policy, people=people).parts]
             for people in ((2,), (7,), (1, 9))}  # fmt: skip
    assert roles == {(2,): ["Volunteers"], (7,): ["Everybody"], (1, 9): ["Volunteers", "Everybody"]}
    many, _ = agreed(people=12)
    assert sheet_of(many).parts[0].lead == "Their public numbers: 0, 1, 2, 3, 4, 5, 6, 7, ..."


def test_a_policy_without_a_question_is_about_all_that_it_lets_through(owner: Policy) -> None:
    policy, _ = agreed("hogs", labels="public")
    sheet = sheet_of(policy)
    assert "every question that they let through" in sheet.lead
    assert "answers at most once about each of these" in points(sheet.parts[0], "What is asked")
    (part,) = sheet_of(owner).parts
    assert all(row.warning == "NOT PROTECTED" for row in odds(part).odds)
    texts = " ".join(all_texts(sheet_of(owner)))
    assert "Chance changes" not in texts and "The odds above" not in texts


@pytest.fixture
def owner() -> Policy:
    policy, _ = agreed("hogs", labels="public")
    return replace(policy, mode="owner")
