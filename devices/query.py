"""Queries to a device: stages, canonical bytes and fingerprints. It imports no Flower.

A query names a *collection* and its stages (``plan``), each a list of attributes with the
mechanisms to be used on them. Most queries have one stage; one with several is a *staged
query*. All stages are fixed with stage 0; a later stage may only fill in a public
``grouping`` of the nodes.

The fingerprint of an attribute covers all that is asked about it in every stage and
nothing else: not the collection, not the other attributes. Attributes on which one answer
depends have one fingerprint: in a ledger they are one release. Unknown fields make a query
invalid, so nothing can ride along.

Questions come from untrusted senders, so the cost of validation is bounded by the question's size, before
anything is computed. It is at most

    c1 * bytes + c2 * numbers + c3 * operations,    bytes <= 4 MiB, numbers <= 2^17, operations <= 2^17

where ``numbers`` counts the entries of all lists in the plan (domains of a mechanism), and
``operations`` adds ``loss_cost`` of all mechanisms of all stages: the arithmetic operations on 60 digits that
their losses take. Any question beyond a bound is malformed. A vault's own limit on bytes is lower
(:func:`ldpsim.devices.vault.protocol.question_limit`).
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

from ldpsim.devices.array_types import BoolArray
from ldpsim.devices.mechanisms import GroupDegrees, Loss, find
from ldpsim.devices.mechanisms.mechanism import Mechanism

FORMAT = 1
ATTRIBUTES = ("adjacency", "features", "label")
COLLECTION_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
MAX_BYTES = 1 << 22
MAX_NUMBERS = MAX_LOSS_COST = 1 << 17
DEFAULT_LOSS_COST = 100  # of a mechanism without a ``loss_cost``: a loss by a formula takes fewer operations


class InvalidQuery(ValueError):
    """The query is malformed or asks for something unknown."""


@contextmanager
def malformed(what: str) -> Iterator[None]:
    """Turn any failure to read the bytes of strangers into InvalidQuery; an installed mechanism may raise anything."""
    try:
        yield
    except InvalidQuery:
        raise
    except Exception as error:
        raise InvalidQuery(f"{what} is malformed") from error


@dataclass(frozen=True)
class Ask:
    """One attribute and the mechanisms applied to it. Their losses add.

    Raises:
        InvalidQuery: for an unknown attribute, or mechanisms that do not apply to it.

    >>> from ldpsim.devices.mechanisms import GRR
    >>> Ask("label", (GRR.from_epsilon(1.0, categories=3),)).loss()
    Loss(bit=1.0, vector=1.0, delta=0.0)
    """

    attribute: str
    mechanisms: tuple[Mechanism, ...]

    def __post_init__(self) -> None:
        if self.attribute not in ATTRIBUTES or not 1 <= len(self.mechanisms) <= 4:
            raise InvalidQuery(f"cannot ask about {self.attribute!r}")
        if any(self.attribute != m.reads[0] for m in self.mechanisms):
            raise InvalidQuery(f"a mechanism does not apply to {self.attribute}")
        several = any(len(m.reads) > 1 for m in self.mechanisms)
        if several and (len(self.mechanisms) > 1 or not set(self.attributes) <= set(ATTRIBUTES)):
            raise InvalidQuery(f"a mechanism that reads more than {self.attribute} is asked alone")

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes that the answer depends on: its own, and those that its mechanism also reads."""
        return self.mechanisms[0].reads

    def loss(self, *, device: int | None = None) -> Loss:
        """Return the sum of the mechanisms' losses."""
        first, *rest = (m.loss(device=device) for m in self.mechanisms)
        return sum(rest, start=first)

    def to_dict(self) -> dict[str, Any]:
        """Return the canonical JSON values."""
        mechanisms = [{"name": m.name, "version": m.version, "sampler": m.sampler, **m.parameters()}
                      for m in self.mechanisms]  # fmt: skip
        return {"attribute": self.attribute, "mechanisms": mechanisms}


