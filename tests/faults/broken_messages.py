"""Broken variants of signatures, refusals, seals and of the collector."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import ldpsim.devices.atomic_files
import ldpsim.devices.device
import ldpsim.devices.ledger.chain
import ldpsim.strategies.rounds.collect_once
from ldpsim.devices.collector import SignedTerms
from ldpsim.devices.device import Device, Refusal
from ldpsim.devices.policy.terms import collection_of
from ldpsim.devices.query import Query
from ldpsim.strategies.rounds.collect_once import Stages
from tests.faults.broken_ledger import after_answering
from tests.faults.questions import KEYS
from tests.faults.variants import put, variant

# --- the collector, refusals, and a rotten file -------------------------------------------------


@variant("the terms are compared by the collection's id alone")
def _any_question() -> Any:
    def everybody(terms: bytes, query: Query, people: int) -> Any:
        return np.full(people, collection_of(terms) == query.collection)

    return put(ldpsim.devices.device, "people_asked", everybody)


@variant("a signature is verified under any key")
def _any_key() -> Any:
    real = SignedTerms.is_signed_by
    return put(SignedTerms, "is_signed_by", lambda signed, collector: any(real(signed, key.public) for key in KEYS))


@variant("an unsigned question passes")
def _unsigned_passes() -> Any:
    real = ldpsim.devices.device._read

    def read(policy: Any, question: Any, *more: Any) -> Any:
        unsigned = isinstance(question, bytes) and question[:1] == b"{"
        return real(replace(policy, collector=None) if unsigned else policy, question, *more)

    return put(ldpsim.devices.device, "_read", read)


@variant("a refusal does not look at the ledger")
def _blind_refusal() -> Any:
    real = ldpsim.devices.device._decide

    def decide(policy: Any, asked: Any, device: int, chain: Any) -> Any:
        return asked if isinstance(asked, Refusal) else real(policy, asked, device, chain)

    return [put(Device, "refuse", lambda device, refusal: refusal), put(ldpsim.devices.device, "_decide", decide)]


@variant("a refusal depends on the data")
def _refusal_of_data() -> Any:
    def change(state: Any, device: int, query: Query, found: Any) -> Any:
        collected = found is Refusal.REPORT_COLLECTED and state.population.record(device).label == 2
        return Refusal.UNKNOWN_QUERY if collected else found

    return after_answering(change)


@variant("the chain of seals is not checked")
def _no_seals() -> Any:
    return put(ldpsim.devices.ledger.chain, "sound", lambda answers, keys: [True] * len(answers))


@variant("seals are compared in their first byte")
def _short_seals() -> Any:
    compare = hmac.compare_digest
    return put(ldpsim.devices.ledger.chain.hmac, "compare_digest", lambda a, b: compare(a[:1], b[:1]))


# --- the collector ------------------------------------------------------------------------------


@variant("a grouping is made again by a curator that goes on")
def _grouping_made_again() -> Any:
    def advance(stages: Stages, questions: Any, answers: Any, stage: int) -> Any:
        for path in stages.kept.glob("grouping-*"):
            path.unlink()
        return real(stages, questions, answers, stage)

    real = Stages.advance
    return put(Stages, "advance", advance)


@variant("a grouping is not on the disk before it is sent")
def _grouping_not_synced() -> Any:
    def made_once(path: Path, make: Callable[[], str]) -> str:
        if not (path.is_file() and path.read_text()):  # after a loss of power a file may be there and empty
            ldpsim.devices.atomic_files.write_atomically(path, make(), durable=False)
        return path.read_text()

    return put(ldpsim.strategies.rounds.collect_once, "made_once", made_once)


@variant("a grouping that a killed curator left is not synced before it is sent (mended)")
def _grouping_left() -> Any:
    def made_once(path: Path, make: Callable[[], str]) -> str:
        return path.read_text() if path.is_file() else real(path, make)

    real = ldpsim.devices.atomic_files.made_once
    return put(ldpsim.strategies.rounds.collect_once, "made_once", made_once)


@variant("the names in a folder are not synced")
def _names_not_synced() -> Any:
    return put(ldpsim.devices.atomic_files, "make_durable", lambda path: None)


@variant("what holds counts one stage of a plan")
def _one_stage_counted() -> Any:
    def loss(query: Query, attribute: str, *, device: int | None = None) -> Any:
        return query.plan[0][0].loss(device=device) if len(query.plan) > 1 else real(query, attribute, device=device)

    real = Query.loss
    return put(Query, "loss", loss)
