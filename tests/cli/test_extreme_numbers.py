"""Every numeric option of every command, with numbers that nobody means: done, or one line and exit code 2.

The options come from the commands themselves. The values of an option are tried in a fork with a limit of CPU time and
of memory: a value with which a command works for minutes, or takes gigabytes, ends it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from ldpsim.cli.main import app
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import table
from ldpsim.curator.methods.base import Budget
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.settings import resolve
from tests.cli.limited import Limited, limited

HUGE = [str(10**9), str(2**63), "9" * 5000]
VALUES = ["-1", "0", "nan", "inf", "1e-300", "1e300", *HUGE]
OUT = ["--out", "out", "--quiet"]
PLAIN = ["--clients", "40", "--set", "epochs=1", *OUT]
RUN = ["--no-reference", "--no-nulls", "--no-groups", *PLAIN]
# Words of a command beside the option; they take no time, and let it read the option.
BASES: dict[str, list[str]] = {
    "run": RUN,
    "plan": ["hogs", "vote", "ldp-fedavg", "pate-m", *PLAIN],
    "poison": ["hogs", "--shares", "0", "--no-reference", *PLAIN],
    "stress": ["--clients", "40", "--asks", "1", "--protection", "refuse", "--adversary", "repeat", *OUT],
    "audit": ["grr", "--trials", "100", "--workers", "1", "--quiet"],
    "tune": ["hogs", "--grid", "lr=0.01", "--no-reference", *PLAIN],
    "compare": ["hogs", "mlp", "--no-reference", *PLAIN],
    "device policy": [],
    "device serve": ["nowhere", "--socket", "s"],
    "ledger show": ["nowhere"],
}
FUNCTION = ["tests.cli.limited:answer", "--domain", "0:1", "--claims", "1", "--trials", "50", "--quiet"]
RELEASED = ["mlp", "--released-model", "--quiet"]
# Other words for an option that the base of its command does not read.
READING: dict[str, dict[str, list[str]]] = {
    "run": {
        "--volunteers": ["--method", "vote", *RUN], "--eps-labels": ["--private-labels", *RUN],
        "--false-alarm": ["--defence", "all", *RUN], "--set": ["--method", "privgnn", *RUN],
    },
    "plan": {"--eps-labels": ["hogs", "--private-labels", *PLAIN],
             "--volunteers": ["vote", "--private-labels", *PLAIN], "--mean-degree": ["hogs", *PLAIN]},
    "audit": {**dict.fromkeys(("--domain", "--claims", "--delta"), FUNCTION),
              "--shadows": RELEASED,
              "--epsilon": ["hogs", "--trials", "100", "--quiet"]},
}  # fmt: skip
# Texts that hold numbers: the option, and a pattern of its value.
TEXTS = {
    "run": [*(("--set", f"{name}={{}} --set epochs=1") for name in ("queries", "gamma", "lambda_", "delta")),
            ("--feature-share", "{}"), ("--noise-seed", "{}"), *(("--cap", f"{level}={{}}") for level in
            ("bit", "vector", "user"))],
    "stress": [("--asks", "{}")],
    "poison": [("--shares", "{}"), ("--epsilon", "{}")],
    "audit": [("--domain", domain) for domain in ("0:{}", "0,{}")],
    "tune": [("--grid", f"{key}={{}}") for key in ("lr", "hidden", "epochs")],
}  # fmt: skip
# Other commands than plan, which computes with them by itself, read these as a run does.
OF_A_RUN = frozenset(parameter.opts[0] for parameter in get_command(app).commands["run"].params)  # type: ignore[attr-defined]


def commands(made: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Yield every command with its words."""
    made = made or get_command(app)
    for name, command in getattr(made, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def numeric(parameter: Any) -> bool:
    """Whether an option is declared as a number."""
    kind = type(parameter.type).__name__
    return kind in ("IntParamType", "FloatParamType", "IntRange", "FloatRange", "FuncParamType")


def cases() -> list[tuple[str, str, str]]:
    """Return command, option and pattern of its value, for each option that is a number or holds one."""
    found = []
    for name, command in commands():
        for parameter in command.params:
            option = parameter.opts[0]
            own = name in ("run", "plan") or option not in OF_A_RUN or option in READING.get(name, {})
            if numeric(parameter) and own:
                found.append((name, option, "{}"))
        found += [(name, *text) for text in TEXTS.get(name, [])]
    return found


def words(command: str, option: str, pattern: str, value: str) -> list[str]:
    """Return the words of a command whose option has a value."""
    base = READING.get(command, {}).get(option, BASES[command])
    base = [word for place, word in enumerate(base) if option not in base[max(0, place - 1) : place + 1]]
    said = pattern.format(value)
    return [*command.split(), *base, *([option, *said.split()] if " " in said else [f"{option}={said}"])]


@pytest.fixture(scope="module")
def process() -> Iterator[Limited]:
    with limited() as found:
        yield found


# Seeds, numbers that the people of a run bound, and those whose limit is where float32 weights overflow.
ANY_SIZE = {"grouping_seed", "feature_seed", "queries", "K", "lr", "weight_decay"}


def accepted(method: str) -> list[tuple[str, str]]:
    """Return the numeric parameters of a method and of its training that have a value of VALUES without a refusal."""
    kind, found = table()[method], []
    for field in (*fields(kind), *fields(TrainingSettings)):  # type: ignore[arg-type]
        if str(field.type) not in ("int", "float", "<class 'int'>", "<class 'float'>") or field.metadata.get("unused"):
            continue
        for value in VALUES:
            try:
                resolve(RunOptions(method=method, settings={field.name: value}), kind, Budget())
            except ValueError as error:
                assert "\n" not in str(error)
            else:
                found.append((field.name, value))
    return found


def check(process: Limited, asked: Sequence[Sequence[str]], folder: Path) -> None:
    code, found = process.run(asked, folder)
    for line, (ended, said) in zip(asked, found, strict=False):
        lines = said.splitlines()
        # 3: the devices refuse. 1: an audit's result, told in the same way.
        assert ended in (0, 2, 3) or (ended == 1 and "rows FAIL" in said), (line, ended, said[-1000:])
        assert "Warning" not in said and "Traceback" not in said, (line, said[-1000:])
        if ended:
            assert len(lines) == 1 and lines[0].startswith("error: ") and len(lines[0]) < 1000, (line, said[-1000:])
    assert code == 0 and len(found) == len(asked), f"{asked[len(found)]} ended the process: {code}"


@pytest.mark.parametrize(("command", "option", "pattern"), cases())
def test_an_option(command: str, option: str, pattern: str, process: Limited, tmp_path: Path) -> None:
    check(process, [words(command, option, pattern, value) for value in VALUES], tmp_path)


@pytest.mark.parametrize("method", table())
def test_a_parameter_has_a_limit(method: str) -> None:
    found = accepted(method)
    assert {name for name, value in found if float(value) > 1e9} <= ANY_SIZE
