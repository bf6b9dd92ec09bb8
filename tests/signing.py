"""Signed questions, as a collector makes them who asks some people this one question."""

from __future__ import annotations

from typing import Any

from ldpsim.devices.collector import CollectorKey, SignedTerms
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.query import Query


def terms_for(key: CollectorKey, query: Query, people: int, devices: Any = None) -> SignedTerms:
    return key.sign(terms_of([(query, devices)], people))


def signed(key: CollectorKey, query: Query, people: int, devices: Any = None) -> bytes:
    return terms_for(key, query, people, devices).ask(query.to_bytes())
