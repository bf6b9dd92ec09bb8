"""Content of result.json (schema 2), made from the repeats of a run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from ldpsim.curator.learning.training import choose_device
from ldpsim.curator.methods.spec import NO_NETWORK
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.devices.data.population import Population
from ldpsim.strategies.engines import collect as engines
from ldpsim.strategies.engines.usage import peak_rss
from ldpsim.strategies.results.averages import mean, spread
from ldpsim.strategies.results.lifetime import Losses
from ldpsim.strategies.results.outcome import Outcome, RepeatScores, scores_of
from ldpsim.strategies.results.verdict import nulls_section, verdict_section
from ldpsim.strategies.setup.fingerprint import SCHEMA, configuration, ldpsim_version
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import RepeatPlan, Setup

# What a repeat stands for: one more collection of the same people, or another one that nobody will make.
AGAIN, INSTEAD = "again", "instead"
_SIMULATED = ("dataset", "split", "clients", "friends_tell", "friends_share")  # options that a deployment does not read
PHASES = ("collect", "reconstruct", "train")  # of the duration of a repeat


def assemble(
    setup: Setup, outcomes: Sequence[Outcome], seconds: Mapping[str, float], guarantee: Guarantee, lifetime: Losses
) -> dict[str, Any]:  # fmt: skip
    """Return the record of a run.

    Args:
        setup: The run.
        outcomes: The outcome of each repeat, judged.
        seconds: Durations of the parts that are outside repeats.
        guarantee: Guarantee over all collections of these people.
        lifetime: Their losses by the ledgers of all collections.
    """
    options, settings = setup.options, setup.settings
    first, last, scores = setup.plans[0], outcomes[-1], scores_of(outcomes)
    has_devices = last.seeded is not None
    engine = engines.choose(options.engine, options.ray_address) if has_devices else options.engine
    engine = last.collected.engine or engine  # another Grid may have been handed over, as by `flwr run .`
    parts = guarantee.to_dict()
    return {
        "schema": SCHEMA,
        "ldpsim_version": ldpsim_version(),
        "method": options.method,
        "gnn": settings.training.gnn if settings.method.effective_spec().trains_network else NO_NETWORK,
        "seeds": first.seeds.to_dict(),
        "simulation_seeded": not setup.deployed and all(outcome.seeded is not False for outcome in outcomes),
        "engine": engine,
        "device": choose_device(options.device).type,
        "config_hash": setup.digest,
        "dataset": _dataset(setup),
        "devices": _devices(outcomes),
        "accuracy": {**_accuracy(scores), **_by_who_knows(setup, scores)},
        "nulls": nulls_section(scores),
        "nulls_not_taken": dict(scores[0].not_taken),
        "verdict": verdict_section(scores),
        "reference": {
            "nonprivate_test": mean([each.test for each in (one.reference for one in scores) if each is not None]),
            "nonprivate_test_own_settings": mean([each.reference_own for each in scores]),
        },
        "privacy": {
            "trust": settings.method.effective_spec().trust,
            "trusted": settings.method.effective_spec().trusted,
            "claimed": parts["claimed"],
            "holds": parts["holds"],
            "collections": parts["collections"],
            "repeats": None if parts["collections"] == 1 else AGAIN if setup.asks_again else INSTEAD,
            "searched": settings.collections,
            "lifetime_per_device": lifetime.figures(),
            "why_they_differ": parts["why_they_differ"],
        },
        "communication": _communication(outcomes),
        "seconds": {
            "population": seconds["population"],
            **{name: sum(outcome.seconds[name] for outcome in outcomes) for name in PHASES},
            **({"nulls": sum(each.null_seconds for each in scores)} if options.nulls else {}),
            "total": seconds["total"],
            "cpu": seconds["cpu"],
        },
        "memory": {"peak_rss_bytes": peak_rss()},
        "reconstruction": _reconstruction(outcomes),
        **{name: dict(section) for name, section in last.extra.items()},
        "config": {
            **stored_options(options),
            **(dict.fromkeys(_SIMULATED) if setup.deployed else {}),
            "budget": asdict(setup.budget),
            "parameters": settings.parameters(),
            "reference_training": asdict(settings.reference),
            "provenance": dict(settings.provenance),
        },
    }


def _dataset(setup: Setup) -> dict[str, Any]:
    """Return the facts of the people; a deployment knows no edge, and has nobody who is scored."""
    people, facts, first = setup.people, setup.facts, setup.plans[0]
    edges, homophily, scored = None, None, list[str]()
    if isinstance(people, Population):
        edges, scored = people.edges.shape[1], [_digest(plan) for plan in setup.plans]
        homophily = people.homophily if np.isfinite(people.homophily) else None
    return {
        "name": people.name,
        "digest": people.digest,
        "nodes": facts.n,
        "edges": edges,
        "features": facts.d,
        "classes": facts.classes,
        "homophily": homophily,
        "split": {name: len(getattr(first.split, name)) for name in ("train", "val", "test")},
        "scored_sha256": scored,
    }


def stored_options(options: RunOptions) -> dict[str, Any]:
    """Return all options of a run as ``config`` of result.json has them."""
    return {name: _plain(value) for name, value in configuration(options).items()}


def _accuracy(scores: Sequence[RepeatScores]) -> dict[str, Any]:
    means = {name: mean([each.accuracy[name] for each in scores]) for name in scores[0].accuracy}
    tests = [each.accuracy["test"] for each in scores]
    return {**means, "per_repeat": tests, "std": spread(tests)}


def _by_who_knows(setup: Setup, scores: Sequence[RepeatScores]) -> dict[str, Any]:
    """Return the figures of the curator and of the devices that predict for themselves; None where there is none.

    A training in rounds is scored with each person's own data, which nobody else has: its figure is the devices'.
    """
    tests = [each.accuracy["test"] for each in scores]
    if setup.settings.method.spec.trained_by in ("devices", "silos", "alone", "friends"):
        return {"curator": None, "device": mean(tests), "device_std": spread(tests), **_with_friends(scores)}
    own = [score for each in scores if (score := each.device) is not None]
    devices = [score.test for score in own]
    areas = [score.auc for score in own if score.auc is not None]
    return {
        "curator": mean(tests),
        "device": mean(devices) if devices else None,
        "device_std": spread(devices),
        **_with_friends(scores),
        **({"device_auc": mean(areas)} if areas else {}),
    }


def _with_friends(scores: Sequence[RepeatScores]) -> dict[str, Any]:
    """Return the figure of devices whose friends tell them a guess; None where nobody tells."""
    tests = [score.test for each in scores if (score := each.with_friends) is not None]
    return {"device_with_friends": mean(tests) if tests else None, "device_with_friends_std": spread(tests)}


def _digest(plan: RepeatPlan) -> str:
    """Return the digest of the scored people; results with the same one can be compared."""
    return hashlib.sha256(np.sort(plan.split.test).astype("<i8").tobytes()).hexdigest()


def _devices(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the numbers of the first repeat; every repeat asks as many devices of its own."""
    collected = outcomes[0].collected
    return {
        "asked": collected.asked,
        "reported": collected.reported,
        "replayed": collected.replayed,
        "refused": sum(collected.refused.values()),
        "refused_by_code": dict(sorted(collected.refused.items())),
        "silent": collected.silent,
        "failed": collected.failed,
        "reports_sha256": collected.reports_sha256,
    }


