"""Declaration of an option: everything that commands, files, tables and hashes read of it.

A field of :class:`ldpsim.strategies.setup.options.RunOptions` is declared with :func:`option`.
:func:`declared` returns the declarations. Nothing else lists the options of a run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache, cached_property
from numbers import Integral, Real
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from ldpsim.curator.names import paper_name

POPULATION, BUDGET, DEVICES, MODEL, OUTPUT, RUNNING = PANELS = (
    "What to simulate", "Privacy", "Devices", "Model", "Output", "Engine",
)  # fmt: skip

Allows = Callable[[Any], bool]
Unread = Callable[[Any, Any], str]
# always: the value as given. unless default: left out of the hash at its default, so that older hashes
# stay valid; the form for every new option. in force: what follows from it is hashed instead (the data's
# digest, the budget, the parameters, the four seeds). never: it cannot change the result.
Hashed = Literal["always", "unless default", "in force", "never"]


def exact(value: float) -> str:
    """Return a number in six digits where these are exact, else in ten.

    >>> exact(8.0), exact(1e9), exact(8.474107)
    ('8', '1e+09', '8.474107')
    """
    short = f"{value:g}"
    return short if float(short) == value else f"{value:.10g}"


def all_digits(value: float) -> str:
    """Return a number with as many digits as tell it from every other one.

    >>> all_digits(8.0), all_digits(0.1), all_digits(1 / 3)
    ('8', '0.1', '0.3333333333333333')
    """
    return repr(float(value)).removesuffix(".0")


@dataclass(frozen=True, kw_only=True)
class OptionSpec:
    """One option.

    Args:
        help: Text for ``--help``, without a full stop: with the option and its default one line of 80 columns.
        panel: Heading in ``--help``.
        metavar: Form of a value in ``--help``; empty for the allowed values.
        values: Allowed values; empty for any.
        allows: Whether a value is allowed; not called for None.
        must: What a value must be; follows the option and the value in the error message.
        shown: Default as ``--help`` shows it, where the value itself says little.
        flag: Name on the command line, where it is not the field's. ``--no-x`` turns a truth value off.
        several: Whether the value is a list of names between commas; on the command line it may be repeated.
        envvar: Environment variable that is read where the option is not given.
        hashed: Form in which ``config_hash`` covers the option.
        column: Whether a sweep's table has a column for it.
        label: Word for it in a report's row labels; empty for the name.
        local: Whether it is the reader's own business: no row label and no shell command says it.
        flower: Whether the Flower app reads it from the run's configuration.
        no_effect: Values beside the default that ask for nothing.
        unread: Returns why nothing reads it, of the other options and the method; empty if something does.
        excludes: Options that nothing reads beside it, and why.
        name, kind, default: Of the field; :func:`declared` fills them in.
    """

    help: str
    panel: str
    metavar: str = ""
    values: tuple[str, ...] = ()
    allows: Allows | None = None
    must: str = ""
    shown: str = ""
    flag: str = ""
    several: bool = False
    envvar: str | None = None
    hashed: Hashed = "unless default"
    column: bool = True
    label: str = ""
    local: bool = False
    flower: bool = False
    no_effect: tuple[Any, ...] = ()
    unread: Unread | None = None
    excludes: tuple[frozenset[str], str] = (frozenset(), "")
    name: str = ""
    kind: Any = None
    default: Any = None

    @property
    def option(self) -> str:
        """Name on the command line."""
        return (self.flag or f"--{self.key}").partition("/")[0]

    @property
    def key(self) -> str:
        """Name in the Flower app's configuration."""
        return self.name.replace("_", "-")

    @property
    def is_path(self) -> bool:
        """Whether it names a place of the reader's own, a path or an address.

        A file of options may come from somebody else, so it does not set such an option.
        """
        return Path in self.types or self.name.endswith("address")

    @property
    def types(self) -> tuple[type, ...]:
        """Types of a value; for a table, of its entries."""
        return tuple(kind for kind in self._types if kind is not type(None))

    @property
    def _types(self) -> tuple[type, ...]:
        kind = get_args(self.kind)[1] if self.is_table else self.kind
        return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)

    def read(self, argument: Any) -> Any:
        """Read a value from a command line: one text, which may be a number for some options, or several names."""
        if self.several and not isinstance(argument, str):
            return ",".join(argument) if argument else self.default
        if self.types != (float, str) or not isinstance(argument, str):
            return argument
        try:
            return float(argument)
        except ValueError:
            return argument

    @cached_property
    def is_table(self) -> bool:
        """Whether the value is a mapping."""
        return get_origin(self.kind) is Mapping

    def is_given(self, value: Any) -> bool:
        """Return whether a value asks for something."""
        return value != self.default and value not in self.no_effect

    def words(self, value: Any) -> str:
        """Return the option with a value as a message names it."""
        if isinstance(value, bool):
            return self.option
        if self.is_table:
            return " ".join(f"{self.option} {paper_name(key)}={entry}" for key, entry in value.items())
        return f"{self.option} {exact(value) if isinstance(value, float) else value}"

    def value(self, argument: Any) -> Any:
        """Return a value in the option's own type: a number of numpy as Python's, text as a path.

        Raises:
            ValueError: one line that names the option, the value and what is allowed.
        """
        if not self.is_table:
            value = self._typed(argument, self.option)
            self.check(value)
            return value
        if not isinstance(argument, Mapping):
            raise ValueError(f"{self.option} {argument}: must be a table of names and values")
        if self.types == (str,):  # as on the command line
            argument = {key: _text(python_value(entry)) for key, entry in argument.items()}
        return {str(key): self._typed(entry, f"{self.option} {key}") for key, entry in argument.items()}

    def _typed(self, argument: Any, name: str) -> Any:
        value = python_value(argument)
        if value is None and type(None) in self._types:
            return None
        for kind in self.types:
            if kind is int and isinstance(value, float) and value.is_integer():
                return int(value)
            if kind is float and isinstance(value, int) and not isinstance(value, bool):
                with suppress(OverflowError):
                    return float(value)  # 4 and 4.0 are one budget, with one hash
            if kind in (Path, str) and isinstance(value, str | os.PathLike):
                return kind(value)
            if get_origin(kind) is tuple and isinstance(value, Iterable) and not isinstance(value, str):
                return tuple(map(python_value, value))
            if isinstance(value, get_origin(kind) or kind) and (kind is bool or not isinstance(value, bool)):
                return value
        words = {int: "a whole number", float: "a number", bool: "True or False", str: "text", Path: "a path"}
        raise ValueError(
            f"{name} {value}: must be {' or '.join(words.get(kind, kind.__name__) for kind in self.types)}"
        )

    def check(self, value: Any) -> None:
        """Check a value of the right type.

        Raises:
            ValueError: one line that names the option, the value and what is allowed.
        """
        if value is None:
            return
        if self.values and value not in self.values:
            raise ValueError(f"{self.words(value)}: must be one of {', '.join(self.values)}")
        if self.allows is not None and not self.allows(value):
            raise ValueError(f"{self.words(value)}: {self.must}")


