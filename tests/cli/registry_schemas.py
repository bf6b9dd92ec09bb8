"""The schema of OpenDP's Deployments Registry that tests check records against."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator, FormatChecker

NAMED = "LDPSIM_REGISTRY_SCHEMA"


def named_schema() -> dict[str, Any]:
    """Return the whole schema, from the file that the environment names; without it tests skip, in CI they fail."""
    given = os.environ.get(NAMED, "")
    if not Path(given).is_file():
        what = (
            f"{NAMED}={given} is no file" if given else f"{NAMED} is not set: this test needs the registry's own schema"
        )
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(what)
        pytest.skip(what)
    return yaml.safe_load(Path(given).read_text())


def mistakes(record: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a record, an entry an error; dates are checked too."""
    Draft7Validator.check_schema(schema)
    found = Draft7Validator(schema, format_checker=FormatChecker()).iter_errors(record)
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in found]