@dataclass(frozen=True)
class Query:
    """A question to a device.

    Args:
        collection: Id of the collection it belongs to, 1..64 of ``A-Za-z0-9._-``.
        plan: Stages; each a tuple of :class:`Ask`, at most one an attribute.
        stage: Which stage is asked now.
        grouping: Public group of every node, filled in for a stage after the first.

    Raises:
        InvalidQuery: for anything that is not of this form.

    >>> from ldpsim.devices.mechanisms import RandomizedResponse
    >>> query = Query("first", ((Ask("adjacency", (RandomizedResponse.from_epsilon(1.0, n=4),)),),))
    >>> query.loss("adjacency"), Query.from_bytes(query.to_bytes()) == query
    (Loss(bit=1.0, vector=3.0, delta=0.0), True)
    """

    collection: str
    plan: tuple[tuple[Ask, ...], ...]
    stage: int = 0
    grouping: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.collection, str) and COLLECTION_ID.fullmatch(self.collection)):
            raise InvalidQuery("the collection id is malformed")
        if not 1 <= len(self.plan) <= 8 or not all(self.plan) or not 0 <= self.stage < len(self.plan):
            raise InvalidQuery("the plan is malformed")
        for stage in self.plan:
            names, read = [ask.attribute for ask in stage], [name for ask in stage for name in ask.attributes]
            if len(set(read)) != len(read) or names != sorted(names):
                raise InvalidQuery("attributes are repeated or out of order")
            if len(read) > len(names) and len(self.plan) > 1:
                raise InvalidQuery("an answer about several attributes is asked in one stage")
        if self.loss_cost > MAX_LOSS_COST:
            raise InvalidQuery("the losses of the plan cost too much to compute")
        if self.stage == 0 and self.grouping is not None:
            raise InvalidQuery("a first stage takes no grouping")

    @property
    def asks(self) -> tuple[Ask, ...]:
        """Attributes and mechanisms of this stage."""
        return self.plan[self.stage]

    @property
    def loss_cost(self) -> int:
        """Upper bound of the operations that the losses of all stages take."""
        return sum(
            getattr(m, "loss_cost", DEFAULT_LOSS_COST) for stage in self.plan for ask in stage for m in ask.mechanisms
        )

    @cached_property
    def drawable(self) -> bool:
        """Return whether all mechanisms draw as this version does; an older question is replayed, but not drawn."""
        return all(m.sampler == type(m).sampler for stage in self.plan for ask in stage for m in ask.mechanisms)

    @cached_property
    def answerable(self) -> bool:
        """Return whether each mechanism of this stage is given the grouping that it needs."""
        mechanisms = (m for ask in self.asks for m in ask.mechanisms)
        return all(m.takes(self.grouping) for m in mechanisms if isinstance(m, GroupDegrees))

    @cached_property
    def in_clear(self) -> bool | None:
        """Whether all mechanisms report in clear, as volunteers are asked; None if only some do."""
        kinds = {m.in_clear for stage in self.plan for ask in stage for m in ask.mechanisms}
        return kinds.pop() if len(kinds) == 1 else None

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Attributes of all stages that the answers depend on, in canonical order."""
        return tuple(sorted(self._asked_under))

    @cached_property
    def _asked_under(self) -> dict[str, str]:
        """The attribute of the ask by each attribute that it depends on: another one where it reads several."""
        return {name: ask.attribute for stage in self.plan for ask in stage for name in ask.attributes}

    def total(self, *, device: int | None = None) -> float:
        """Return the loss of all answers when the whole record changes; one about several attributes counts once."""
        return math.fsum(self.loss(name, device=device).vector for name in set(self._asked_under.values()))

    def loss(self, attribute: str, *, device: int | None = None) -> Loss:
        """Return the loss of one attribute over all stages; the ledger enters it with stage 0."""
        # A one-end row has a loss of its own for each device; all else is the same for everybody.
        own = device if self.one_end else None
        loss = self._losses.get((attribute, own))
        if loss is None:
            parts = [a.loss(device=own) for stage in self.plan for a in stage if attribute in a.attributes]
            loss = self._losses[attribute, own] = sum(parts[1:], start=parts[0])
        return loss

    @cached_property
    def _losses(self) -> dict[tuple[str, int | None], Loss]:
        return {}

    @cached_property
    def people_by_terms(self) -> dict[tuple[bytes, int], BoolArray]:
        """People who may be asked, by terms and number of people (:func:`ldpsim.devices.policy.terms.people_asked`)."""
        return {}  # kept here, as a hash of a query with a grouping takes a step for each person

    @cached_property
    def one_end(self) -> bool:
        """Whether a mechanism reports one end of each pair, so that each device has a loss of its own."""
        return any(m.reporting != "both" for stage in self.plan for a in stage for m in a.mechanisms)

    @cached_property
    def _fingerprints(self) -> dict[str, bytes]:
        digests = {}
        for name in set(self._asked_under.values()):
            plan = [[a.to_dict() for a in stage if a.attribute == name] for stage in self.plan]
            digests[name] = hashlib.sha256(canonical({"v": FORMAT, "attribute": name, "plan": plan})).digest()
        return {name: digests[under] for name, under in self._asked_under.items()}

    def fingerprint(self, attribute: str) -> bytes:
        """Return SHA-256 of the canonical bytes of all that the stages ask about this attribute."""
        return self._fingerprints[attribute]

    @cached_property
    def grouping_digest(self) -> bytes:
        """SHA-256 of the stage's grouping, empty without one."""
        return hashlib.sha256(canonical(self.grouping)).digest() if self.grouping is not None else b""

    def question(self, attribute: str) -> bytes:
        """Return the digest that the noise is bound to: the fingerprint, with stage and grouping after the first stage.

        The collection plays no part.
        """
        if self.stage == 0:
            return self.fingerprint(attribute)
        stage = self.stage.to_bytes(4, "little")
        return hashlib.sha256(self.fingerprint(attribute) + stage + self.grouping_digest).digest()

    @cached_property
    def digest(self) -> bytes:
        """SHA-256 of all the query's fingerprints. A policy's verdict depends on it."""
        return hashlib.sha256(b"".join(self.fingerprint(name) for name in self.attributes)).digest()

    def at_stage(self, stage: int, grouping: tuple[int, ...] | None = None) -> Query:
        """Return the same query at another stage."""
        return replace(self, stage=stage, grouping=grouping)

    def to_bytes(self) -> bytes:
        """Return the canonical bytes (JSON, sorted keys, no spaces, ASCII)."""
        head = {"v": FORMAT, "collection": self.collection, "stage": self.stage, "grouping": self.grouping}
        return canonical({**head, "plan": [[ask.to_dict() for ask in stage] for stage in self.plan]})

    @staticmethod
    def from_bytes(data: bytes) -> Query:
        """Read a query; only canonical bytes are accepted.

        Raises:
            InvalidQuery: for malformed bytes, unknown fields, mechanisms or versions.
        """
        if not isinstance(data, bytes):
            raise InvalidQuery("a query is bytes")
        return _parse(data)


