"""Versions of this installation beside those that are required and those that are tested.

Versions are read from the packages' metadata, so torch, Ray and Flower are not imported. ``constraints.txt`` of the
checkout lies in the wheel beside this module.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tomllib
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.resources import files
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from ldpsim.cli.doctor.finding import Finding

HERE = Path(__file__).resolve().parents[2]
TESTED_PYTHON = "3.11"
OLDEST_PYTHON = (3, 11)
COMMANDS = ("flwr", "flower-superlink", "flower-supernode")
_LISTED = 5


def tested_versions() -> dict[str, str]:
    """Return the tested version of each package, by its canonical name."""
    lines = (
        line.partition("#")[0].strip()
        for line in files("ldpsim.cli.doctor").joinpath("constraints.txt").read_text().splitlines()
    )
    pairs = (line.split("==") for line in lines if "==" in line)
    return {canonicalize_name(name): wanted for name, wanted in pairs}


def installed_version(name: str) -> str | None:
    """Return the version of an installed package, None if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def own_requirements() -> list[Requirement]:
    """Return what ldpsim requires without an extra; a checkout that is not installed has it in pyproject.toml alone."""
    try:
        lines = requires("ldpsim")
    except PackageNotFoundError:
        lines = None
    project = HERE / "pyproject.toml"
    if lines is None and project.is_file():
        lines = tomllib.loads(project.read_text())["project"]["dependencies"]
    found = [Requirement(line) for line in lines or ()]
    return [one for one in found if one.marker is None or one.marker.evaluate({"extra": ""})]


def ldpsim_itself() -> Finding:
    """Find ldpsim's version and the folder that it runs from."""
    where = f"checkout {HERE}" if (HERE / "pyproject.toml").is_file() else f"installed in {HERE}"
    found = installed_version("ldpsim")
    if found is None:
        return Finding("ldpsim", f"not installed; {where}", "warning", "python -m pip install . in the checkout")
    return Finding("ldpsim", f"{found}, {where}")


def python() -> Finding:
    """Find Python's version, and whether it is a tested one."""
    found = platform.python_version()
    if sys.version_info < OLDEST_PYTHON:
        return Finding("python", found, "problem", f"ldpsim needs Python {'.'.join(map(str, OLDEST_PYTHON))} or newer")
    tested = "" if found.startswith(f"{TESTED_PYTHON}.") else f" (tested: {TESTED_PYTHON})"
    return Finding("python", f"{found}{tested}, {sys.executable}")


def required_packages(requirements: Iterable[Requirement] | None = None) -> list[Finding]:
    """Find each package that ldpsim needs: out of range is a problem, another version than tested a warning."""
    tested = tested_versions()
    needed = own_requirements() if requirements is None else requirements
    return [_package(one, installed_version(one.name), tested.get(canonicalize_name(one.name))) for one in needed]


def _package(requirement: Requirement, found: str | None, tested: str | None) -> Finding:
    name = requirement.name
    install = f'python -m pip install "{name}=={tested}"' if tested else f'python -m pip install "{requirement}"'
    if found is None:
        return Finding(name, "not installed", "problem", install)
    if not requirement.specifier.contains(found, prereleases=True):
        return Finding(name, f"{found}, but ldpsim needs {requirement.specifier}", "problem", install)
    if tested is not None and not same_release(found, tested):
        return Finding(name, f"{found}, tested with {tested}", "warning", f"{install}, if something goes wrong")
    return Finding(name, found)


def other_packages(installed: Mapping[str, str | None] | None = None) -> Finding:
    """Find how many of the packages below those of ldpsim have another version than the tested one."""
    tested = tested_versions()
    own = {canonicalize_name(one.name) for one in own_requirements()}
    found = {name: installed_version(name) for name in tested if name not in own} if installed is None else installed
    here = {name: have for name, have in found.items() if have is not None}
    differ = [
        f"{name} {have} (tested {tested[name]})" for name, have in here.items() if not same_release(have, tested[name])
    ]
    if not differ:
        return Finding("others", f"{len(here)} packages as tested")
    shown = ", ".join(differ[:_LISTED]) + (f" and {len(differ) - _LISTED} more" if len(differ) > _LISTED else "")
    return Finding("others", f"{len(here) - len(differ)} packages as tested, {len(differ)} differ: {shown}")


def same_release(found: str, tested: str) -> bool:
    """Return whether two versions are one release: ``2.13.0+cpu`` is another build of ``2.13.0``."""
    return Version(found).public == Version(tested).public


def flower_commands() -> Finding:
    """Find Flower's commands: ``--engine flower`` and deployments start them."""
    beside = Path(sys.executable).parent
    missing = [name for name in COMMANDS if not (beside / name).is_file() and shutil.which(name) is None]
    if missing:
        remedy = f"python -m pip install --force-reinstall --no-deps flwr=={tested_versions()['flwr']}"
        return Finding("flower runtime", f"no command {', '.join(missing)} beside {sys.executable}", "problem", remedy)
    return Finding("flower runtime", "its commands are there (--start tries them)")


def telemetry() -> Finding:
    """Find whether the switches of Flower's and Ray's telemetry are off in this process and its children."""
    from ldpsim.devices import NO_TELEMETRY

    on = [name for name, value in NO_TELEMETRY.items() if os.environ.get(name) != value]
    if on:
        return Finding(
            "telemetry", f"changed since the start: {', '.join(on)}", "problem", "do not set these variables"
        )
    return Finding("telemetry", "off: ldpsim has none, and it switches off that of Flower and Ray")
