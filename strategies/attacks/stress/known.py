"""Adversaries and faults of a stress test, by name."""

from __future__ import annotations

from collections.abc import Mapping

from ldpsim.strategies.attacks.adversaries import ADVERSARIES, AdversarialCurator
from ldpsim.strategies.attacks.adversaries.faults import FAULTS, Fault
from ldpsim.strategies.attacks.stress.plain import PLAIN

NO_FAULT = "none"
EVERY: Mapping[str, type[AdversarialCurator]] = {**PLAIN, **ADVERSARIES}
# Faults that need a process or a file system of their own have tests instead.
STRIKING: Mapping[str, Fault] = {name: fault for name, fault in FAULTS.items() if fault.strike is not None}