def python_value(value: Any) -> Any:
    """Return numbers and arrays of numpy, pandas or torch as Python's own; everything else stays.

    >>> from fractions import Fraction
    >>> python_value(Fraction(1, 2)), python_value("a"), python_value(True), python_value((1, Fraction(3, 2)))
    (0.5, 'a', True, (1, 1.5))
    """
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list | tuple):
        return type(value)(map(python_value, value))
    if isinstance(value, bool):
        return value
    return int(value) if isinstance(value, Integral) else float(value) if isinstance(value, Real) else value


def set_python_values(options: Any) -> None:
    """Put :func:`python_value` of each field of a frozen dataclass in its place."""
    for name, value in vars(options).items():
        object.__setattr__(options, name, python_value(value))


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def option(default: Any = MISSING, help: str = "", panel: str = "", metavar: str = "", **more: Any) -> Any:
    """Declare a dataclass field as an option; see :class:`OptionSpec`."""
    metadata = {"option": OptionSpec(help=help, panel=panel, metavar=metavar, **more)}
    if isinstance(default, dict):
        return field(default_factory=default.copy, metadata=metadata)
    return field(default=default, metadata=metadata)


def up_to(most: int) -> dict[str, Any]:
    """Return what :func:`option` needs for a number of 1 to ``most``."""
    return {"allows": lambda count: 1 <= count <= most, "must": f"must be 1 to {most:,}"}


def declared(kind: type) -> dict[str, OptionSpec]:
    """Return the options of a dataclass by name, in the order of its fields."""
    return _declared(kind)


def set_checked(options: Any) -> None:
    """Put the fields of a frozen dataclass into their own types and check them; see :meth:`OptionSpec.value`."""
    for name, spec in declared(type(options)).items():
        object.__setattr__(options, name, spec.value(getattr(options, name)))


@cache
def _declared(kind: type) -> dict[str, OptionSpec]:
    hints = get_type_hints(kind)
    specs = {}
    for entry in fields(kind):
        default = entry.default if entry.default_factory is MISSING else entry.default_factory()
        spec: OptionSpec = entry.metadata["option"]
        specs[entry.name] = replace(spec, name=entry.name, kind=hints[entry.name], default=default)
    return specs
