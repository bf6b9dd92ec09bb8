"""A policy in a JSON file, in the form of ``Policy.to_dict``."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Any, get_args

from ldpsim.devices import mechanisms
from ldpsim.devices.atomic_files import read_file
from ldpsim.devices.mechanisms.base import Reporting
from ldpsim.devices.policy.policy import Mode, OnRequery, Policy
from ldpsim.devices.query import ATTRIBUTES

_FIELDS = {"mode", "caps", "mechanisms", "facts", "reporting", "on_requery", "user_cap"}
_PINS = {"collector", "questions", "volunteers"}


def read_policy(path: Path) -> Policy:
    """Read a policy and check every field, because a slip here is a loss of privacy.

    Raises:
        ValueError: one line, where the file is missing or not of this form.
    """
    try:
        given = json.loads(read_file(path))
        _check(given)
        return Policy.from_dict(given)
    except OSError as error:
        raise ValueError(f"--policy {path}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"--policy {path}: not a policy ({error})") from error


def write_policy(policy: Policy) -> str:
    """Return the text of a policy's file."""
    return json.dumps(policy.to_dict(), indent=1) + "\n"


def _check(given: Any) -> None:
    if not isinstance(given, dict) or set(given) - _PINS != _FIELDS:
        fields, pins = ", ".join(sorted(_FIELDS)), ", ".join(sorted(_PINS))
        raise ValueError(f"it has the fields {fields}, may have {pins}, and no others")
    for name, kind in (("mode", Mode), ("reporting", Reporting), ("on_requery", OnRequery)):
        if given[name] not in get_args(kind):
            raise ValueError(f"{name} is one of {', '.join(get_args(kind))}")
    for name in given["mechanisms"]:
        if name != "handed_over" and mechanisms.find(str(name)) is None:
            raise ValueError(f"no mechanism is called {name}")
    for attribute, cap in given["caps"].items():
        if attribute not in ATTRIBUTES:
            raise ValueError(f"there is no attribute {attribute}")
        for level, value in cap.items():
            _check_cap(f"{attribute}'s cap on {level}", value)
    for digest in given.get("questions", ()):
        if not (isinstance(digest, str) and re.fullmatch("[0-9a-f]{64}", digest)):
            raise ValueError("questions are lists of 64 hexadecimal digits each")
    for person in given.get("volunteers", ()):
        if type(person) is not int or person < 0:
            raise ValueError("volunteers are public numbers of people")
    if given["user_cap"] is not None:
        _check_cap("user_cap", given["user_cap"])


def _check_cap(name: str, value: Any) -> None:
    if type(value) not in (int, float) or math.isnan(value) or value < 0:
        raise ValueError(f"{name} is a number of 0 or more")
