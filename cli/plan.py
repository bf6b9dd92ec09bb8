"""``ldpsim plan``: what methods protect and cost, computed before anybody is asked."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, print_json, text_table, working
from ldpsim.cli.screen import NARROW
from ldpsim.cli.words import NONE, bytes_, epsilon, guessed, planned_loss
from ldpsim.strategies.setup.option_spec import BUDGET, POPULATION, declared
from ldpsim.strategies.setup.options import PLANNED, RunOptions

if TYPE_CHECKING:
    from ldpsim.strategies.planning.plan import Plan, PlanRow

_SHARED = ("nothing", "some labels", "part of all", "all records")  # in clear of an ordinary person
_LIKE = o.in_panel(POPULATION, "--like", "Facts of a data set or your .npz", "NAME|FILE",
                   autocompletion=completion.datasets)  # fmt: skip
_LEVEL = o.in_panel(BUDGET, "--level", "Level that the plan is about", "LEVEL", autocompletion=completion.levels)
_HOLDS = o.in_panel(BUDGET, "--holds", "Solve for budgets at which X holds there", "X")
_ATTACK = o.in_panel(BUDGET, "--max-attack", "The same: the chance of a right guess is P", "P")


@o.with_run_options(leave_out=[name for name in declared(RunOptions) if name not in PLANNED - {"dataset"}])
def plan(
    methods: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[METHOD]...",
            help="Methods; `ldpsim methods` lists them; none: all",
            autocompletion=completion.methods,
        ),
    ] = None,
    like: Annotated[str, _LIKE] = "generated",
    level: Annotated[str, _LEVEL] = "person",
    holds: Annotated[float | None, _HOLDS] = None,
    max_attack: Annotated[float | None, _ATTACK] = None,
    *,
    options: RunOptions,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Compute on paper what each method protects and costs.

    The last line is the comparison that measures these methods on people like yours.

    ldpsim plan --clients 50000 --mean-degree 12 --level person --holds 4
    ldpsim plan hogs vote --like cora --clients 50000
    """
    with working(quiet=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies.planning.plan import TargetLoss, make_plan

        made = make_plan(methods or (), TargetLoss(level, holds, max_attack), replace(options, dataset=like),
                         progress=progress)  # fmt: skip
        file = made.write(options.out) if options.out is not None else None
    if as_json:
        print_json(made.to_dict())
    elif quiet:
        echo(str(file))
    else:
        _show(made, file)


def _show(made: Plan, file: Path | None) -> None:
    from rich.markup import escape

    from ldpsim.curator.privacy.levels import level_term
    from ldpsim.strategies.planning.plan import PEOPLE
    from ldpsim.strategies.results.in_words import guess, protection, which_epsilon_hides

    screen, facts, target = console(), made.facts, made.target
    screen.print(
        f"[bold]{facts.n:,} people on paper[/bold]: {facts.mean_degree:g} friends each, "
        f"{100 * facts.homophily:.3g} % of friendships inside a class, {facts.classes} classes, "
        f"{facts.features} features ({facts.words:.3g} of them not 0)"
    )
    if target.loss is not None:
        best = guessed(guess(target.loss, 0.0))
        screen.print(
            f"Budgets at which {epsilon(target.loss)} holds for {level_term(target.level)}: of two equally likely "
            f"values the right one is guessed with a chance of {best} at most: "
            f"{protection(target.loss).word}."
        )
    screen.print(which_epsilon_hides())
    levels = list(dict.fromkeys([target.level] if screen.width < NARROW else ["relationship", "user", target.level]))
    terms = [f">{level_term(level).removeprefix('a ')}" for level in levels]
    budget, rest = ([], []) if screen.width < NARROW else ([">budget"], ["memory", "in clear"])
    table = text_table("method", *budget, *terms, ">bytes", *rest, gap=1)
    for row in made.rows:
        cells = _cells(row, levels)
        table.add_row(*(cells if rest else [cells[0], *cells[2:-2]]))
    screen.print(table)
    of_rest = " memory: a run on this machine, within a factor of 2. in clear: of an ordinary person." if rest else ""
    screen.print(
        "[dim]An epsilon for each level. *: the rest of the record is public. c: a person in records that a trusted "
        f"server has. bytes: of a device, both ways.{of_rest}[/dim]"
    )
    reasons: dict[str, list[str]] = {}
    for name, why in [*((row.name, why) for row in made.rows for why in row.why), *made.failures.items()]:
        reasons.setdefault(why, []).append(name)
    for why, names in reasons.items():
        screen.print(f"  [dim]{escape(', '.join(names))}: {escape(why)}[/dim]")
    if file is not None:
        echo(f"Written to {file}")
    if unsolved := [row.name for row in made.rows if not row.solved]:
        screen.print(f"[dim]Not compared, as no budget gives this loss in a comparison: {', '.join(unsolved)}.[/dim]")
    if made.command:
        screen.print(f"Accuracy is measured, not computed. On {min(PEOPLE, facts.n):,} people like these:")
        screen.print(f"  {made.command}", markup=False, soft_wrap=True)


def _cells(row: PlanRow, levels: list[str]) -> list[str]:
    figures = row.figures
    budget = NONE if row.setting is None else f"{row.setting[0]} {row.setting[1]:.3g}".strip()
    held = []
    for entry in map(row.at, levels):
        mark = "*" if entry["public"] else "c" if entry["level"] == "central_node" else ""
        held.append(planned_loss(entry) + ("" if entry["value"] is None else mark))
    memory = figures["memory"] if figures["memory"] != "does not fit" else f"[red]{figures['memory']}[/red]"
    name = f"[dim]{row.name}[/dim]" if row.why else row.name
    return [name, budget, *held, bytes_(figures["bytes_per_device"]), memory, _SHARED[row.shared]]
