"""The collector's key: who holds it can spend an answer, and nobody else."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devices import collector
from devices.collector import CollectorKey, is_signed_by, query_of, read_public
from devices.device import Device, Refusal, Report
from devices.enrolment.state import enrol
from devices.policy.policy import policy_for
from devices.query import Query
from devices.raw_record import hand_over


@pytest.fixture
def key(tmp_path: Path) -> CollectorKey:
    collector.generate(tmp_path / "key")
    return CollectorKey.load(tmp_path / "key")


@pytest.fixture
def other(tmp_path: Path) -> CollectorKey:
    collector.generate(tmp_path / "other")
    return CollectorKey.load(tmp_path / "other")


def test_a_pair_of_files(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        public = collector.generate(tmp_path / "key")
    finally:
        os.umask(before)
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    key = CollectorKey.load(tmp_path / "key")
    assert key.public == public == read_public(tmp_path / "key.pub") and len(public) == 64
    assert key.seed.hex() not in repr(key)
    with pytest.raises(ValueError, match="exists already"):
        collector.generate(tmp_path / "key")
    (tmp_path / "key").unlink()
    with pytest.raises(ValueError, match=r"key\.pub exists already"):
        collector.generate(tmp_path / "key")


def test_a_key_file_that_is_no_good_is_one_line(tmp_path: Path) -> None:
    collector.generate(tmp_path / "key")
    data = (tmp_path / "key").read_bytes()
    cases = {"cut": data[:60], "empty": b"", "public": (tmp_path / "key.pub").read_bytes(), "noise": os.urandom(300)}
    for name, content in cases.items():
        (tmp_path / name).write_bytes(content)
        (tmp_path / name).chmod(0o600)
        with pytest.raises(ValueError, match=rf"--collector-key .*{name}: no secret key") as caught:
            CollectorKey.load(tmp_path / name)
        assert "\n" not in str(caught.value)
    with pytest.raises(ValueError, match="No such file"):
        CollectorKey.load(tmp_path / "none")
    for mode in (0o640, 0o604, 0o620):
        (tmp_path / "key").chmod(mode)
        with pytest.raises(ValueError, match="other users can read it"):
            CollectorKey.load(tmp_path / "key")
    with pytest.raises(ValueError, match="holds a secret key"):
        read_public(tmp_path / "key")
    with pytest.raises(ValueError, match="no public key"):
        read_public(tmp_path / "noise")
    with pytest.raises(ValueError, match="No such file"):
        read_public(tmp_path / "none")


def test_openssl_reads_the_files(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    public = collector.generate(tmp_path / "key")
    command = ["openssl", "pkey", "-in", str(tmp_path / "key"), "-pubout", "-outform", "DER"]
    assert subprocess.run(command, capture_output=True, check=True).stdout[-32:].hex() == public


def test_a_signature_covers_every_byte_of_the_query(key: CollectorKey, ask_for: Callable[..., Query]) -> None:
    query = ask_for().to_bytes()
    signed = key.sign(query)
    assert is_signed_by(key.public, signed) and query_of(signed) == query == query_of(query)
    assert not is_signed_by(key.public, query) and not is_signed_by(key.public, signed[:60])
    for place in range(len(signed)):
        changed = bytearray(signed)
        changed[place] ^= 1
        assert not is_signed_by(key.public, bytes(changed)), place
    assert not is_signed_by(key.public, signed + b" ")
    # The label: a signature over the bare bytes, made for another purpose, is none.
    assert not is_signed_by(key.public, signed[:5] + key._key.sign(query) + query)


def test_a_signed_question_is_none_of_another_collection_or_stage(
    key: CollectorKey, ask_for: Callable[..., Query]
) -> None:
    query = ask_for("first")
    staged = Query("first", query.plan * 2)
    signatures = key.sign(query.to_bytes())[:69], key.sign(staged.to_bytes())[:69]
    others = (replace(query, collection="second"), staged.at_stage(1), staged.at_stage(1, (0,) * 12), staged)
    for changed in others[:3]:
        for head in signatures:
            assert not is_signed_by(key.public, head + changed.to_bytes())
    assert is_signed_by(key.public, signatures[1] + others[3].to_bytes())


def test_only_the_right_collector_spends_the_answer(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], key: CollectorKey, other: CollectorKey
) -> None:
    """Issue 17, break 5: a hostile first question used to take a person's only answer."""
    devices = enrolled(collector=key.public)
    honest = ask_for("honest")
    hostile = ask_for("hostile", eps=0.01).to_bytes()
    for question in (hostile, other.sign(hostile), key.sign(hostile)[:69] + honest.to_bytes(), b"", b"malformed"):
        assert devices.ask(question) is Refusal.COLLECTOR_REFUSED
    assert devices.rows() == []
    assert devices.ask(key.sign(b"malformed")) is Refusal.UNKNOWN_QUERY
    first = devices.ask(key.sign(honest.to_bytes()))
    assert isinstance(first, Report) and not first.replayed
    assert devices.ask(key.sign(honest.to_bytes())) == Report(first.data, replayed=True)
    assert devices.ask(honest) is Refusal.COLLECTOR_REFUSED  # the stored bytes are the collector's too
    assert devices.ask(key.sign(ask_for("again").to_bytes())) is Refusal.REPORT_COLLECTED


