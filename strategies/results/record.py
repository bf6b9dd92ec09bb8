"""From the repeats of a run to the content of result.json (schema 1)."""

from __future__ import annotations

import hashlib
import resource
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from curator.learning.training import choose_device
from curator.methods.base import Budget
from devices.data.population import Population
from devices.facts import Split
from devices.noise import SAMPLER_VERSION
from strategies.engines import collect as engines
from strategies.results.evaluation import mean_degrees
from strategies.results.outcome import Repeat
from strategies.setup.fingerprint import SCHEMA, configuration, ldpsim_version
from strategies.setup.options import RunOptions
from strategies.setup.settings import Settings

PHASES = ("collect", "reconstruct", "train")  # of the time that a repeat takes


def assemble(
    options: RunOptions,
    population: Population,
    settings: Settings,
    budget: Budget,
    repeats: Sequence[Repeat],
    *,
    digest: str,
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    """Return the record of a run."""
    first, last = repeats[0], repeats[-1]
    tests = [repeat.accuracy["test"] for repeat in repeats]
    asked = last.seeded is not None
    engine = engines.choose(options.engine, len(population), options.ray_address) if asked else options.engine
    collections = len(repeats) + settings.collections
    parts = last.outcome.guarantee.to_dict()
    return {
        "schema": SCHEMA,
        "ldpsim_version": ldpsim_version(),
        "method": options.method,
        "gnn": settings.training.gnn,
        "seeds": first.seeds.to_dict(),
        "simulation_seeded": all(repeat.seeded is not False for repeat in repeats),
        "engine": engine,
        "device": choose_device(options.device).type,
        "config_hash": digest,
        "dataset": {
            "name": population.name,
            "digest": population.digest,
            "nodes": population.facts.n,
            "edges": population.edges.shape[1],
            "features": population.facts.d,
            "classes": population.facts.classes,
            "homophily": _number(population.homophily),
            "split": {name: len(getattr(first.split, name)) for name in ("train", "val", "test")},
            "scored_sha256": [_digest(repeat.split) for repeat in repeats],
        },
        "devices": _devices(repeats),
        "accuracy": {
            **{name: mean([repeat.accuracy[name] for repeat in repeats]) for name in ("test", "val", "macro_f1")},
            "per_repeat": tests,
            "std": _spread(tests),
        },
        "reference": {"nonprivate_test": mean([repeat.reference for repeat in repeats])},
        "privacy": {
            "trust": settings.method.trust,
            "claimed": parts["claimed"],
            "holds": parts["holds"],
            "collections": collections,
            "lifetime_per_device": last.lifetime,
            "why_they_differ": parts["why_they_differ"],
        },
        "communication": _communication(repeats),
        "seconds": {
            "population": seconds["population"],
            **{name: sum(repeat.outcome.seconds[name] for repeat in repeats) for name in PHASES},
            "total": seconds["total"],
        },
        "memory": {"peak_rss_bytes": peak_rss()},
        "reconstruction": _reconstruction(repeats),
        **{name: dict(section) for name, section in last.outcome.extra.items()},
        "config": {
            **{name: _plain(value) for name, value in configuration(options).items()},
            "budget": asdict(budget),
            "parameters": settings.parameters(),
            "reference_training": asdict(settings.reference),
            "provenance": dict(settings.provenance),
            "sampler": SAMPLER_VERSION,
        },
    }


def _digest(split: Split) -> str:
    """Digest of who is scored: two results with the same one can be compared."""
    return hashlib.sha256(np.sort(split.test).astype("<i8").tobytes()).hexdigest()


def _devices(repeats: Sequence[Repeat]) -> dict[str, Any]:
    """Numbers of the first repeat; every repeat asks as many devices of its own."""
    collected = repeats[0].outcome.collected
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


def _communication(repeats: Sequence[Repeat]) -> dict[str, Any]:
    collected = repeats[0].outcome.collected
    per_device = max(collected.asked, 1)
    phase = {
        "rounds": collected.rounds,
        "messages": collected.messages,
        "downlink_bytes": collected.downlink_bytes,
        "uplink_bytes": collected.uplink_bytes,
    }
    # What silos and their server say to one another is in the totals, and no device pays for it.
    phases = repeats[0].outcome.phases
    everything = phase if not phases else {name: sum(part[name] for part in phases.values()) for name in phase}
    return {
        **everything,
        "downlink_bytes_per_device": collected.downlink_bytes / per_device,
        "uplink_bytes_per_device": collected.uplink_bytes / per_device,
        "by_phase": _phases(repeats[0], phase),
    }


def _reconstruction(repeats: Sequence[Repeat]) -> dict[str, Any]:
    found = [repeat.outcome.reconstruction for repeat in repeats]
    if len(found) == 1:
        return dict(found[0])
    figures = {name: mean([each[name] for each in found]) for name in found[0] if name != "degrees"}
    counted = [each["degrees"] for each in found if each.get("degrees") is not None]
    return {**figures, "degrees": mean_degrees(counted) if counted else None}


def _phases(repeat: Repeat, everything: dict[str, int]) -> dict[str, Any]:
    if repeat.outcome.phases is None:
        return {"collect": everything} if repeat.outcome.collected.asked else {}
    return {name: dict(phase) for name, phase in repeat.outcome.phases.items()}


def peak_rss() -> int:
    """Return the largest resident size of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _spread(values: Sequence[float | None]) -> float | None:
    """Sample standard deviation; one figure has no spread."""
    known = [value for value in values if value is not None]
    return float(np.std(known, ddof=1)) if len(known) > 1 else None


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)
