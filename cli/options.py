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


def plain_option(flags: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """Return a Typer option; a shell completes the words of its metavar unless there is another completion.

    Args:
        flags: Its names, with a space between them.
        help: One line for ``--help``.
        metavar: Form of a value.
        more: Arguments of ``typer.Option``.
    """
    more.setdefault("autocompletion", completion.from_metavar(metavar))
    return typer.Option(*flags.split(), help=help, metavar=metavar, **more)


def in_panel(panel: str, flags: str, help: str, metavar: str | None = None, **more: Any) -> Any:
    """Return a Typer option under a heading of ``--help``."""
    return plain_option(flags, help, metavar, rich_help_panel=panel, **more)


def _typer_option(name: str, spec: OptionSpec, **more: Any) -> Any:
    metavar = spec.metavar or "|".join(spec.values) or None
    if name in completion.OF_A_RUN:
        more["autocompletion"] = completion.OF_A_RUN[name]
    elif spec.values:
        more["autocompletion"] = completion.from_names(lambda: spec.values)
    if name == "clients":
        more["parser"] = whole_number
    flag = spec.flag or f"--{name.replace('_', '-')}"
    return in_panel(spec.panel, flag, spec.help, metavar, show_default=spec.shown or True, envvar=spec.envvar, **more)


def _shared(name: str) -> Any:
    return _typer_option(name, declared(RunOptions)[name])


Dataset = Annotated[str, _shared("dataset")]
Clients = Annotated[int | None, _shared("clients")]
DataDir = Annotated[Path | None, _shared("data_dir")]
Seed = Annotated[int, _shared("seed")]
Workers = Annotated[int | None, _shared("workers")]
RayAddress = Annotated[str | None, _shared("ray_address")]
Out = Annotated[Path, _shared("out")]

_FROM_FILE = "Read defaults from a config.toml (paths are ignored)"
Config = Annotated[
    Path | None,
    in_panel(OUTPUT, "--config", _FROM_FILE, "FILE", callback=read_config, is_eager=True),
]
_TRACK = "Log to mlflow:URI, wandb or tensorboard:DIR"
Track = Annotated[list[str] | None, in_panel(OUTPUT, "--track", _TRACK, "TRACKER")]
AsJson = Annotated[bool, in_panel(OUTPUT, "--json", "Print the result as one JSON document")]
Details = Annotated[bool, in_panel(OUTPUT, "--details -v", "Print all tables")]
Quiet = Annotated[bool, in_panel(OUTPUT, "--quiet -q", "Print nothing but the path of the result")]
Debug = Annotated[
    bool, in_panel(OUTPUT, "--debug", "Show the traceback of a failure", callback=ask_for_debug, is_eager=True)
]

Function = Callable[..., None]


def with_run_options(*, leave_out: Sequence[str] = ()) -> Callable[[Function], Function]:
    """Give a command the options of a run, in place of its parameter ``options``.

    Args:
        leave_out: Options that the command does not have.
    """
    return _with_options([one for one in _of_a_run() if one.name.removeprefix("no_") not in leave_out], _options)


def with_options(kind: type, **readers: Callable[[str], Any]) -> Callable[[Function], Function]:
    """Give a command the options that the fields of a dataclass declare, in place of its parameter ``options``.

    Args:
        kind: The dataclass.
        readers: Field whose value is one text on the command line -> the function that reads it.
    """
    specs = declared(kind)

    def read(arguments: Mapping[str, Any]) -> Any:
        chosen = {name: value for name, value in arguments.items() if value is not None}
        chosen |= {name: tuple(value) for name, value in chosen.items() if specs[name].several}
        return kind(**chosen | {name: readers[name](value) for name, value in chosen.items() if name in readers})

    made = []
    for name, spec in specs.items():
        value: Any = list[str] | None if spec.several else str | None if name in readers else spec.kind
        default = None if spec.several or name in readers else spec.default
        made.append(_parameter(name, value, default, _typer_option(name, spec)))
    return _with_options(made, read)


def _with_options(
    made: Sequence[inspect.Parameter], read: Callable[[Mapping[str, Any]], Any]
) -> Callable[[Function], Function]:
    """Return the decorator of a command: these options stand in place of its parameter ``options``."""

    def decorate(function: Function) -> Function:
        several: list[inspect.Parameter] = []
        for own in inspect.signature(function, eval_str=True).parameters.values():
            several += made if own.name == "options" else [own.replace(kind=inspect.Parameter.KEYWORD_ONLY)]

        @wraps(function)
        def command(**arguments: Any) -> None:
            values = {one.name: arguments.pop(one.name) for one in made if one.name in arguments}
            function(**arguments, options=read(values))

        command.__signature__ = inspect.Signature(several)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in several}
        return command

    return decorate


