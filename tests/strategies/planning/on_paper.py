"""A plan on paper, as tests make it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.planning.plan import Plan, Wishes, make_plan
from ldpsim.strategies.setup.options import RunOptions


def plan_on_paper(methods: Sequence[str], options: RunOptions, facts: GraphFacts, wishes: Wishes, **more: Any) -> Plan:
    """Return the plan for people with these facts."""
    return make_plan(methods, facts, wishes, options, **more)
