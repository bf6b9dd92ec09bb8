"""Every golden run gives what it gave when it was recorded; ``comparing.py`` says what is compared where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ldpsim.curator.methods import table
from tests.golden.comparing import GOLDEN, check, check_accuracy
from tests.golden.golden_file import FILE, load, save
from tests.golden.performing import perform
from tests.golden.runs import RUNS, SLOW


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Train on one thread, as the golden results were."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def _with_marks(name: str) -> Any:
    return pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW))


# That on Flower's runtime is made in tests/strategies/engines, under an audit.
@pytest.mark.parametrize("name", [_with_marks(name) for name in RUNS if RUNS[name].servers != "flower"])
def test_a_run_gives_what_it_gave(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    golden = RUNS[name]
    if golden.needs_data:
        request.getfixturevalue("data_dir")
    if golden.servers == "ray":
        request.getfixturevalue("ray_here")
    check(name, perform(golden, tmp_path))


def test_the_file_holds_these_runs_and_every_method_is_among_them() -> None:
    missing = " ".join(name for name in RUNS if name not in GOLDEN)
    assert not missing, f"not in the golden file: python -m tests.golden.record {missing}"
    assert not GOLDEN.keys() - RUNS.keys()
    assert {RUNS[name].options["method"] for name in RUNS.keys() - SLOW} == set(table())
    assert RUNS.keys() >= SLOW


@pytest.mark.parametrize("name", [name for name in RUNS if RUNS[name].same_as])
def test_engines_give_the_same(name: str) -> None:
    """Options say where a run happens; all its figures are those of the local run."""
    run = RUNS[name]
    but = {"options", "how"} | ({"edges_sha256"} if run.how == "flwr" else set())  # another process makes that graph
    here, there = ({key: value for key, value in GOLDEN[each].items() if key not in but}
                   for each in (name, run.same_as))  # fmt: skip
    assert here == there


def test_the_file_is_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody edited it by hand: a recording that changes nothing leaves it as it is."""
    content = load()
    monkeypatch.setattr("tests.golden.golden_file.FILE", tmp_path / "golden.json")
    save(content)
    assert (tmp_path / "golden.json").read_text() == FILE.read_text()


@pytest.mark.parametrize(("people", "moved", "passes"), [
    (25, 0.04, True), (25, 0.041, False), (1000, 0.005, True), (1000, 0.006, False),
])  # fmt: skip
def test_accuracies_of_another_machine(people: int, moved: float, passes: bool) -> None:
    golden = {"accuracy": {"test": 0.5, "val": None}, "split": {"test": people, "val": 0}}
    found = {"accuracy": {"test": 0.5 + moved, "val": None}}
    if passes:
        check_accuracy(found, golden)
    else:
        with pytest.raises(AssertionError):
            check_accuracy(found, golden)
