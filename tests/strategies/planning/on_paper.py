"""A plan on paper, as tests make it: nobody is asked, and no method is rehearsed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from strategies.estimate.graph_facts import GraphFacts
from strategies.planning.plan import Plan, make_plan
from strategies.planning.rehearsal import Like
from strategies.planning.wishes import Wishes
from strategies.setup.options import RunOptions


def plan_on_paper(methods: Sequence[str], options: RunOptions, facts: GraphFacts, wishes: Wishes, **more: Any) -> Plan:
    """Return the plan for people with these facts."""
    return make_plan(methods, facts, wishes, Like(options), worth=False, **more)
