"""Page of a plan: one self-contained file without a script, the table of a plan and the commands that rehearse it."""

from __future__ import annotations

from pathlib import Path

from ldpsim.cli.report.page import environment
from ldpsim.cli.words import NONE, bytes_, epsilon, guessed, planned_loss, size
from ldpsim.curator.privacy.levels import LEVELS
from ldpsim.devices.atomic_files import PASSED_AROUND, write_atomically
from ldpsim.strategies.planning.plan import RULE, Plan
from ldpsim.strategies.results.in_words import at_the_level


def write_plan_page(path: Path, made: Plan) -> None:
    """Write the page, completely or not at all."""
    write_atomically(path, render_plan(made), mode=PASSED_AROUND)


def render_plan(made: Plan) -> str:
    """Return the page as text."""
    return environment().get_template("plan.html").render(
        plan=made, facts=made.facts, level=at_the_level(made.wishes.level), levels=LEVELS, rule=RULE, dash=NONE,
        bytes_=bytes_, epsilon=epsilon, guessed=guessed, planned_loss=planned_loss, size=size,
    )  # fmt: skip
