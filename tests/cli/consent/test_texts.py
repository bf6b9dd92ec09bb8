"""Texts of the consent sheet: each is there in every language, with the same figures and lists."""

from __future__ import annotations

import re
from string import Formatter

import pytest

from cli.consent import sheet as sheet_module
from cli.consent.texts import LANGUAGES, TEXTS, checked_language, figure, said
from curator.privacy.levels import LEVELS


def test_there_are_two_languages() -> None:
    assert LANGUAGES == ("en", "de")
    for language in LANGUAGES:
        assert checked_language(language) == language
    with pytest.raises(ValueError, match="--language must be one of en, de, not 'fr'"):
        checked_language("fr")


@pytest.mark.parametrize("key", TEXTS)
def test_a_text_has_every_language_and_the_same_parts(key: str) -> None:
    texts = TEXTS[key]
    assert all((text.strip() == text or key == "asked.or") and text for text in texts)
    parts = [sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None) for text in texts]
    figures = [sorted(re.findall(r"\d+", text)) for text in texts]
    assert parts[0] == parts[1] and figures[0] == figures[1]
    # a term that no translation needs is the only reason for two equal texts
    assert texts.en != texts.de
    assert not re.search(r"[äöüÄÖÜß]", texts.en)


def test_every_level_that_a_device_can_lose_at_has_its_texts() -> None:
    for name, spec in LEVELS.items():
        if spec.unit != "owned":
            assert f"{name}.guess" in TEXTS and ("label.level" if name == "label" else name) in TEXTS


def test_no_text_is_left_over() -> None:
    """Each key is written in the module that says it, or made there of a name."""
    assert sheet_module.__file__ is not None
    with open(sheet_module.__file__, encoding="utf-8") as file:
        code = file.read()
    made = {*LEVELS, *(f"{name}.guess" for name in LEVELS), "adjacency", "features", "label",
            *(f"role.{name}" for name in ("volunteer", "other", "everybody")), "second.refuse", "second.replay",
            *(f"odds.column.{name}" for name in ("what", "guess", "times"))}  # fmt: skip
    assert [key for key in TEXTS if f'"{key}"' not in code and key not in made] == []


def test_figures_are_written_as_the_language_does() -> None:
    assert figure("de", "10.8 (delta 1.00e-06)") == "10,8 (delta 1,00e-06)"
    assert figure("de", "2,708.5") == "2.708,5" and figure("en", "2,708.5") == "2,708.5"
    assert said("en", "role.other", people="17", n="20") == "Everybody else (17 of 20 people)"
    assert said("de", "role.other", people="17", n="20") == "Alle anderen (17 von 20 Personen)"
