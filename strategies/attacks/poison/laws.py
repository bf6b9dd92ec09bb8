"""Laws that a poisoned collection obeys, whoever lies: what was found, what theory says, and its deviation.

shift of a class's share by GRR      sum over liars of (estimate of the lie - truth) / reports; of accounts that
                                     join, the share among all others stands in the place of a truth
shift of a bit's mean (1-bit)        the same, over the bits that the liars agreed on
false pairs that both ends report    Binomial(claims against an honest 0, q)
pairs among accounts that join       Binomial(pairs that both claim, p^2) by input, all of them by response
disagreements among honest rows      Binomial(pairs, 2 p q), whatever the graph
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from curator.reports.reports import Reports
from devices.array_types import FloatArray, IntArray
from devices.data.population import Population
from devices.mechanisms.base import Mechanism, dense_features
from strategies.attacks.liars.plan import LyingPlan

SIGMAS = 6.0


def report_measures(
    reports: Reports, people: Population, plan: LyingPlan | None, liars: IntArray, columns: IntArray
) -> dict[str, Any]:
    """Return the measures of one collection; a law needs those of share 0, too.

    Args:
        reports: Reports of everybody.
        people: The truth.
        plan: The lies; None where nobody lies.
        liars: Sorted ids.
        columns: Features that liars agreed on.
    """
    found: dict[str, Any] = {}
    lies = np.zeros(len(people), bool)
    lies[liars] = True
    for attribute, measure in (("label", _labels), ("features", _bits), ("adjacency", _rows)):
        if attribute in reports.asks:
            found |= measure(reports, people, plan, lies & reports.reported(attribute), columns)
    return found


def _labels(reports: Reports, people: Population, plan: LyingPlan | None, lies: Any, _: IntArray) -> dict[str, Any]:
    mechanism = reports.asks["label"].mechanisms[0]
    if mechanism.channel is None:
        return {}
    who = reports.reported("label")
    counts = np.bincount(reports.needed("labels")[who], minlength=reports.facts.classes)
    p, q = mechanism.channel
    estimates = (counts / max(who.sum(), 1) - q) / (p - q)
    return {"labels": {"estimates": estimates.tolist(), "reports": int(who.sum()), "range": _worth(plan, 1 / (p - q)),
                       **_expected_labels(mechanism, people, plan, lies)}}  # fmt: skip


def _expected_labels(mechanism: Mechanism, people: Population, plan: LyingPlan | None, lies: Any) -> dict[str, Any]:
    """Return the sums over the liars of the expected shift and of its variance, by class."""
    classes = people.facts.classes
    shift, spread = np.zeros(classes), np.zeros(classes)
    lying = plan if plan is not None and plan.attack.lies_about(mechanism) else None
    joined = lying is not None and lying.attack.joins
    for device in np.flatnonzero(lies).tolist() if lying is not None else ():
        assert lying is not None
        truth, told = int(people.labels[device]), lying.record(device, mechanism).label
        expected = mechanism.estimate(told) if lying.lie == "response" else _one_hot(told, classes)
        shift += expected
        if not joined:
            shift -= _one_hot(truth if 0 <= truth < classes else 0, classes)
            spread += mechanism.variance(truth)
        if lying.lie == "input":
            spread += mechanism.variance(told)
    return {"liars": 0 if lying is None else int(lies.sum()), "joined": joined, "shift": shift.tolist(),
            "variance": spread.tolist()}  # fmt: skip


def _one_hot(label: int, classes: int) -> FloatArray:
    return np.asarray(np.arange(classes) == label, np.float64)


def _bits(reports: Reports, people: Population, plan: LyingPlan | None, lies: Any, columns: IntArray) -> dict[str, Any]:
    mechanism = reports.asks["features"].mechanisms[0]
    if not mechanism.packed or not mechanism.flip_probability:
        return {}
    who, d = reports.reported("features"), reports.facts.d
    least, most = reports.facts.feature_low, reports.facts.feature_high
    bits = np.unpackbits(reports.features[who], axis=1, count=d)[:, columns].view(np.bool_)
    mean = float(mechanism.estimate(bits.mean(axis=0)).mean()) if who.any() else 0.0
    shift = spread = 0.0
    lying = plan if plan is not None and plan.attack.name == "extreme-bit" else None
    for device in np.flatnonzero(lies).tolist() if lying is not None else ():
        assert lying is not None
        truth = dense_features(people.record(device), d)
        high = np.full(d, most, np.float32)
        told = mechanism.estimate(np.ones(1, bool))[0] if lying.lie == "response" else most
        shift += float(told - truth[columns].mean(dtype=np.float64))
        spread += float(mechanism.variance(truth)[columns].sum()) / len(columns) ** 2
        if lying.lie == "input":
            spread += float(mechanism.variance(high)[columns].sum()) / len(columns) ** 2
    width = (most - least) / (1 - 2 * mechanism.flip_probability)
    return {"bits": {"mean": mean, "reports": int(who.sum()), "range": _worth(plan, width),
                     "liars": 0 if lying is None else int(lies.sum()), "shift": shift, "variance": spread}}  # fmt: skip


def _worth(plan: LyingPlan | None, span: float) -> float:
    """Return by how much one liar of all can move the sum of the estimates: an input lie by the values' range, 1."""
    return 1.0 if plan is None or plan.lie == "input" else span


