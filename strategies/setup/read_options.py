"""Every given option of a run is read, or refused in one line.

A method names the options that it reads (``MethodSpec.options``), a parameter the values of others beside which it is
read (:func:`ldpsim.curator.methods.parameters.parameter`), and an option why nothing reads it beside other options
(:mod:`ldpsim.strategies.setup.unread`). Everything here follows from these declarations: the refusals, the options that
a method of a comparison or a cell of a sweep runs without, and the lists on the pages of the methods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ldpsim.curator.methods import Method, find, table
from ldpsim.curator.methods.parameters import unread_parameters
from ldpsim.curator.names import nearest
from ldpsim.curator.options import OF_METHODS
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.settings import TRAINING, unfit_training

SET = "settings."  # before the name of a parameter, as in a sweep file
_OPTIONS = declared(RunOptions)
_EXCLUDING = [spec for spec in reversed(_OPTIONS.values()) if spec.excludes[0]]


def check_read(options: RunOptions, method: Method) -> None:
    """Refuse a given option that a run does not read.

    Args:
        options: The run.
        method: Its method, with the parameters in force.

    Raises:
        ValueError: one line with the option, the reason, and the methods or options with which it is read.
    """
    for name, reason in unread(options, method).items():
        raise ValueError(f"{said(options, name)}: {reason}{_elsewhere(name, options, options.method)}")


def unread(options: RunOptions, method: Method) -> dict[str, str]:
    """Return why the method does not read an option, for each given option that it does not read.

    The key of a parameter is its name after ``settings.``.
    """
    found = {name: reason for name in _given(options) if (reason := _unread_option(name, options, method))}
    beside = {name: getattr(options, name) for name in _OPTIONS}
    of_method = unread_parameters(method, beside)
    for key in options.settings:
        if key in of_method:
            found[SET + key] = of_method[key]
        elif key in TRAINING and (reason := _unread_training(key, options, method)):
            found[SET + key] = reason
    return found


def _unread_option(name: str, options: RunOptions, method: Method) -> str:
    """Return why the method does not read a given option; empty if it does."""
    spec = _OPTIONS[name]
    if name in OF_METHODS and name not in method.in_force().options_read:
        return _not_by(method, name)
    for by in _EXCLUDING:
        if name in by.excludes[0] and by.is_given(getattr(options, by.name)):
            return by.excludes[1]
    if name == "gnn" and not _trains(options, method):
        return _no_network(method)
    return "" if spec.unread is None else spec.unread(options, method)


def read_alone(options: RunOptions) -> tuple[RunOptions, Mapping[str, str]]:
    """Return the options without those that their method does not read, and why it does not read these.

    A parameter that the method does not have is among them. Options that do not fit the method are returned as they
    are: its run says why.
    """
    kind = find(options.method)
    own = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    strange = {SET + key: f"{options.method} has no such parameter{nearest(key, own | TRAINING)}"
               for key in options.settings if key not in own | TRAINING}  # fmt: skip
    try:
        method = kind.from_settings({key: value for key, value in options.settings.items() if key in own})
    except ValueError:
        return without(options, strange), strange
    found = {**strange, **unread(options, method)}
    return without(options, found), found


def without(options: RunOptions, names: Iterable[str]) -> RunOptions:
    """Return the options with these at their default; ``settings.KEY`` is a parameter."""
    keys = {name.removeprefix(SET) for name in names if name.startswith(SET)}
    values: dict[str, Any] = {name: _OPTIONS[name].default for name in names if not name.startswith(SET)}
    if keys:
        values["settings"] = {key: value for key, value in options.settings.items() if key not in keys}
    return replace(options, **values)


def check_any_reads(options: RunOptions, reasons: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse an option that none of several methods reads.

    Args:
        options: What was given for all of them.
        reasons: Method -> the options that it does not read, and why.

    Raises:
        ValueError: one line with the option and the reasons.
    """
    given = [*_given(options), *(SET + key for key in options.settings)]
    for name in given:
        if all(name in found for found in reasons.values()):
            why = list(dict.fromkeys(found[name] for found in reasons.values()))
            said_of = why[0] if len(reasons) == 1 else f"none of {', '.join(reasons)} reads it ({'; '.join(why)})"
            raise ValueError(f"{said(options, name)}: {said_of}{_elsewhere(name, options, *reasons)}")


def said(options: RunOptions, name: str) -> str:
    """Return a given option, or ``settings.KEY``, as the command line has it."""
    if name.startswith(SET):
        key = name.removeprefix(SET)
        return f"--set {key}={options.settings[key]}"
    return _OPTIONS[name].said(getattr(options, name))


def _given(options: RunOptions) -> Sequence[str]:
    return [name for name, spec in _OPTIONS.items() if name != "settings" and spec.is_given(getattr(options, name))]


def _elsewhere(name: str, options: RunOptions, *asked: str) -> str:
    """Return the other methods that read an option, in words, each with the setting that it needs."""
    if name not in OF_METHODS:
        return ""
    others, found = replace(options, settings={}), []  # a reason depends on the method beside them
    for method, kind in table().items():
        needed = kind.spec.read_with.get(name)
        if method not in asked and not _unread_option(name, others, kind()):
            found.append(method)
        elif method not in asked and needed:
            found.append(f"{method} (with --set {needed})")
    return f"; it is read by {', '.join(found)}" if found else ""


def _not_by(method: Method, name: str) -> str:
    needed = type(method).spec.read_with.get(name)
    return f"{method.spec.name} does not read it" + (f" without --set {needed}" if needed else "")


def _trains(options: RunOptions, method: Method) -> bool:
    return method.in_force().trains_network or options.reference


def _no_network(method: Method) -> str:
    return f"{method.spec.name} trains no network, and there is none without noise beside --no-reference"


def _unread_training(key: str, options: RunOptions, method: Method) -> str:
    if not _trains(options, method):
        return _no_network(method)
    gnn = options.gnn if "gnn" in method.in_force().options_read else None
    if unfit := unfit_training(key, type(method), gnn or method.spec.default_gnn):
        return unfit
    own = method.spec.training_read if method.in_force().trains_network else frozenset()
    reference = method.spec.reference_read if options.reference else frozenset()
    if any(read is None or key in read for read in (own, reference)):
        return ""
    return f"{method.spec.name} does not read it" + (
        " beside --no-reference" if method.spec.reference_read is None or key in method.spec.reference_read else ""
    )
