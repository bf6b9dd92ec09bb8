"""A plan on paper, as tests make it: nobody is asked, and no method is rehearsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.planning.plan import Plan, make_plan
from ldpsim.strategies.planning.rehearsal import Like
from ldpsim.strategies.planning.wishes import Wishes
from ldpsim.strategies.setup.options import RunOptions


def plan_on_paper(methods: Sequence[str], options: RunOptions, facts: GraphFacts, wishes: Wishes, **more: Any) -> Plan:
    """Return the plan for people with these facts."""
    return make_plan(methods, facts, wishes, Like(options), worth=False, **more)
