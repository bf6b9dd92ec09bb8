"""Why a null model of a run is not taken, or without a part of its family, in words that a person reads."""

from __future__ import annotations

from collections.abc import Collection

from ldpsim.curator.learning.link import MOST_PEOPLE
from ldpsim.curator.methods import Method
from ldpsim.curator.nulls.inputs import NullInputs
from ldpsim.devices.prediction import DeviceModel
from ldpsim.strategies.results.verdict import (
    DEVICE_ALONE,
    DEVICE_ALONE_WITH_FRIENDS,
    DEVICE_FEATURES,
    FEATURES_ALONE,
    GRAPH_ALONE,
    GRAPH_LEARNED,
    SHUFFLED,
)
from ldpsim.strategies.runs.repeat import Repeat

NO_LABEL = "no label of a training person is known"


def reasons(
    repeat: Repeat, null_inputs: NullInputs | None, taken: Collection[str],
    device_models: tuple[DeviceModel, DeviceModel | None] | None,
) -> dict[str, str]:  # fmt: skip
    """Return the reason of each null model that is missing, or has a part of its family alone, by name.

    Args:
        repeat: The repeat.
        null_inputs: What null models may use; None where none were to be taken.
        taken: Names of the null models that were taken.
        device_models: What devices predict from, after the reports and without any; None where they predict nothing.
    """
    if null_inputs is None:
        return {}
    found, verb = dict[str, str](), _verb(repeat.setup.method)
    volunteers = repeat.setup.budget.volunteers
    missing = {
        **dict.fromkeys((GRAPH_ALONE, GRAPH_LEARNED), _graph(null_inputs, verb)),
        FEATURES_ALONE: _features(null_inputs, verb, volunteers=volunteers),
    }
    for name, reason in missing.items():
        if name not in taken:
            found[name] = f"not run: {reason or NO_LABEL}"
    if GRAPH_LEARNED in taken and (part := _family(null_inputs)):
        found[GRAPH_LEARNED] = part
    if repeat.state is None:
        found[f"{SHUFFLED}all"] = "not run: there are no reports"
    if device_models is not None and device_models[1] is None:
        names = (DEVICE_ALONE, DEVICE_FEATURES, DEVICE_ALONE_WITH_FRIENDS)
        found |= dict.fromkeys(names, "not run: no label is public")
    elif device_models is not None and device_models[1] is not None and not device_models[1].columns:
        found[DEVICE_FEATURES] = "not run: no features are public"
    return found


def _verb(method: Method) -> str:
    """Return how a curator would have a graph or features; an owner has everything in clear, and nobody else has."""
    if method.spec.trained_by == "graph owner":
        return "public"
    return "read" if method.spec.reads and method.spec.trained_by == "curator" else "reported"


def _graph(null_inputs: NullInputs, verb: str) -> str:
    return f"no graph is {verb}" if null_inputs.edges is None else ""


def _features(null_inputs: NullInputs, verb: str, *, volunteers: bool) -> str:
    if null_inputs.features is None:
        return "volunteers alone give features" if volunteers else f"no features are {verb}"
    return "" if null_inputs.features.shape[1] else "the people have no features"


def _family(null_inputs: NullInputs) -> str:
    """Return what the family of the graph alone, learned, was taken without; empty where it is whole."""
    labels, split = null_inputs.labels, null_inputs.split
    if not all(len(labels.with_label(part)) for part in (split.train, split.val)):
        return "labels that spread alone: no validation label is known to choose by"
    return f"without LINK, which is skipped above {MOST_PEOPLE:,} people" if len(labels.labels) > MOST_PEOPLE else ""
