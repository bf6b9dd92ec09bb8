"""Audit of whole devices: keys of the noise, ledger and refusals.

A device's noise must depend on its secret, the question, the attribute and the data, and on
nothing else. Its answers must depend on the question, the ledger and the policy, and not on
the data. Each check is a row of the audit.

Two noises are compared at some thousand bits, flipped with probabilities p and q: if they
are independent, both flip at Bin(N, p q) places, and a count beyond an exact two-sided
limit fails. The limits of all checks together are passed by a right device with
probability at least 1 - :data:`FALSE_ALARM`. Noise that is shared passes with a
probability below 1e-100: then both flip wherever the rarer one does.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from curator.attacks.audit_row import AuditRow
from devices.data.population import Record
from devices.device import Device, Refusal, Report, unpack_report
from devices.facts import PublicFacts
from devices.ledger.ledger import Ledger
from devices.mechanisms import GRR, OneBit, RandomizedResponse
from devices.policy.policy import Cap, OnRequery, Policy
from devices.query import Ask, Query

N, D, CLASSES = 2001, 2000, 3
INDEX = 5
FALSE_ALARM = 1e-7
_COMPARISONS = 8
_WIDE = Cap(bit=100.0, vector=1e9, user=1e9)
_FACTS = PublicFacts(N, D, CLASSES)
Make = Callable[[int, Record, bytes, Policy, Ledger], Device]
Flips = NDArray[np.bool_]


def audit_device(make: Make = Device) -> list[AuditRow]:
    """Audit devices made by ``make(index, record, secret, policy, ledger)``.

    A check that raises fails: nothing may escape from a device.
    """
    rows = []
    for name, (check, meaning) in _CHECKS.items():
        with tempfile.TemporaryDirectory(prefix="ldpsim-audit-") as folder:
            try:
                wrong = check(_Bench(make, Path(folder)))
            except Exception as error:
                wrong = f"{type(error).__name__}: {error}"
        rows.append(AuditRow("device", name, None, None, None, 1 - FALSE_ALARM, 0, not wrong, wrong or meaning))
    return rows


def person(kind: str) -> Record:
    """Return a person: ``ordinary``, ``other`` (nothing in common), or ``strange`` (values outside all ranges)."""
    rng = np.random.default_rng(3)
    near = np.sort(rng.choice(np.delete(np.arange(N), INDEX), N // 3, replace=False)).astype(np.int32)
    words = np.sort(rng.choice(D, D // 3, replace=False)).astype(np.int32)
    if kind == "ordinary":
        return Record(words, np.ones(len(words), np.float32), near, 1)
    if kind == "other":
        near = np.setdiff1d(np.arange(N, dtype=np.int32), [*near, INDEX]).astype(np.int32)
        words = np.setdiff1d(np.arange(D, dtype=np.int32), words).astype(np.int32)
        return Record(words, np.ones(len(words), np.float32), near, 2)
    strange = np.array([np.nan, 1e30, -7.0], np.float32)
    return Record(np.array([0, 1, 2], np.int32), strange, np.zeros(0, np.int32), CLASSES + 4)


def query(attributes: str = "afl", *, epsilon: float = 1.0, collection: str = "first", n: int = N) -> Query:
    """Return a question; ``attributes`` are some of the letters a, f, l in that order."""
    asks = {
        "a": Ask("adjacency", (RandomizedResponse.from_epsilon(epsilon, n=n),)),
        "f": Ask("features", (OneBit.from_epsilon(epsilon, d=D),)),
        "l": Ask("label", (GRR.from_epsilon(epsilon, categories=CLASSES),)),
    }
    return Query(collection, (tuple(asks[letter] for letter in attributes),))


class _Bench:
    """Makes devices, each with a ledger of its own unless one is named."""

    def __init__(self, make: Make, folder: Path) -> None:
        self._make, self._folder, self._numbers = make, folder, iter(range(1000))

    @contextmanager
    def device(
        self, record: Record, *, secret: str = "s", ledger: str | None = None, on_requery: OnRequery = "refuse"
    ) -> Iterator[Device]:
        name = ledger if ledger is not None else f"fresh-{next(self._numbers)}"
        policy = Policy("report", dict.fromkeys(("adjacency", "features", "label"), _WIDE),
                        frozenset({"randomized_response", "one_bit", "grr"}), _FACTS,
                        on_requery=on_requery)  # fmt: skip
        opened = Ledger.create(self._folder / f"{name}.sqlite")
        try:
            yield self._make(INDEX, record, hashlib.sha256(secret.encode()).digest(), policy, opened)
        finally:
            opened.close()

    def told(self, record: Record, asked: Query, **given: Any) -> dict[str, tuple[bytes, ...]]:
        """Ask a fresh device and return what it reported."""
        with self.device(record, **given) as device:
            answer = device.answer(asked.to_bytes())
        if not isinstance(answer, Report) or answer.replayed:
            raise AssertionError("a device with an empty ledger does not release")
        return unpack_report(answer.data, asked)

    def flips(self, record: Record, asked: Query, **given: Any) -> dict[str, Flips]:
        """Return the noise of a fresh device's report: the places where its bits differ from the data."""
        told = self.told(record, asked, **given)
        found = {}
        for ask in asked.asks:
            if ask.attribute != "label":
                (mechanism,), (data,) = ask.mechanisms, told[ask.attribute]
                value = mechanism.value_of(record, device=INDEX)
                found[ask.attribute] = mechanism.decode(data, device=INDEX) ^ (np.asarray(value) > 0)
        return found


def shared(first: Flips, second: Flips, p: float, q: float) -> bool:
    """Whether two noises flip together more often, or less often, than independent ones."""
    size = min(len(first), len(second))
    both = int(np.count_nonzero(first[:size] & second[:size]))
    return bool(binomtest(both, size, p * q).pvalue < FALSE_ALARM / _COMPARISONS)


