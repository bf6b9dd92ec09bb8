"""``ldpsim run``: one simulation."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout

import typer

from cli import options as o
from cli.errors import FAILED, REFUSED, Failure
from cli.progress import Progress
from strategies.setup.options import RunOptions


@o.with_run_options(after={"as_json": "out"})
def run(
    config: o.Config = None,
    *,
    options: RunOptions,
    as_json: o.AsJson = False,
    quiet: o.Quiet = False,
    debug: o.Debug = False,
) -> None:
    """Run one simulation: devices answer once, a curator rebuilds the graph and trains a network on it."""
    with stdout_to_stderr(), Progress(shown=not (quiet or as_json)) as progress:
        progress("starting", None)
        from strategies import Refused, RunFailed, simulate

        try:
            result = simulate(options, progress=progress)
        except Refused as refused:
            raise Failure(str(refused), REFUSED) from refused
        except RunFailed as failed:
            raise Failure(str(failed), FAILED) from failed

    if as_json:
        from strategies.results.folder import plain

        typer.echo(json.dumps(plain(result.record), indent=2, allow_nan=False))
    elif quiet:
        if result.folder is not None:
            typer.echo(str(result.folder / "result.json"))
    else:
        from cli.summary import WIDTH, console, summary

        console(width=WIDTH).print(summary(result.record, folder=result.folder, extra=result.extra))


@contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send all that this process and its children print to standard error: the result has standard output alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