def canonical(value: Any) -> bytes:
    """Return JSON values as canonical bytes (sorted keys, no spaces, ASCII)."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


@lru_cache(maxsize=2)  # all devices get the same few questions, and strangers may write long ones
def _parse(data: bytes) -> Query:
    if len(data) > MAX_BYTES:
        raise InvalidQuery("the query is too long")
    with malformed("the query"):
        top = json.loads(data)
        head = _take(top, {"v", "collection", "plan", "stage", "grouping"})
        if head["v"] != FORMAT or type(head["stage"]) is not int:
            raise InvalidQuery("unknown query format")
        if _numbers(head["plan"]) > MAX_NUMBERS:
            raise InvalidQuery("the lists of the plan are too long to check")
        plan = tuple(tuple(_ask(ask) for ask in stage) for stage in head["plan"])
        grouping = head["grouping"]
        if grouping is not None:
            if not isinstance(grouping, list) or not all(type(g) is int and 0 <= g < 1 << 31 for g in grouping):
                raise InvalidQuery("the grouping is malformed")
            grouping = tuple(grouping)
        query = Query(head["collection"], plan, head["stage"], grouping)
        if query.to_bytes() != data:
            raise InvalidQuery("the bytes are not canonical")
    return query


def _numbers(plan: Any) -> int:
    """Return how many entries the lists of a plan have together, before any of them is looked at."""
    parameters = (m.values() for stage in plan for ask in stage for m in ask["mechanisms"])
    return sum(len(value) for values in parameters for value in values if isinstance(value, list))


def _take(value: Any, names: set[str]) -> Mapping[str, Any]:
    if not isinstance(value, dict) or set(value) != names:
        raise InvalidQuery("a field is missing or unknown")
    return value


def _ask(value: Any) -> Ask:
    taken = _take(value, {"attribute", "mechanisms"})
    return Ask(taken["attribute"], tuple(_mechanism(m) for m in taken["mechanisms"]))


def _mechanism(value: Any) -> Mechanism:
    if not isinstance(value, dict):
        raise InvalidQuery("a mechanism is malformed")
    name, version, sampler = str(value.get("name")), value.get("version"), value.get("sampler")
    kind = find(name)
    if kind is None or version != kind.version or type(sampler) is not int or not 1 <= sampler <= kind.sampler:
        raise InvalidQuery(f"unknown mechanism or version: {name[:40]!r}")
    parameters = {key: entry for key, entry in value.items() if key not in ("name", "version", "sampler")}
    # A type is text, or the class itself where the mechanism's module does not defer annotations.
    expected = {entry.name: getattr(entry.type, "__name__", entry.type) for entry in fields(kind)}  # type: ignore[arg-type]
    if set(parameters) != set(expected):
        raise InvalidQuery("a mechanism's parameter is missing or unknown")
    for name, entry in parameters.items():
        # JSON cannot tell 1 from True or 1.0 in a comparison, and types decide the canonical bytes.
        if type(entry).__name__ != expected[name] and expected[name] in ("int", "float", "str", "bool"):
            raise InvalidQuery("a mechanism's parameter has the wrong type")
        if isinstance(entry, list):
            parameters[name] = tuple(entry)
    made = kind(**parameters)
    if sampler != kind.sampler:
        object.__setattr__(made, "sampler", sampler)  # it is in the fingerprint, by which an answer is found again
    return made
