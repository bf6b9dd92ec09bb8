"""Options of the commands, made from the declarations of :class:`strategies.RunOptions`.

Values are checked where they are declared, so that the command line, a sweep file and a
Python caller get the same line for the same mistake. Here only text is read: ``LEVEL=X``,
``KEY=VALUE``, a seed or the word ``os``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import click
import typer

from ldpsim.cli import completion
from ldpsim.cli.config import check_places, read_config
from ldpsim.cli.errors import ask_for_debug
from ldpsim.strategies.setup.option_spec import OUTPUT, OptionSpec, declared
from ldpsim.strategies.setup.options import RunOptions, Seeds


def _of_an_owner(kind: type, help: str, shown: str, metavar: str = "", **more: Any) -> tuple[type, OptionSpec]:
    return kind, OptionSpec(help=help, panel="PrivGnn and PATE", metavar=metavar, shown=shown, **more)


# Parameters of an owner's methods that have an option of their own beside --set.
OF_AN_OWNER = {
    "queries": _of_an_owner(int, "Number of public nodes to ask about.", "1000", "N"),
    "gamma": _of_an_owner(float, "Probability that a person is drawn.", "0.3", "G"),
    "lambda_": _of_an_owner(float, "1 / scale of the Laplace noise on each class.", "0.4", "X", flag="--lambda"),
    "delta": _of_an_owner(float, "Delta of the guarantee, below 1 / n.", "a power of ten below 1 / n", "D"),
    "sampling": _of_an_owner(str, "A new sample for each query, or one for all.", "fresh", values=("fresh", "once")),
    "query_selection": _of_an_owner(
        str, "How nodes are chosen: random, pagerank, degree or cluster.", "random", "RULE"
    ),
}


def whole_number(text: str | int) -> int:
    """Read a count: digits, with ``_`` between them if wanted, or a form such as 1e8.

    >>> whole_number("1e8"), whole_number("50_000")
    (100000000, 50000)

    Raises:
        typer.BadParameter: for anything else.
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        value = float(text)
        if value.is_integer():
            return int(value)
    except (ValueError, OverflowError):
        pass
    raise typer.BadParameter(f"{text!r} is not a valid integer.")


