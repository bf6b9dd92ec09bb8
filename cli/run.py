"""``ldpsim run``: one simulation."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from ldpsim.cli import options as o
from ldpsim.cli.errors import FAILED, REFUSED, Failure
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, print_json, working
from ldpsim.cli.progress import Progress
from ldpsim.strategies.results.numbers import percent
from ldpsim.strategies.setup.option_spec import OUTPUT
from ldpsim.strategies.setup.options import RunOptions

_AGAIN = "Run a finished command once more, on new devices"
_GRAPH = "Save the graph; npz alone: in the run's folder"


@o.with_run_options()
def run(
    config: o.Config = None,
    *,
    options: RunOptions,
    save_graph: Annotated[str | None, o.in_panel(OUTPUT, "--save-graph", _GRAPH, "FILE|FORM")] = None,
    track: o.Track = None,
    again: Annotated[bool, o.in_panel(OUTPUT, "--again", _AGAIN)] = False,
    details: o.Details = False,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Run one simulation: private reports, a graph of them, a network.

    ldpsim run --clients 3000 --method hogs --feature-share 0.3
    ldpsim run --method vote --dataset cora --epsilon 4 --volunteers 0.1
    """
    with working(quiet=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies import Refused, RunFailed, simulate

        try:
            result = simulate(
                options, progress=progress, track=track or (), keep_graph=False, save_graph=save_graph, again=again,
                on_accuracy=partial(_show_early, progress, options),
            )  # fmt: skip
        except Refused as refused:
            raise Failure(str(refused), REFUSED) from refused
        except RunFailed as failed:
            raise Failure(str(failed), FAILED) from failed

    if result.earlier:
        echo("This command has a result already, and no new reports were made: --again runs it once more.", err=True)
    if as_json:
        from ldpsim.strategies.results.folder import plain

        print_json(plain(result.record))
    elif quiet:
        if result.folder is not None:
            echo(str(result.folder / "result.json"))
    else:
        from ldpsim.cli.summary import first_screen, summary
        from ldpsim.strategies.outputs.shell import comparison_of

        following = comparison_of(options, result.record)
        if details:
            shown = summary(result.record, folder=result.folder, next_command=following)
        else:
            shown = first_screen(result.record, folder=result.folder, next_command=following, more=True)
        console().print(shown, crop=False)  # a long word of the command stays whole


def _show_early(progress: Progress, options: RunOptions, accuracy: float) -> None:
    """Show the accuracy of the first repeat while the rest of the run goes on; nothing where it ends at once."""
    of = "" if options.repeats == 1 else f" of the first of {options.repeats} repeats"
    if of or options.nulls or options.reference:
        progress.figure(f"{options.method}{of} {percent(accuracy)}; the rest follows")