def test_nothing_is_computed_for_a_stranger(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], key: CollectorKey, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = enrolled(collector=key.public)
    devices.ask(b"")  # what is opened once is open now

    def never(*_: object, **__: object) -> None:
        raise AssertionError("something was computed")

    question = ask_for().to_bytes()
    monkeypatch.setattr(Device, "_decide", never)
    monkeypatch.setattr("devices.query._parse_small", never)
    monkeypatch.setattr("devices.query._parse_large", never)
    assert devices.ask(question) is Refusal.COLLECTOR_REFUSED


def test_the_bytes_of_a_report_do_not_depend_on_pin_or_signature(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], key: CollectorKey
) -> None:
    query = ask_for().to_bytes()
    plain = enrolled("plain").ask(query)
    assert isinstance(plain, Report)
    assert enrolled("unpinned").ask(key.sign(query)) == plain
    assert enrolled("pinned", collector=key.public).ask(key.sign(query)) == plain


def test_a_damaged_ledger_comes_first(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], key: CollectorKey
) -> None:
    devices = enrolled(collector=key.public)
    devices.state.close()
    (devices.folder / "ledger.sqlite").write_bytes(b"rotten" * 1000)
    for question in (ask_for().to_bytes(), key.sign(ask_for().to_bytes())):
        assert devices.ask(question) is Refusal.LEDGER_DAMAGED


def test_a_record_is_handed_over_to_its_owner_alone(tmp_path: Path, population: Any, key: CollectorKey) -> None:
    asked = hand_over("any")
    policy = policy_for([asked], population.facts, mode="owner", collector=key.public)
    device = enrol(tmp_path / "owner", population, policy, seed=7).device(3)
    assert device.hand_over(asked.to_bytes()) is Refusal.COLLECTOR_REFUSED
    assert isinstance(device.hand_over(key.sign(asked.to_bytes())), Report)


def test_stages_are_signed_one_by_one(
    enrolled: Callable[..., Any], ask_for: Callable[..., Query], key: CollectorKey
) -> None:
    devices = enrolled(collector=key.public)
    staged = Query("first", ask_for(attributes="a").plan * 2)
    first, second = (key.sign(staged.at_stage(stage).to_bytes()) for stage in (0, 1))
    assert isinstance(devices.ask(first), Report)
    assert devices.ask(first[:69] + query_of(second)) is Refusal.COLLECTOR_REFUSED
    assert isinstance(devices.ask(second), Report)
