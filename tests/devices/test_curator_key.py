"""The curator's key: who holds it can spend an answer, and nobody else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ldpsim.devices import curator_key
from ldpsim.devices.curator_key import CuratorKey, SignedModel, SignedTerms, query_of, read_public, split_question
from ldpsim.devices.device import Refusal
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import GRR
from ldpsim.devices.policy.policy import Policy, policy_for
from ldpsim.devices.query import _parse
from ldpsim.devices.raw_record import hand_over
from ldpsim.devices.report import Report
from tests.devices.conftest import DOORS, N, ask_for
from tests.signing import signed, terms_for


@pytest.fixture
def key(tmp_path: Path) -> CuratorKey:
    curator_key.generate(tmp_path / "key")
    return CuratorKey.load(tmp_path / "key")


@pytest.fixture
def other(tmp_path: Path) -> CuratorKey:
    curator_key.generate(tmp_path / "other")
    return CuratorKey.load(tmp_path / "other")


def test_a_pair_of_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public = curator_key.generate(tmp_path / "key")
    finally:
        os.umask(before)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    key = CuratorKey.load(tmp_path / "key")
    assert key.public == public == read_public(tmp_path / "key.pub") and len(public) == 64
    assert key.seed.hex() not in repr(key)
    with pytest.raises(ValueError, match="exists already"):
        curator_key.generate(tmp_path / "key")
    (tmp_path / "key").unlink()
    with pytest.raises(ValueError, match=r"key\.pub exists already"):
        curator_key.generate(tmp_path / "key")


def test_a_key_file_that_is_no_good_is_one_line(tmp_path: Path) -> None:
    curator_key.generate(tmp_path / "key")
    data = (tmp_path / "key").read_bytes()
    cases = {"cut": data[:60], "empty": b"", "public": (tmp_path / "key.pub").read_bytes(), "noise": os.urandom(300)}
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600)
        with pytest.raises(ValueError, match=rf"--curator-key .*{name}: no secret key") as caught:
            CuratorKey.load(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="No such file"):
        CuratorKey.load(tmp_path / "none")
    for mode in (0o640, 0o604, 0o620):
        (tmp_path / "key").chmod(mode)
        with pytest.raises(ValueError, match="other users can read it"):
            CuratorKey.load(tmp_path / "key")
    with pytest.raises(ValueError, match="holds a secret key"):
        read_public(tmp_path / "key")
    with pytest.raises(ValueError, match="no public key"):
        read_public(tmp_path / "noise")
    with pytest.raises(ValueError, match="No such file"):
        read_public(tmp_path / "none")


def test_a_signature_covers_every_byte_of_the_terms(key: CuratorKey) -> None:
    query = ask_for().to_bytes()
    terms = terms_for(key, ask_for(), N)
    question = terms.ask(query)
    assert terms.is_signed_by(key.public) and split_question(question) == (terms, query)
    assert query_of(question) == query == query_of(query)
    assert split_question(query) is None and split_question(question[:60]) is None
    for place in range(len(question) - len(query)):
        changed = bytearray(question)
        changed[place] ^= 1
        found = split_question(bytes(changed))
        assert found is None or not found[0].is_signed_by(key.public), place
    # The label: a signature over the bare bytes, made for another purpose, is none.
    assert not SignedTerms(key._key.sign(terms.terms), terms.terms).is_signed_by(key.public)


def test_terms_travel_as_text(key: CuratorKey) -> None:
    terms = terms_for(key, ask_for(), N)
    text = terms.to_text()
    assert SignedTerms.from_text(text) == terms and json.loads(text)["terms"] == json.loads(terms.terms)
    assert key.seed.hex() not in text
    for wrong in ("", "{}", text[:-1], text + "}", text.replace("signature", "signatur"), text[:20] + "zz" + text[22:],
                  "[" * 10**6):  # fmt: skip
        with pytest.raises(ValueError, match="not signed terms"):
            SignedTerms.from_text(wrong)


def test_a_signature_covers_every_byte_of_a_model(key: CuratorKey, other: CuratorKey) -> None:
    model = b'{"a":\n 1}'
    signed = key.sign_model(model)
    data = signed.to_bytes()
    assert SignedModel.split(data) == signed and len(data) == len(model) + curator_key.SIGNED_MODEL_BYTES
    assert signed.is_signed_by(key.public) and not signed.is_signed_by(other.public)
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        assert not SignedModel.split(bytes(changed)).is_signed_by(key.public), place
    for unsigned in (b"", model, model + b"\n", data[:-1], b"\n" + data, data.replace(b"1 ", b"1  ", 1)):
        assert SignedModel.split(unsigned) == (b"", unsigned)
    for read in (SignedModel(b"", model), SignedModel.split(data + b"\n")):
        assert not read.is_signed_by(key.public)
    # A signature under terms is none under a model, and the other way round.
    assert not SignedModel(key.sign(model).signature, model).is_signed_by(key.public)
    assert not SignedTerms(signed.signature, model).is_signed_by(key.public)


@pytest.mark.parametrize("door", DOORS)
def test_only_the_right_curator_spends_the_answer(
    enrolled: Callable[..., Any], key: CuratorKey, other: CuratorKey
) -> None:
    """A hostile first question used to take a person's only answer."""
    devices = enrolled(collector=key.public)
    honest, hostile = ask_for("honest"), ask_for("hostile", eps=0.01)
    terms = terms_for(key, honest, N)
    strangers = (
        hostile.to_bytes(), signed(other, hostile, N), signed(other, honest, N), terms.ask(hostile.to_bytes()), b"",
        b"malformed",
    )  # fmt: skip
    for question in strangers:
        assert devices.ask(question) is Refusal.COLLECTOR_REFUSED
    assert devices.rows() == []
    assert devices.ask(terms.ask(b"malformed")) is Refusal.UNKNOWN_QUERY
    first = devices.ask(terms.ask(honest.to_bytes()))
    assert isinstance(first, Report) and not first.replayed
    assert devices.ask(terms.ask(honest.to_bytes())) == Report(first.data, replayed=True)
    assert devices.ask(honest) is Refusal.COLLECTOR_REFUSED  # the stored bytes are the collector's too
    assert devices.ask(signed(key, ask_for("again"), N)) is Refusal.REPORT_COLLECTED


