"""Callables and domains as a person writes them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ldpsim.strategies.attacks.audit.audit import callable_named, domain_of, takes_rng


@pytest.mark.parametrize(("text", "values"), [
    ("-1:2", [-1, 0, 1, 2]), ("yes, no", ["yes", "no"]), ("1,2,5", [1, 2, 5]), ("0.5,1", [0.5, 1.0]),
    ('["a", [1, 2]]', ["a", [1, 2]]), ("bits:2", [(0, 0), (0, 1), (1, 0), (1, 1)]), ("floats:0,1,3", [0.0, 0.5, 1.0]),
])  # fmt: skip
def test_forms_of_a_domain(text: str, values: list[object]) -> None:
    assert domain_of(text) == values


@pytest.mark.parametrize(("text", "said"), [
    ("3:3", "1 value;"), ("5:3", "0 values;"), ("a", "1 value;"), ("a,a", "twice"), ("floats:0,1", "the form is"),
    ("bits:99", "1 to 16"), ("a:b:c", "the forms are"), ("[1", "delimiter"), ("nowhere_at_all:values", "no module"),
])  # fmt: skip
def test_domains_that_are_none(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        domain_of(text)


def test_modules_of_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("given_here.py").write_text(
        "NOTHING = 1\ndef f(value): ...\ndef g(value, rng): ...\ndef values(): yield from 'ab'\n"
    )
    Path("given_broken.py").write_text("1 / 0\n")
    assert not takes_rng(callable_named("given_here:f")) and takes_rng(callable_named("given_here:g"))
    assert domain_of("given_here:values") == ["a", "b"]
    for text, said in (("given_here:h", "has no h"), ("given_here:NOTHING", "not callable"), ("a b", "the form is"),
                       ("given_broken:f", "importing given_broken raised ZeroDivisionError")):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            callable_named(text)
