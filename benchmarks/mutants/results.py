"""Results of a mutation run: a line of JSON for each mutant, the score with its interval, and the known survivors."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Literal, get_args

from benchmarks.mutants.mutant import Mutant

KNOWN = Path(__file__).with_name("equivalent.toml")
Kind = Literal["equivalent", "unseen", "left"]


@dataclass(frozen=True, slots=True)
class Result:
    """Result of one mutant.

    Attributes:
        name: :attr:`~benchmarks.mutants.mutant.Mutant.name`.
        inputs: Hash of the module and of its test files: a result is used again while they stay.
        folder, module, function, operator, line, before, after: The mutant.
        killed: Whether a test failed, or the tests did not end in time.
        by: The first test that failed; "time limit", or "import" where no test was reached.
        seconds, cpu: Duration of the tests, and their processor time.
    """

    name: str
    inputs: str
    folder: str
    module: str
    function: str
    operator: str
    line: int
    before: str
    after: str
    killed: bool
    by: str
    seconds: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Known:
    """Reason of a survivor: it behaves as the module does, nobody sees the change, or no test is worth its cost."""

    kind: Kind
    reason: str


# By module, function and the changed lines.
Survivors = Mapping[tuple[str, str, str, str], Known]


def inputs_of(root: Path, mutant: Mutant, tests: Iterable[str]) -> str:
    """Return a hash of the module and of its test files."""
    texts = [mutant.original.encode(), *((root / test).read_bytes() for test in tests)]
    return sha256(b"\0".join(texts)).hexdigest()[:16]


def read(path: Path) -> dict[str, list[Result]]:
    """Return the results of a file by the mutant's name, the oldest first."""
    found: dict[str, list[Result]] = {}
    if not path.is_file():
        return found
    text = path.read_text()
    for line in text[: text.rfind("\n") + 1].splitlines():  # a run that was stopped may leave half a line
        result = Result(**json.loads(line))
        found.setdefault(result.name, []).append(result)
    return found


def append(path: Path, result: Result) -> None:
    """Add a result to a file, in place of half a line where a run was stopped."""
    with path.open("a+b") as file:
        file.seek(0)
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)
        file.write(json.dumps(asdict(result)).encode() + b"\n")


def known(path: Path = KNOWN) -> Survivors:
    """Return what the list of known survivors says, of the survivors that nothing kills.

    Raises:
        ValueError: An entry has another kind, or no reason.
    """
    found = {}
    for entry in tomllib.loads(path.read_text()).get("survivor", []):
        if entry["kind"] not in get_args(Kind) or not entry["reason"].strip():
            raise ValueError(f"{path.name}: {entry['module']} {entry['function']}: kind or reason is missing")
        key = (entry["module"], entry["function"], entry["before"].strip(), entry["after"].strip())
        found[key] = Known(entry["kind"], entry["reason"])
    return found


def about(result: Result, survivors: Survivors) -> Known | None:
    """Return what is known of a survivor."""
    return survivors.get((result.module, result.function, result.before, result.after))


def wilson(hits: int, number: int, z: float = 1.959964) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    >>> [round(bound, 4) for bound in wilson(9, 10)]
    [0.5958, 0.9821]
    """
    if not number:
        return 0.0, 1.0
    share, spread = hits / number, z * z / number
    centre = share + spread / 2
    half = z * math.sqrt(share * (1 - share) / number + spread / (4 * number))
    return max(0.0, (centre - half) / (1 + spread)), min(1.0, (centre + half) / (1 + spread))