def test_a_mechanism_that_fails_on_its_loss_is_no_question_outside_the_terms(
    enrolled: Callable[..., Any], key: CuratorKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one that the device cannot judge: the terms name the very question."""
    devices, asked = enrolled(collector=key.public), signed(key, ask_for(), N)
    _parse.cache_clear()  # a question keeps its losses

    def fail(*_: object, **__: object) -> float:
        raise ValueError("no table for so many categories")

    with monkeypatch.context() as patch:
        patch.setattr(GRR, "loss_of", fail)
        assert devices.ask(asked) is Refusal.UNKNOWN_QUERY
    assert devices.rows() == []
    assert isinstance(devices.ask(asked), Report)


def test_nothing_is_computed_for_a_stranger(
    enrolled: Callable[..., Any], key: CuratorKey, other: CuratorKey,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    devices = enrolled(collector=key.public)
    devices.ask(b"")  # what is opened once is open now
    questions = (ask_for().to_bytes(), signed(other, ask_for(), N))

    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was computed")

    monkeypatch.setattr(Policy, "allows", never)
    monkeypatch.setattr("ldpsim.devices.query._parse", never)
    monkeypatch.setattr("ldpsim.devices.device.people_asked", never)
    for question in questions:
        assert devices.ask(question) is Refusal.COLLECTOR_REFUSED


def test_a_record_is_handed_over_to_its_owner_alone(tmp_path: Path, population: Any, key: CuratorKey) -> None:
    asked = hand_over("any")
    policy = policy_for([asked], population.facts, mode="owner", collector=key.public)
    device = enrol(tmp_path / "owner", population, policy, seed=7).device(3)
    assert device.answer(asked.to_bytes()) is Refusal.COLLECTOR_REFUSED
    assert isinstance(device.answer(signed(key, asked, len(population))), Report)
