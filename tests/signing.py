"""Signed questions, as a curator makes them who asks some people this one question."""

from __future__ import annotations

from typing import Any

from ldpsim.devices.curator_key import CuratorKey, SignedTerms
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.query import Query


def terms_for(key: CuratorKey, query: Query, people: int, devices: Any = None) -> SignedTerms:
    return key.sign(terms_of([(query, devices)], people))


def signed(key: CuratorKey, query: Query, people: int, devices: Any = None) -> bytes:
    return terms_for(key, query, people, devices).ask(query.to_bytes())
