"""Draws behind a guarantee: from the noise seed or the operating system, and nothing in a finished folder predicts one.

A device's own draws come from its secret, in the folder ``state``. All others come from ``Repeat.noise_seed``.
"""

from __future__ import annotations

import hashlib
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ldpsim.curator import draws
from ldpsim.curator.methods import table
from ldpsim.strategies import RunOptions, RunResult, simulate
from ldpsim.strategies.results import folder as run_folder

OS = {"noise": None}
LEFT = {"result.json", "config.toml", "log.txt", "model.safetensors", "state"}
ASKED = {"queries": "40", "epochs": "2", "hidden": "8", "lambda_": "0.1"}
NODE = {"level": "node", "batch": "20", "degree": "4", "epochs": "2"}
# Methods with draws outside devices: their settings, and what they draw.
DRAWN: dict[str, tuple[str, dict[str, str], set[str]]] = {
    "privgnn": ("privgnn", {**ASKED, "K": "10"}, {"sample", "noise"}),
    "privgnn-once": ("privgnn", {**ASKED, "K": "10", "sampling": "once"}, {"sample", "noise"}),
    "pate-g": ("pate-g", {**ASKED, "teachers": "3"}, {"parts", "noise"}),
    "pate-m": ("pate-m", {**ASKED, "teachers": "3"}, {"parts", "noise"}),
    "gap": ("gap", {"epochs": "2"}, {"graph owner hop"}),
    "gap-node": ("gap", NODE, {"graph owner hop", "graph owner training"}),
    "progap": ("progap", {"epochs": "2"}, {"graph owner hop"}),
    "progap-node": ("progap", NODE, {"graph owner hop", "graph owner training"}),
    "dp-fedavg": ("dp-fedavg", {"rounds": "3"}, {"attempt", "devices", "noise of the server"}),
    "dp-fedavg-drawn": ("dp-fedavg", {"rounds": "3", "fraction": "0.5", "clipping": "adaptive"},
                        {"attempt", "devices", "noise of the server"}),
}  # fmt: skip
# The second of each pair has the first one's draws in other numbers.
TWINS = {"privgnn-once", "pate-m", "progap", "progap-node", "dp-fedavg-drawn"}
CASES = [pytest.param(name, marks=pytest.mark.slow) if name in TWINS else name for name in DRAWN]
NOISY = {name: kind.spec.trust for name, kind in table().items() if kind.spec.mechanisms}
ON_DEVICES = {name for name, trust in NOISY.items() if trust == "untrusted curator"}
PURPOSES = set().union(*(purposes for *_, purposes in DRAWN.values()))


def options(out: Path | None, name: str, settings: dict[str, str], **more: Any) -> RunOptions:
    asked = {"workers": 1, **({"epsilon": 1.0} if "epsilon" in table()[name].spec.options else {})}
    asked |= {"volunteers": 0.2} if table()[name].needs_volunteers else {}
    people = 160 if "queries" in settings else 60
    return RunOptions(method=name, clients=people, settings=settings, out=out, nulls=False, reference=False,
                      device="cpu", **asked, **more)  # fmt: skip


def released(result: RunResult) -> str:
    """Return a digest of what leaves the devices under noise, or the owner, or the server."""
    record, folder = result.record, result.folder
    if "teachers" in record:
        return str(record["teachers"]["labels_sha256"])
    if "graph_owner" in record:
        return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    return str(record["devices"]["reports_sha256"])


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> set[tuple[int, str]]:
    """Seed and purpose of every draw outside devices, also of draws on which no guarantee rests."""
    found: set[tuple[int, str]] = set()
    plain = draws.derive

    def watched(seed: int, purpose: str, number: int = 0) -> int:
        found.add((seed, re.sub(r"^noise [\d.e-]+$", "noise", purpose)))
        return plain(seed, purpose, number)

    for module in [module for name, module in sys.modules.items() if name.startswith("ldpsim.")]:
        if vars(module).get("derive") is plain:
            monkeypatch.setattr(module, "derive", watched)
    return found


def private(drawn: set[tuple[int, str]]) -> set[tuple[int, str]]:
    return {each for each in drawn if each[1] in PURPOSES}