def _communication(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    collected, models = outcomes[0].collected, outcomes[0].device_models
    per_device = max(collected.asked, 1)
    phase = {
        "rounds": collected.rounds,
        "messages": collected.messages,
        "downlink_bytes": collected.downlink_bytes,
        "uplink_bytes": collected.uplink_bytes,
    }
    phases = outcomes[0].phases
    if phases is None:
        phases = {"collect": phase} if collected.asked else {}
    # The totals have the traffic between silos and their server; no device pays for it.
    everything = {name: sum(part[name] for part in phases.values()) for name in phase} if phases else phase
    return {
        **everything,
        "downlink_bytes_per_device": collected.downlink_bytes / per_device,
        "uplink_bytes_per_device": collected.uplink_bytes / per_device,
        # What a device downloads to predict for itself; none needs it to report.
        "bundle_bytes_per_device": None if models is None else len(models[0].as_text()),
        "by_phase": {name: dict(part) for name, part in phases.items()},
    }


def _reconstruction(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the means over repeats; notes of a method are those of the first repeat."""
    sections = [outcome.reconstruction for outcome in outcomes]
    if len(sections) == 1:
        return dict(sections[0])
    return {name: value if isinstance(value, Mapping) else mean([each[name] for each in sections])
            for name, value in sections[0].items()}  # fmt: skip


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
