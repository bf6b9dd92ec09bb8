"""Every given option of a run is read, or refused in one line.

A method names the options that it reads (``MethodSpec.options``), a parameter the values of others beside which it is
read (:func:`ldpsim.curator.methods.parameters.parameter`), and an option why nothing reads it beside other options
(``OptionSpec.unread`` and ``OptionSpec.excludes``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ldpsim.curator.methods import Method, find, table
from ldpsim.curator.methods.parameters import unread_parameters
from ldpsim.curator.names import nearest, paper_name
from ldpsim.curator.options import OF_METHODS
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions, no_network
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
        ValueError: one line with the option, the reason, and the methods that read it.
    """
    check_any_reads(options, {options.method: unread(options, method)})


def unread(options: RunOptions, method: Method) -> dict[str, str]:
    """Return why the method does not read an option, for each given option that it does not read.

    The key of a parameter is its name after ``settings.``.
    """
    reasons = {name: _reason(name, options, method) for name in _given(options)}
    of_method = unread_parameters(method, vars(options))
    for key in options.settings:
        reasons[SET + key] = of_method.get(key) or (
            _reason_of_training(key, options, method) if key in TRAINING else ""
        )
    return {name: reason for name, reason in reasons.items() if reason}


def _reason(name: str, options: RunOptions, method: Method) -> str:
    if name in OF_METHODS and name not in method.in_force().options_read:
        setting = method.spec.read_with.get(name)
        return f"{method.spec.name} does not read it" + (f" without --set {setting}" if setting else "")
    for by in _EXCLUDING:
        if name in by.excludes[0] and by.is_given(getattr(options, by.name)):
            return by.excludes[1]
    reason = _OPTIONS[name].unread
    return reason(options, method) if reason else ""


def _reason_of_training(key: str, options: RunOptions, method: Method) -> str:
    spec, force = method.spec, method.in_force()
    if reason := no_network(options, method):
        return reason
    gnn = options.gnn if "gnn" in force.options_read else None
    if reason := unfit_training(key, type(method), gnn or spec.default_gnn):
        return reason
    of_reference = spec.reference_read is None or key in spec.reference_read
    if (force.trains_network and (spec.training_read is None or key in spec.training_read)) or (
        options.reference and of_reference
    ):
        return ""
    return f"{spec.name} does not read it" + (" beside --no-reference" if of_reference else "")


def read_alone(options: RunOptions) -> tuple[RunOptions, Mapping[str, str]]:
    """Return the options without those that their method does not read, and why it does not read these.

    A parameter that the method does not have is among them. Options that do not fit the method are returned as they
    are: its run says why.
    """
    kind = find(options.method)
    own = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    reasons = {
        SET + key: f"{options.method} has no such parameter{nearest(paper_name(key), map(paper_name, own | TRAINING))}"
        for key in options.settings.keys() - own - TRAINING
    }
    try:
        method = kind.from_settings({key: value for key, value in options.settings.items() if key in own})
    except ValueError:
        return _without(options, reasons), reasons
    reasons |= unread(options, method)
    return _without(options, reasons), reasons


def _without(options: RunOptions, names: Iterable[str]) -> RunOptions:
    """Return the options with these at their default; ``settings.KEY`` is a parameter."""
    values: dict[str, Any] = {name: _OPTIONS[name].default for name in names if not name.startswith(SET)}
    left = {key: value for key, value in options.settings.items() if SET + key not in names}
    return replace(options, **values, settings=left)


def check_any_reads(options: RunOptions, reasons: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse an option that none of several methods reads.

    Args:
        options: What was given for all of them.
        reasons: Method -> the options that it does not read, and why.

    Raises:
        ValueError: one line with the option and the reasons.
    """
    for name in [*_given(options), *(SET + key for key in options.settings)]:
        if all(name in unread for unread in reasons.values()):
            why = "; ".join(dict.fromkeys(unread[name] for unread in reasons.values()))
            if len(reasons) > 1:
                why = f"none of {', '.join(reasons)} reads it ({why})"
            raise ValueError(f"{_said(options, name)}: {why}{_readers(name, reasons)}")


def _said(options: RunOptions, name: str) -> str:
    """Return a given option, or ``settings.KEY``, as the command line has it."""
    if name.startswith(SET):
        key = name.removeprefix(SET)
        return f"--set {paper_name(key)}={options.settings[key]}"
    return _OPTIONS[name].words(getattr(options, name))


def _given(options: RunOptions) -> Sequence[str]:
    return [name for name, spec in _OPTIONS.items() if name != "settings" and spec.is_given(getattr(options, name))]


def _readers(name: str, but: Iterable[str]) -> str:
    """Return the methods that read an option, in words; nothing where one of these could read it."""
    kinds = table() if name in OF_METHODS else {}
    some = [method for method, kind in kinds.items() if name in kind().in_force().options_read]
    return f"; it is read by {', '.join(some)}" if some and not {*some} & {*but} else ""