def numbers_in(folder: Path) -> Iterator[int]:
    """Yield every number that stands in the texts of a run's folder."""
    for name in ("result.json", "config.toml", "log.txt"):
        yield from map(int, re.findall(r"\d+", (folder / name).read_text()))


def test_every_method_with_noise_is_here() -> None:
    assert NOISY.keys() - ON_DEVICES == {name for name, *_ in DRAWN.values()}


# A device draws from its secret whatever the method: one of each kind of collection is quick.
QUICK = ("hogs", "ldpgen", "vote", "ldp-fedavg")


@pytest.mark.usefixtures("short_perceptron")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in sorted(ON_DEVICES)]
)
def test_two_runs_from_the_operating_system_release_something_else(name: str, tmp_path: Path) -> None:
    kind = table()[name]
    quick = (
        {"rounds": "2"} if kind.spec.in_rounds else {"epochs": "1"} if kind().effective_spec().trains_network else {}
    )
    one, two = (released(simulate(options(tmp_path, name, quick, seeds=OS))) for _ in range(2))
    assert one != two


@pytest.mark.parametrize("case", CASES)
def test_every_draw_of_a_curator_is_a_secret(case: str, tmp_path: Path, drawn: set[tuple[int, str]]) -> None:
    """From the operating system it differs from run to run, and no number in the folder is its seed."""
    name, settings, purposes = DRAWN[case]
    found, seeds = [], []
    for _ in range(2):
        drawn.clear()
        result = simulate(options(tmp_path, name, settings, seeds=OS))
        assert {purpose for _, purpose in private(drawn)} == purposes
        seeds.append({seed for seed, _ in private(drawn)})
        found.append(released(result))
        assert min(seeds[-1]) >> 64 and not seeds[-1] & set(numbers_in(result.folder))
        assert {path.name for path in result.folder.iterdir()} <= LEFT
        assert all((folder / "result.json").is_file() for folder in tmp_path.iterdir())  # no folder of teachers
    assert found[0] != found[1] and not seeds[0] & seeds[1]
    known = tomllib.loads((result.folder / "config.toml").read_text())
    assert known["seeds"]["noise"] == "os"
    public = set(result.record["config"]["seeds"].values()) | {0}
    again = {released(simulate(options(tmp_path / "guessed", name, settings, seeds={"noise": seed})))
             for seed in public if seed is not None}  # fmt: skip
    assert not again & set(found)


@pytest.mark.parametrize("case", CASES)
def test_a_noise_seed_alone_decides_and_repeats(case: str, tmp_path: Path, drawn: set[tuple[int, str]]) -> None:
    name, settings, purposes = DRAWN[case]
    found, seeds = [], []
    for number, given in enumerate(({"noise": 5}, {"noise": 5}, {"noise": 6}, {"noise": 5, "training": 9})):
        drawn.clear()
        found.append(released(simulate(options(tmp_path / str(number), name, settings, seeds=given))))
        seeds.append(private(drawn))
    assert found[0] == found[1] != found[2] and seeds[0] == seeds[1] == seeds[3] != seeds[2]
    assert {purpose for _, purpose in seeds[0]} == purposes


@pytest.mark.parametrize("case", CASES)
def test_a_run_that_continues_draws_the_same_and_then_forgets(
    case: str, tmp_path: Path, drawn: set[tuple[int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    name, settings, _ = DRAWN[case]
    given = options(tmp_path, name, settings, seeds=OS)

    def stop(*told: Any) -> None:
        if not isinstance(told[0], str) or (told[0] == "rounds" and told[1]):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(run_folder, "write_model", stop)  # everything was drawn, or the first round is over
        simulate(given, progress=stop if name == "dp-fedavg" else None)
    (secret,) = tmp_path.glob("*/noise-secret-0")
    assert secret.stat().st_mode & 0o077 == 0
    first = private(drawn)
    result = simulate(given)
    assert result.folder == secret.parent
    assert {seed for seed, _ in first} <= {seed for seed, _ in private(drawn)} and first
    assert len({seed for seed, purpose in private(drawn) if purpose in ("attempt", "noise", "graph owner hop")}) == 1
    assert {path.name for path in result.folder.iterdir()} <= LEFT