def _p(epsilon: float) -> float:
    return float(1 / (1 + np.exp(epsilon)))


def _shares_noise(bench: _Bench, wrong: str, *, kind: str = "ordinary", epsilon: float = 1.0, secret: str = "s") -> str:
    """Compare the noise of the ordinary device with that of another person, budget or secret."""
    one, other = (
        bench.flips(person("ordinary"), query()),
        bench.flips(person(kind), query(epsilon=epsilon), secret=secret),
    )
    return wrong if any(shared(one[a], other[a], _p(1), _p(epsilon)) for a in one) else ""


def _attribute(bench: _Bench) -> str:
    found = bench.flips(person("ordinary"), query())
    if shared(found["adjacency"], found["features"], _p(1), _p(1)):
        return "two attributes share their noise"
    return ""


def _alone(bench: _Bench) -> str:
    whole = bench.told(person("ordinary"), query())
    for letter, name in (("a", "adjacency"), ("f", "features"), ("l", "label")):
        for asked in (query(letter), query(letter, collection="another")):
            if bench.told(person("ordinary"), asked)[name] != whole[name]:
                return f"{name} asked alone or in another collection gets other noise: a second report"
    return ""


def _label(bench: _Bench) -> str:
    """A label has one draw: compare the answers of a few hundred secrets."""
    apart = 0
    for number in range(120):
        one, other = (bench.told(person("ordinary"), query("l", epsilon=e), secret=f"{number}") for e in (1.0, 1.1))
        apart += one["label"] != other["label"]
    # independent answers differ with probability 0.57: none in 120 has a chance below 1e-43
    return "" if apart else "the label's noise does not depend on the question"


def codes(
    bench: _Bench, record: Record, *, on_requery: OnRequery, ledger: str, changed: Record | None = None
) -> list[str]:
    """Return a device's answers to a fixed list of questions; ``changed`` is its data from the middle on."""
    questions: list[bytes] = [
        query("af").to_bytes(), b"{}", query("af", n=N + 1).to_bytes(), query("af").to_bytes(),
        query("af", collection="another").to_bytes(), query("a", collection="third").to_bytes(),
        query("af", epsilon=0.5).to_bytes(), query("afl", collection="fourth").to_bytes(),
        query("l").to_bytes(), query("l", collection="fifth").to_bytes(), query("l", epsilon=2.0).to_bytes(),
    ]  # fmt: skip
    said: list[str] = []
    kept: dict[int, bytes] = {}
    for number, asked in enumerate([*questions, *questions]):
        now = record if changed is None or number < len(questions) else changed
        with bench.device(now, ledger=ledger, on_requery=on_requery) as device:  # as after a restart
            answer = device.answer(asked)
        if isinstance(answer, Refusal):
            said.append(answer.name)
            continue
        place = number % len(questions)
        first = kept.setdefault(place, answer.data)
        said.append(("replayed" if answer.replayed else "reported") + ("" if answer.data == first else " OTHER BYTES"))
    return said


_C, _P, _U, _R = "REPORT_COLLECTED", "POLICY_REFUSED", "UNKNOWN_QUERY", "replayed"
EXPECTED = {
    "refuse": [
        "reported", _U, _P, _R, _C, _C, _C, _C, "reported", _C, _C,
        _R, _U, _P, _R, _C, _C, _C, _C, _R, _C, _C,
    ],
    "replay": [
        "reported", _U, _P, _R, _R, _R, _C, _C, "reported", _R, _C,
        _R, _U, _P, _R, _R, _R, _C, _R, _R, _R, _C,
    ],
}  # fmt: skip


def _table(bench: _Bench, policy: OnRequery) -> str:
    said = codes(bench, person("ordinary"), on_requery=policy, ledger="ordinary")
    if said != EXPECTED[policy]:
        place = next(i for i, (a, b) in enumerate(zip(said, EXPECTED[policy], strict=True)) if a != b)
        return f"question {place + 1}: {said[place]}, where {EXPECTED[policy][place]} is due"
    return ""


def _silent(bench: _Bench) -> str:
    people = {kind: person(kind) for kind in ("ordinary", "other", "strange")}
    said = {kind: codes(bench, record, on_requery="refuse", ledger=kind) for kind, record in people.items()}
    said["changed"] = codes(bench, people["ordinary"], on_requery="refuse", ledger="changed", changed=people["other"])
    if any(answers != said["ordinary"] for answers in said.values()):
        return "what is answered depends on the data: " + ", ".join(k for k, a in said.items() if a != said["ordinary"])
    return ""


_CHECKS: dict[str, tuple[Callable[[_Bench], str], str]] = {
    "key: secret": (
        partial(_shares_noise, wrong="devices with different secrets draw the same noise: the public id reveals it",
                secret="t"),
        "another secret, independent noise",
    ),
    "key: question": (
        partial(_shares_noise, wrong="questions of different budgets share noise: some pairs of answers are impossible",
                epsilon=2.0),
        "another budget, independent noise",
    ),
    "key: data": (
        partial(_shares_noise, wrong="reports of changed data share noise: subtracting them shows what changed",
                kind="other"),
        "other data, independent noise",
    ),
    "key: attribute": (_attribute, "each attribute has noise of its own"),
    "key: nothing else": (_alone, "asked alone or elsewhere, the same bytes"),
    "key: label": (_label, "the label's noise depends on the question"),
    "policy refuse": (partial(_table, policy="refuse"), "22 questions, restarted before each"),
    "policy replay": (partial(_table, policy="replay"), "22 questions, restarted before each"),
    "refusals say nothing": (_silent, "four kinds of data, the same answers"),
}  # fmt: skip
