"""Signed questions, as a collector makes them who asks some people this one question."""

from __future__ import annotations

from typing import Any

from devices.collector import CollectorKey, SignedTerms
from devices.policy.terms import terms_of
from devices.query import Query


def terms_for(key: CollectorKey, query: Query, people: int, devices: Any = None) -> SignedTerms:
    return key.sign(terms_of([(query, devices)], people))


def signed(key: CollectorKey, query: Query, people: int, devices: Any = None) -> bytes:
    return terms_for(key, query, people, devices).ask(query.to_bytes())
