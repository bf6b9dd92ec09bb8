"""Attacks by name: the reports that each one is about, and the record that a liar claims.

An input lie sends the claimed record through the honest mechanism, with the device's own noise. A response
lie sends the mechanism's worst report for it (:mod:`strategies.attacks.liars.worst`). Reports that an attack is not
about stay honest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from devices.array_types import IntArray
from devices.data.population import Record
from devices.mechanisms.base import Grouping, Mechanism
from strategies.attacks.liars.accounts import JOINING
from strategies.attacks.liars.plan import Attack, LyingPlan

SILENT = "silent"  # the control: the liars do not answer


def _with_neighbours(record: Record, people: IntArray) -> Record:
    return replace(record, neighbours=np.unique(people).astype(np.int32))


def _everybody(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    others = np.delete(np.arange(len(plan.population)), device)
    return _with_neighbours(plan.population.record(device), others)


def honest_ones(flip: float, targets: int, degree: float) -> float:
    """Return the number of ones that an honest row of this degree has on average: a liar's row may have as many.

    Args:
        flip: Probability that a bit is flipped.
        targets: Number of bits.
        degree: Number of true ones.
    """
    return flip * targets + (1 - 2 * flip) * degree


def _as_many(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    record = plan.population.record(device)
    assert mechanism is not None and mechanism.flip_probability is not None  # `fits` says so
    targets = device if mechanism.reporting == "one-end" else len(plan.population) - 1
    ones = round(honest_ones(mechanism.flip_probability, targets, len(record.neighbours)))
    return _with_neighbours(record, plan.wanted(device)[:ones])


def _more(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    record = plan.population.record(device)
    kept = record.neighbours if plan.goal != "hide" else record.neighbours[:0]
    return _with_neighbours(record, np.concatenate([kept, plan.wanted(device)[: plan.fakes]]))


def _of_class(plan: LyingPlan, device: int, label: int) -> Record:
    """Return the liar's record with a label and, for a vote, as many neighbours of that class."""
    record = plan.population.record(device)
    same = np.flatnonzero(plan.population.labels == label)
    same = same[same != device]
    drawn = np.random.default_rng([plan.seed, device, 2]).permutation(same)[: max(1, len(record.neighbours))]
    return replace(_with_neighbours(record, drawn), label=label)


def _other_class(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    return _of_class(plan, device, plan.other_class(device))


def _chosen_class(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    return _of_class(plan, device, plan.target_class)


def _with_features(plan: LyingPlan, device: int, columns: IntArray) -> Record:
    record, high = plan.population.record(device), plan.population.facts.feature_high
    return replace(record, feature_indices=columns.astype(np.int32),
                   feature_values=np.full(len(columns), high, np.float32))  # fmt: skip


def _shared(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    size = None if mechanism is None else mechanism.set_size
    return _with_features(plan, device, plan.columns(plan.population.facts.d // 2 if size is None else size))


def _of_target(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    record = plan.population.record(device)
    if not len(plan.targets):
        return record
    copied = plan.population.record(int(plan.targets[device % len(plan.targets)]))
    return replace(record, feature_indices=copied.feature_indices, feature_values=copied.feature_values)


def _one_group(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    """Return the record of somebody who knows everybody; an input lie can only say so of one group's people."""
    if plan.lie == "response":
        return _everybody(plan, device, mechanism, grouping)
    groups = None if mechanism is None else mechanism.groups_of(grouping)
    if groups is None:
        return plan.population.record(device)
    chosen = groups[plan.targets[0]] if len(plan.targets) else np.bincount(groups).argmax()
    people = np.flatnonzero(groups == chosen)
    return _with_neighbours(plan.population.record(device), people[people != device])


def _own(plan: LyingPlan, device: int, mechanism: Mechanism | None, grouping: Grouping) -> Record:
    return plan.population.record(device)


def _flips(mechanism: Mechanism) -> bool:
    return bool(mechanism.flip_probability)


_ROWS = frozenset({"adjacency", "noisy_rows"})
_LABELS = frozenset({"labels", "votes"})
_FEATURES = frozenset({"features"})
_ALL = (
    Attack("all-ones", "a row that claims everybody", "untargeted", _ROWS, _everybody),
    Attack("mimic", "as many ones as an honest row has, all where the liar wants them", "untargeted",
           frozenset({"adjacency"}), _as_many, lies=("response",), about=_flips),
    Attack("fakes", "--fakes K people added to an honest row", "untargeted", _ROWS, _more, adds=True,
           handed_over="adjacency"),
    Attack("flip-label", "the class after one's own; a vote for another class", "untargeted", _LABELS, _other_class,
           trains=True, handed_over="label"),
    Attack("one-label", "the chosen class, from all liars", "inflate", _LABELS, _chosen_class, trains=True,
           handed_over="label"),
    Attack("extreme-feature", "the same few features at the end of the range, from all liars", "untargeted", _FEATURES,
           _shared, about=lambda mechanism: not mechanism.packed),
    Attack("extreme-bit", "the same half of the bits is 1 and the other is 0, from all liars", "untargeted",
           _FEATURES, _shared, about=lambda mechanism: mechanism.packed),
    Attack("copy", "the features of chosen people", "connect", _FEATURES, _of_target, handed_over="features"),
    Attack("degree-cap", "the largest degree that there can be", "influence", frozenset({"degrees"}), _everybody),
    Attack("group-mass", "all people in one group, in every stage", "influence", frozenset({"group_degrees"}),
           _one_group),
    Attack("same-direction", "an update as long as the server takes it, the same way from all liars", "inflate",
           frozenset(), _own, lies=("response",), trains=True),
)  # fmt: skip
ATTACKS: Mapping[str, Attack] = {attack.name: attack for attack in _ALL}  # of people who are there
EVERY: Mapping[str, Attack] = {**ATTACKS, **JOINING}
DESCRIPTIONS: Mapping[str, str] = {
    **{name: attack.description for name, attack in EVERY.items()},
    SILENT: "the liars do not answer (the control, always run)",
}
