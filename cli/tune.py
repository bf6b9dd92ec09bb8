"""``ldpsim tune``: search of a method's parameters by validation accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import typer

from ldpsim.cli import completion
from ldpsim.cli import options as o
from ldpsim.cli.errors import FAILED, REFUSED, Failure
from ldpsim.cli.imports import large_imports
from ldpsim.cli.output import console, echo, print_json, show_sums, text_table, working
from ldpsim.cli.sweep import lists
from ldpsim.cli.words import percent
from ldpsim.strategies.setup.option_spec import MODEL, OUTPUT
from ldpsim.strategies.setup.options import RunOptions

_SHOWN = 10
_GRID = o.in_panel(MODEL, "--grid", "Values of a parameter of the curator", "KEY=V1,V2",
                   show_default="a small one")  # fmt: skip


@o.with_run_options(
    leave_out=("method", "tuned", "reference", "nulls", "all_nulls", "groups", "engine", "workers", "ray_address",
               "state", "on_requery", "caps", "collector_key", "out", "save_reports", "from_reports"))  # fmt: skip
def tune(
    method: Annotated[
        str,
        typer.Argument(metavar="METHOD", help="Method; `ldpsim methods` lists them", autocompletion=completion.methods),
    ],
    *,
    grid: Annotated[list[str] | None, _GRID] = None,
    options: RunOptions,
    as_json: o.AsJson = False,
    quiet: Annotated[bool, o.in_panel(OUTPUT, "--quiet -q", "Print nothing but the setting, as TOML")] = False,
    debug: o.Debug = False,
) -> None:
    """Find settings of a method on one set of reports.

    The search compares them by validation accuracy, as the curator sees it.

    ldpsim tune hogs --clients 3000
    ldpsim tune hogs --dataset cora --epsilon 4 --grid tau=.5,.7,.9 --repeats 3
    """
    wanted = lists("--grid", grid)
    options = replace(options, method=method, reference=False, out=None)
    with working(quiet=quiet or as_json) as progress:
        with large_imports():
            from ldpsim.strategies import Refused, RunFailed
            from ldpsim.strategies.experiments.tune import built_in, search, setting_of
        stages = (wanted,) if wanted else built_in(options)
        try:
            tuning = search(options, stages, progress=progress)
        except Refused as refused:
            raise Failure(str(refused), REFUSED) from refused
        except RunFailed as failed:
            raise Failure(str(failed), FAILED) from failed
        setting = setting_of(options, tuning, stages)

    if as_json:
        rows = [{"values": dict(tried.values), "val_accuracy": tried.val_accuracy} for tried in tuning.candidates]
        document = {"method": method, "collections": tuning.collections, "rows": rows, "best": setting,
                    "in_all": None if tuning.sums is None else tuning.sums.to_dict()}  # fmt: skip
        print_json(document)
    elif quiet:
        echo(_toml(setting), nl=False)
    else:
        _show(method, tuning, _toml(setting))


def _show(method: str, tuning: Any, toml: str) -> None:
    from rich.markup import escape

    keys = list(dict.fromkeys(key for tried in tuning.candidates for key in tried.values))
    shown = text_table(*(f">{key}" for key in keys), ">validation", gap=1 if len(keys) > 5 else 2)
    for tried in tuning.candidates[:_SHOWN]:
        shown.add_row(*(escape(_brief(tried.values.get(key))) for key in keys), percent(tried.val_accuracy))
    screen = console()
    screen.print(shown)
    count = len(tuning.candidates)
    rest = f"the best {_SHOWN} of " if count > _SHOWN else ""
    screen.print(
        f"[dim]{rest}{count} settings of {escape(method)}, by the validation labels that the curator has[/dim]"
    )
    screen.print(_collections(tuning.collections))
    show_sums(screen, filter(None, (tuning.sums,)))
    screen.print(f"\n{escape(toml)}", end="", soft_wrap=True)


def _toml(setting: dict[str, Any]) -> str:
    """Return a setting as a file of ``curator/tuned`` has it."""
    import tomli_w

    return tomli_w.dumps({"setting": [setting]})


def _collections(count: int) -> str:
    if count == 0:
        return "0 collections: no reports."
    if count == 1:
        return "1 collection: everything was compared on one set of reports."
    return f"{count} collections; a result with this setting names them."


def _brief(value: Any) -> str:
    return "-" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
