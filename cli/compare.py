"""``ldpsim compare``: several methods on the same people, in one table and one page."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.errors import end_if_any_failed
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, print_json, show_failures, working
from ldpsim.strategies.setup.option_spec import BUDGET, MODEL, RUNNING
from ldpsim.strategies.setup.options import RunOptions

PAGE = "compare.html"
_MATCH = o.in_panel(BUDGET, "--match", "Same epsilon X for LEVEL (person, friendship, ...)", "LEVEL X",
                    autocompletion=completion.levels)  # fmt: skip


@o.with_run_options(leave_out=("method", "reference", "all_nulls", "engine", "state", "from_reports"))
def compare(
    methods: Annotated[
        list[str],
        typer.Argument(
            metavar="METHOD...", help="Methods; `ldpsim methods` lists them", autocompletion=completion.methods
        ),
    ],
    match: Annotated[tuple[str, float] | None, _MATCH] = None,
    *,
    engine: Annotated[str, o.in_panel(RUNNING, "--engine", "Runner of methods", "auto|local|ray")] = "auto",
    options: RunOptions,
    reference: Annotated[
        bool, o.in_panel(MODEL, "--reference/--no-reference", "Train each network without noise, too")
    ] = False,
    track: o.Track = None,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Run several methods on the same people and compare them.

    ldpsim compare hogs sbp vote raw --clients 3000
    ldpsim compare hogs vote raw --dataset cora --match person 4
    """
    with working(quiet=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.cli.report.gather import gathered_from
            from ldpsim.cli.report.page import write_page
            from ldpsim.cli.summary import show_groups
            from ldpsim.strategies.experiments.compare import compare as run
            from ldpsim.strategies.outputs.comparison import finding

        result = run(
            methods, replace(options, reference=reference), matching=match, engine=engine, workers=options.workers,
            ray_address=options.ray_address, progress=progress, track=track or (),
        )  # fmt: skip
        page, gathered = result.folder / PAGE, None
        if result.records:
            progress("drawing", None)
            gathered = gathered_from(result)
            write_page(page, gathered)

    if as_json:
        document = {
            "results": list(result.records),
            "html": str(page.absolute()) if gathered else None,
            "table": str(result.table.absolute()),
            "failed": {name: failed.line for name, failed in result.failures},
            "in_all": [total.to_dict() for total in result.sums],
        }
        print_json(document)
    elif quiet:
        echo(str(page if gathered else result.table))
    elif gathered is not None:
        groups, screen = gathered.groups, console()
        found = finding(groups, gathered.match)
        show_groups(groups, gathered.sums, level=gathered.match["level"] if gathered.match else None, found=found.text)
        for name, why in found.unmatched:
            screen.print(f"  {name}: {why}", markup=False)
        show_failures(screen, result.failures)
        echo(f"Written to {page}")
        echo(f"       and {result.table}")
    end_if_any_failed(result.failures, f"of {len(methods)} methods", debug=debug)