def plain_option(flag: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """Return a Typer option; a shell completes the words of its metavar unless there is another completion."""
    more.setdefault("autocompletion", completion.from_metavar(metavar))
    return typer.Option(flag, help=help, metavar=metavar, **more)


def in_panel(panel: str | None, flag: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """Return a Typer option under a heading of ``--help``; None for the options that come first."""
    return plain_option(flag, help, metavar, rich_help_panel=panel, **more)


def debug(**more: Any) -> Any:
    """Return the option ``--debug``."""
    return typer.Option(
        "--debug", help="Show the traceback of a failure.", callback=ask_for_debug, is_eager=True, **more
    )


def _typer_option(name: str, spec: OptionSpec, *, hidden: bool = False) -> Any:
    metavar = spec.metavar or "|".join(spec.values) or None
    counts = {"parser": whole_number} if name == "clients" else {}
    return in_panel(
        None if spec.common else spec.panel, spec.flag or f"--{name.replace('_', '-')}", spec.help, metavar,
        show_default=spec.shown or True, envvar=spec.envvar, hidden=hidden,
        autocompletion=completion.OF_A_RUN.get(name, completion.from_metavar(metavar)), **counts,
    )  # fmt: skip


def _shared(name: str) -> Any:
    return _typer_option(name, declared(RunOptions)[name])


Dataset = Annotated[str, _shared("dataset")]
Clients = Annotated[int | None, _shared("clients")]
DataDir = Annotated[Path | None, _shared("data_dir")]
Seed = Annotated[int, _shared("seed")]
Workers = Annotated[int | None, _shared("workers")]
RayAddress = Annotated[str | None, _shared("ray_address")]
Out = Annotated[Path, _shared("out")]

_FROM_FILE = "Take what is not given here from a run's config.toml; no paths and no addresses."
Config = Annotated[
    Path | None,
    in_panel(OUTPUT, "--config", _FROM_FILE, "FILE", callback=read_config, is_eager=True),
]
_TRACK = "Log to mlflow:URI, wandb or tensorboard:DIR; repeatable."
Track = Annotated[list[str] | None, in_panel(OUTPUT, "--track", _TRACK, "TRACKER", show_default="nowhere")]
AsJson = Annotated[bool, in_panel(OUTPUT, "--json", "The result as one JSON document on standard output.")]
Details = Annotated[bool, in_panel(OUTPUT, "--details", "Print all tables below the verdict.")]
Quiet = Annotated[bool, in_panel(OUTPUT, "--quiet", "Print nothing but the path of the result.")]
Debug = Annotated[bool, debug(rich_help_panel=OUTPUT)]
# Of commands whose help has no headings.
PlainJson = Annotated[bool, plain_option("--json", "Print one JSON document.")]
PlainDebug = Annotated[bool, debug()]


def with_run_options(
    *, leave_out: Sequence[str] = (), hidden: Sequence[str] = (), after: Mapping[str, str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a run.

    The command has a parameter ``options``. On the command line, the options of
    :class:`strategies.RunOptions` stand in its place.

    Args:
        leave_out: Options that the command does not have.
        hidden: Options that ``--help`` does not show.
        after: Parameter of the command -> option of a run that it follows in ``--help``.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = dict(inspect.signature(function, eval_str=True).parameters)
        moved = {name: own.pop(name) for name in after or {}}
        several: list[inspect.Parameter] = []
        for parameter in own.values():
            if parameter.name != "options":
                several.append(parameter)
                continue
            for made in _parameters(leave_out, hidden):
                several.append(made)
                several += [moved[name] for name, before in (after or {}).items() if before == made.name]
        shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in several]

        @wraps(function)
        def command(**given: Any) -> None:
            check_places(click.get_current_context(silent=True))
            mine = {name: given.pop(name) for name in list(given) if name in own or name in moved}
            function(**mine, options=_options(given))

        command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return command

    return decorate


def with_options(kind: type, **readers: Callable[[str], Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options that the fields of a dataclass declare, in place of its parameter ``options``.

    Args:
        kind: The dataclass.
        readers: Field whose value is one text on the command line -> the function that reads it.
    """

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        specs, several = declared(kind), []
        for own in inspect.signature(function, eval_str=True).parameters.values():
            if own.name != "options":
                several.append(own)
                continue
            for name, spec in specs.items():
                value: Any = list[str] | None if spec.several else str | None if name in readers else spec.kind
                default = None if spec.several or name in readers else spec.default
                several.append(_parameter(name, value, default, spec))
        shown = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in several]

        @wraps(function)
        def command(**given: Any) -> None:
            values = {name: given.pop(name) for name in specs}
            chosen = {
                name: tuple(value) if specs[name].several else readers[name](value) if name in readers else value
                for name, value in values.items()
                if value is not None
            }
            function(**given, options=kind(**chosen))

        command.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
        return command

    return decorate


def _parameters(leave_out: Sequence[str], hidden: Sequence[str]) -> Iterator[inspect.Parameter]:
    for spec in declared(RunOptions).values():
        if spec.name in leave_out:
            continue
        if spec.name == "seeds":
            for seed in declared(Seeds).values():
                kind: Any = str if seed.name == "noise" else int  # a number, or the word os
                yield _parameter(f"{seed.name}_seed", kind | None, None, seed)
        elif spec.is_table or spec.several:
            yield _parameter(spec.name, list[str] | None, None, spec)
        elif spec.option.startswith("--no-"):
            yield _parameter(f"no_{spec.name}", bool, False, spec)
        else:
            kind = spec.kind if len(spec.types) == 1 else str | None  # a number or a word: see OptionSpec.read
            yield _parameter(spec.name, kind, spec.default, spec, hidden=spec.name in hidden)
        if spec.name == "settings":
            for name, (kind, owner) in OF_AN_OWNER.items():
                if name not in leave_out:
                    yield _parameter(name, kind | None, None, owner)


def _parameter(name: str, kind: Any, default: Any, spec: OptionSpec, *, hidden: bool = False) -> inspect.Parameter:
    annotation = Annotated[kind, _typer_option(name, spec, hidden=hidden)]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _options(given: Mapping[str, Any]) -> RunOptions:
    """Return the options that the generated parameters stand for."""
    values: dict[str, Any] = {}
    for name, spec in declared(RunOptions).items():
        if name == "seeds":
            values[name] = seeds({seed: given.get(f"{seed}_seed") for seed in declared(Seeds)})
        elif f"no_{name}" in given:
            values[name] = not given[f"no_{name}"]
        elif name in given:
            values[name] = read_table(spec, given[name]) if spec.is_table else spec.read(given[name])
    owner = {name: str(given[name]) for name in OF_AN_OWNER if given.get(name) is not None}
    return RunOptions(**{**values, "settings": {**values.get("settings", {}), **owner}})


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Read ``KEY=VALUE`` texts.

    Raises:
        ValueError: for a text without ``=`` or without a key, or a key given twice.
    """
    found: dict[str, str] = {}
    for text in given or ():
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise ValueError(f"{option} {text}: must be of the form KEY=VALUE")
        if key in found:
            raise ValueError(f"{option} {text}: {key} is given twice")
        found[key] = value
    return found


def numbers(option: str, text: str, *, whole: bool = False) -> tuple[Any, ...]:
    """Read numbers joined by commas; ValueError that names the option for anything else."""
    try:
        return tuple(int(part) if whole else float(part) for part in text.split(","))
    except ValueError:
        said = "whole numbers joined by commas are needed, for example 1,25,1000" if whole else (
            "numbers joined by commas are needed, for example 0,0.05,0.2")  # fmt: skip
        raise ValueError(f"{option} {text}: {said}") from None


def read_table(spec: OptionSpec, given: Sequence[str] | None) -> dict[str, Any]:
    """Read ``KEY=VALUE`` texts as values of the option's type.

    Raises:
        ValueError: as :func:`pairs`, and for a value of another type.
    """
    (kind,) = spec.types
    found: dict[str, Any] = {}
    for key, text in pairs(spec.option, given).items():
        try:
            found[key] = kind(text)
        except ValueError:
            raise ValueError(f"{spec.option} {key}={text}: not a number") from None
    return found


def seeds(given: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the named seeds that were given; the word ``os`` becomes None.

    Raises:
        ValueError: for a seed that is neither a whole number nor that word.
    """
    found: dict[str, int | None] = {}
    for name, value in given.items():
        try:
            if value is not None:
                found[name] = None if str(value).lower() == "os" else int(value)
        except ValueError:
            raise ValueError(f"--{name}-seed {value}: must be a whole number, or the word os") from None
    return found