def _of_a_run() -> Iterator[inspect.Parameter]:
    for spec in declared(RunOptions).values():
        several = {f"{seed.name}_seed": seed for seed in declared(Seeds).values()} if spec.name == "seeds" else {}
        for name, one in (several or {spec.name: spec}).items():
            kind, default = one.kind, one.default
            if several:  # the seed of the noise is a number, or the word os
                kind, default = (str if one.name == "noise" else int) | None, None
            elif one.is_table or one.several:
                kind, default = list[str] | None, None
            elif one.option.startswith("--no-"):
                name, kind, default = f"no_{name}", bool, False
            elif len(one.types) > 1:  # a number or a word: see OptionSpec.read
                kind = str | None
            yield _parameter(name, kind, default, _typer_option(name, one))


def _parameter(name: str, kind: Any, default: Any, option: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _options(arguments: Mapping[str, Any]) -> RunOptions:
    """Return the options that the generated parameters stand for."""
    check_places(click.get_current_context(silent=True))
    values: dict[str, Any] = {}
    for name, spec in declared(RunOptions).items():
        if name == "seeds":
            values[name] = seeds({seed: arguments.get(f"{seed}_seed") for seed in declared(Seeds)})
        elif f"no_{name}" in arguments:
            values[name] = not arguments[f"no_{name}"]
        elif name in arguments:
            values[name] = read_table(spec, arguments[name]) if spec.is_table else spec.read(arguments[name])
    return RunOptions(**values)


def pairs(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Read ``KEY=VALUE`` texts.

    Raises:
        ValueError: for a text without ``=`` or without a key, or a key given twice.
    """
    values: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise ValueError(f"{option} {text}: must be of the form KEY=VALUE")
        if key in values:
            raise ValueError(f"{option} {text}: {key} is given twice")
        values[key] = value
    return values


def numbers(option: str, text: str, *, whole: bool = False) -> tuple[Any, ...]:
    """Read numbers joined by commas; ValueError that names the option for anything else."""
    try:
        return tuple(int(part) if whole else float(part) for part in text.split(","))
    except ValueError:
        hint = "whole numbers joined by commas are needed, for example 1,25,1000" if whole else (
            "numbers joined by commas are needed, for example 0,0.05,0.2")  # fmt: skip
        raise ValueError(f"{option} {text}: {hint}") from None


def read_table(spec: OptionSpec, texts: Sequence[str] | None) -> dict[str, Any]:
    """Read ``KEY=VALUE`` texts as values of the option's type.

    Raises:
        ValueError: as :func:`pairs`, and for a value of another type.
    """
    (kind,) = spec.types
    table: dict[str, Any] = {}
    for key, text in pairs(spec.option, texts).items():
        try:
            table[key] = kind(text)
        except ValueError:
            raise ValueError(f"{spec.option} {key}={text}: not a number") from None
    return table


def seeds(values: Mapping[str, Any]) -> dict[str, int | None]:
    """Return the named seeds that were given; the word ``os`` becomes None.

    Raises:
        ValueError: for a seed that is neither a whole number nor that word.
    """
    by_name: dict[str, int | None] = {}
    for name, value in values.items():
        try:
            if value is not None:
                by_name[name] = None if str(value).lower() == "os" else int(value)
        except ValueError:
            raise ValueError(f"--{name}-seed {value}: must be a whole number, or the word os") from None
    return by_name
