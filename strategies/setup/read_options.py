"""Every given option of a run is read, or refused in one line.

A method names the options that it reads (``MethodSpec.options``), a parameter the values of others beside which it is
read (:func:`ldpsim.curator.methods.parameters.parameter`), and an option why nothing reads it beside other options
(``OptionSpec.unread`` and ``OptionSpec.excludes``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ldpsim.curator.methods import Method, find
from ldpsim.curator.methods.parameters import UNREAD, unread_parameters
from ldpsim.curator.names import nearest, paper_name
from ldpsim.curator.options import BUDGET, OF_METHODS, REPORTS, SPLIT
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions, no_network
from ldpsim.strategies.setup.settings import TRAINING, unfit_training

SET = "settings."  # before the name of a parameter, as in a sweep file
_OPTIONS = declared(RunOptions)
_SHOWN = 3  # reasons in one line
# Attribute -> options about reports of it, and the word for it.
_ABOUT = {"adjacency": {"eps_adjacency", "reporting"}, "features": {"eps_features", "feature_share"}}
_WORDS = {"adjacency": "friendships", "features": "features"}
# Option -> why another method does not read it.
_WHY = {
    **dict.fromkeys(SPLIT, "divides the people by itself"),
    "feature_share": "divides epsilon by itself",
    "gnn": "trains a network of its own",
    "private_labels": "asks for labels in any case",
    "reporting": "has one form of a friendship's report",
}
_EXCLUDING = [spec for spec in reversed(_OPTIONS.values()) if spec.excludes[0]]


def check_read(options: RunOptions, method: Method) -> None:
    """Refuse a given option that a run does not read.

    Args:
        options: The run.
        method: Its method, with the parameters in force.

    Raises:
        ValueError: one line with the reason and the option.
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
    if name in OF_METHODS and name not in method.effective_spec().options_read:
        return _reason_of_method(name, method)
    for by in _EXCLUDING:
        if name in by.excludes[0] and by.is_given(getattr(options, by.name)):
            return by.excludes[1]
    reason = _OPTIONS[name].unread
    return reason(options, method) if reason else ""


def _reason_of_method(name: str, method: Method) -> str:
    """Return why a method does not read an option, beginning with the name of the method."""
    spec = method.spec
    asked = {part for part, names in _ABOUT.items() if name in names and spec.trained_by == "curator"}
    if setting := method.settings_of_options.get(name):
        why = f"{UNREAD} without --set {setting}"
    elif name in BUDGET and not spec.private:
        why = "is not private"
    elif name == "epsilon":
        why = f"has its budget in --set {method.budget_parameter[0] if method.budget_parameter else 'noise_multiplier'}"
    elif name in REPORTS and (spec.trained_by == "alone" or not (spec.private or spec.in_rounds)):
        why = "asks no devices"
    elif name in BUDGET | REPORTS and spec.trained_by != "curator":
        why = f"collects {'updates' if spec.in_rounds else 'records'}, not reports"
    elif name == "public_features":
        why = "has public features in any case" if spec.public_features else "needs private features"
    elif unasked := asked - {*method.effective_spec().private}:
        why = f"does not ask for {_WORDS[unasked.pop()]}"
    else:
        why = _WHY.get(name, UNREAD)
    return f"{spec.name} {why}"


def _reason_of_training(key: str, options: RunOptions, method: Method) -> str:
    spec, effective = method.spec, method.effective_spec()
    if reason := no_network(options, method):
        return reason
    gnn = options.gnn if "gnn" in effective.options_read else None
    if reason := unfit_training(key, type(method), gnn or spec.default_gnn):
        return reason
    of_reference = spec.reference_read is None or key in spec.reference_read
    if (effective.trains_network and (spec.training_read is None or key in spec.training_read)) or (
        options.reference and of_reference
    ):
        return ""
    return f"{spec.name} {UNREAD}" + (" beside --no-reference" if of_reference else "")


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
        ValueError: one line with the reasons and the option.
    """
    for name in [*_given(options), *(SET + key for key in options.settings)]:
        if all(name in unread for unread in reasons.values()):
            raise ValueError(_refusal(options, name, {method: unread[name] for method, unread in reasons.items()}))


def _refusal(options: RunOptions, name: str, reasons: Mapping[str, str]) -> str:
    """Return in words why an option is refused: ``raw is not private: it takes no --epsilon``.

    Args:
        options: What was given.
        name: The option, or ``settings.KEY``.
        reasons: Method -> why it does not read the option.
    """
    said = _said(options, name)
    if len(reasons) > 1:
        different = list(dict.fromkeys(reasons.values()))
        more = f"; and {len(different) - _SHOWN} more reasons" if len(different) > _SHOWN else ""
        return f"none of {', '.join(reasons)} takes {said}: {'; '.join(different[:_SHOWN])}{more}"
    ((method, why),) = reasons.items()
    flag = said.partition("=")[0] if name.startswith(SET) else _OPTIONS[name].option
    if why.startswith(f"{method} {UNREAD}"):
        return why.replace(UNREAD, f"takes no {flag}", 1)
    return f"{why}: it takes no {flag}" if why.startswith(f"{method} ") else f"{said} has no effect: {why}"


def _said(options: RunOptions, name: str) -> str:
    """Return a given option, or ``settings.KEY``, as the command line has it."""
    if name.startswith(SET):
        key = name.removeprefix(SET)
        return f"--set {paper_name(key)}={options.settings[key]}"
    return _OPTIONS[name].words(getattr(options, name))


def _given(options: RunOptions) -> Sequence[str]:
    return [name for name, spec in _OPTIONS.items() if name != "settings" and spec.is_given(getattr(options, name))]