def _rows(reports: Reports, people: Population, plan: LyingPlan | None, lies: Any, _: IntArray) -> dict[str, Any]:
    mechanism = reports.source("adjacency") if reports.adjacency is not None else None
    if mechanism is None or not mechanism.flip_probability or mechanism.reporting != "both":
        return {}
    rows, n, flip = reports.needed("adjacency"), len(people), mechanism.flip_probability
    honest = np.flatnonzero(reports.reported("adjacency") & ~lies)
    among = rows[honest][:, honest].astype(np.int8)
    pairs = len(honest) * (len(honest) - 1) // 2
    found: dict[str, Any] = {
        "disagreements": {"pairs": pairs, "found": int(abs(among - among.T).nnz) // 2, "chance": 2 * flip * (1 - flip)}
    }
    if lies.any() and plan is not None and plan.attack.lies_about(mechanism):
        liars = np.flatnonzero(lies)
        claims = rows[liars][:, honest].tocoo()
        ends = liars[claims.row], honest[claims.col]
        true = np.isin(ends[0] * n + ends[1], _both_ways(people))
        false = ends[0][~true], ends[1][~true]
        back = int(rows[false[1], false[0]].sum()) if len(false[0]) else 0
        found["both_ends"] = {"claims": len(false[0]), "found": back, "chance": flip, "liars": len(liars)}
        named = people.edges[:, np.isin(people.edges, liars).all(axis=0)]
        if plan.attack.joins and named.size:
            kept = int((rows[named[0], named[1]] & rows[named[1], named[0]]).sum())
            chance = 1.0 if plan.lie == "response" else (1 - flip) ** 2
            found["among"] = {"pairs": named.shape[1], "found": kept, "chance": chance}
    return found


def _both_ways(people: Population) -> IntArray:
    low, high = people.edges
    n = len(people)
    return np.concatenate([low * n + high, high * n + low])


def laws_of(now: Mapping[str, Any], clean: Mapping[str, Any], target_class: int) -> list[dict[str, Any]]:
    """Return the laws of a cell: ``law``, ``found``, ``expected``, ``sd``, ``bound`` and ``passed``.

    Args:
        now: :func:`report_measures` of the cell.
        clean: That of share 0 with the same people and noise; beside accounts that join, that of silent accounts.
        target_class: The class whose share is looked at.
    """
    laws = []
    if now.get("labels", {}).get("liars") and "labels" in clean:
        labels, at = now["labels"], target_class % len(now["labels"]["estimates"])
        found = labels["estimates"][at] - clean["labels"]["estimates"][at]
        others = labels["liars"] * clean["labels"]["estimates"][at] if labels.get("joined") else 0.0
        laws.append(_shift("grr shift", labels, found, labels["shift"][at] - others, labels["variance"][at]))
    if now.get("bits", {}).get("liars"):
        bits = now["bits"]
        laws.append(_shift("bit-mean shift", bits, bits["mean"] - clean["bits"]["mean"], bits["shift"],
                           bits["variance"]))  # fmt: skip
    if "both_ends" in now:
        laws.append(_binomial("false pairs by both ends", now["both_ends"], "claims"))
    if "among" in now:
        laws.append(_binomial("pairs among accounts", now["among"], "pairs"))
    if now.get("disagreements", {}).get("pairs"):
        laws.append(_binomial("honest disagreements", now["disagreements"], "pairs"))
    return laws


def _shift(name: str, measured: Mapping[str, Any], found: float, shift: float, variance: float) -> dict[str, Any]:
    reports = measured["reports"]
    bound = measured["liars"] / reports * measured["range"]
    return _law(name, found, shift / reports, float(np.sqrt(variance)) / reports, bound)


def _binomial(name: str, measured: Mapping[str, Any], size: str) -> dict[str, Any]:
    trials, chance = measured[size], measured["chance"]
    return _law(name, measured["found"], trials * chance, float(np.sqrt(trials * chance * (1 - chance))), None)


def rare_events(name: str, found: int, expected: float) -> dict[str, Any]:
    """Return the law of a count of rare events whose mean is at most this."""
    law = _law(name, found, expected, float(np.sqrt(expected)), None)
    return {**law, "passed": bool(found <= expected or law["passed"])}


def _law(name: str, found: float, expected: float, sd: float, bound: float | None) -> dict[str, Any]:
    # one event is allowed beside the six deviations: where the mean is far below 1, the law is far from normal
    slack = SIGMAS * sd + (1.0 if bound is None else 1e-9)
    return {"law": name, "found": found, "expected": expected, "sd": sd, "bound": bound,
            "passed": bool(abs(found - expected) <= slack)}  # fmt: skip
