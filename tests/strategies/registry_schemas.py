"""The schemas of OpenDP's Deployments Registry that tests check records against."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator, FormatChecker

KEPT = Path(__file__).parents[1] / "data" / "registry_schema.yaml"
NAMED = "LDPSIM_REGISTRY_SCHEMA"
_PROSE = ("description", "description_long", "tier")


def named_schema() -> dict[str, Any]:
    """Return the whole schema, from the file that the environment names; without it tests skip, in CI they fail."""
    given = os.environ.get(NAMED)
    if not given:
        pytest.skip(f"{NAMED} is not set: this test needs the registry's own schema")
    if not Path(given).is_file():
        what = f"{NAMED}={given} is no file"
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(what)
        pytest.skip(what)
    return yaml.safe_load(Path(given).read_text())


def kept_schema() -> dict[str, Any]:
    """Return what the schema checks, as the tests keep it."""
    return yaml.safe_load(KEPT.read_text())


def without_prose(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a schema checks; a property may have the name of a keyword."""
    kept = {key: value for key, value in schema.items() if key not in _PROSE}
    if "properties" in kept:
        kept["properties"] = {name: without_prose(entry) for name, entry in kept["properties"].items()}
    return {**kept, "items": without_prose(kept["items"])} if "items" in kept else kept


def mistakes(record: Any, schema: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with a record, an entry an error; dates are checked too."""
    Draft7Validator.check_schema(schema)
    found = Draft7Validator(schema, format_checker=FormatChecker()).iter_errors(record)
    return [f"{'.'.join(map(str, error.path))}: {error.message}" for error in found]
