"""Comparison of a run's block with the golden one.

What devices send, what is counted and what is lost is compared exactly everywhere. Results of
floating-point training are compared exactly on a machine like the one that recorded them. On
another one, an accuracy may move by half a point, or by one person in sets of less than 200.
Accuracies of ``ldp-fedavg`` are not compared there: its noise depends on every bit of an update.
"""

from __future__ import annotations

from tests.golden.golden_file import load, machine
from tests.golden.runs import RUNS, Block

GOLDEN: dict[str, Block] = load()["runs"]
HALF_A_POINT = 0.005
# Sums of floating-point numbers: their last bits depend on the machine.
OF_THE_MACHINE = {"weights_sha256", "model_sha256", "labels_sha256", "edges_sha256", "reconstruction", "accuracy",
                  "reference", "nulls"}  # fmt: skip
BY_LEVEL = ("holds", "ledgers_max", "ledgers_mean")  # a level that is newer than the golden file changes no run


def check(name: str, found: Block) -> None:
    """Compare the block of a run with the golden one, on this machine."""
    assert name in GOLDEN, f"the golden file has no run {name}: python -m tests.golden.record {name}"
    golden = dict(GOLDEN[name])
    for table in golden.keys() & found.keys() & set(BY_LEVEL):
        found[table] = {level: held for level, held in found[table].items() if level in golden[table]}
    if golden.get("nulls") is not None:  # a run takes all data of others; it has the name of the one attribute reported
        taken, shuffled = found["nulls"]["shuffled"], golden["nulls"]["shuffled"]
        golden["nulls"] = {**golden["nulls"], "shuffled": {name: shuffled[name] for name in shuffled if name in taken}}
    for table in ("accuracy", "nulls"):  # figures that are newer than the golden file
        if golden.get(table) is not None:
            found[table] = {key: value for key, value in found[table].items() if key in golden[table]}
    here = machine() == golden.pop("machine", load()["machine"])
    check_exact(found, golden, but=set() if here else OF_THE_MACHINE)
    assert found.keys() == golden.keys()
    assert (found.get("edges_sha256") is None) == (golden.get("edges_sha256") is None)
    if not here and "accuracy" in found and not RUNS[name].noise_of_floats:
        check_accuracy(found, golden)


def check_exact(found: Block, golden: Block, *, but: set[str]) -> None:
    """Compare all figures but the named ones."""
    assert {key: found[key] for key in found if key not in but} == {
        key: golden[key] for key in golden if key not in but
    }


def check_accuracy(found: Block, golden: Block) -> None:
    """Allow half a point, or one person where that is more: scored people are counted in ``split``."""
    for part in ("test", "val"):
        expected, value = golden["accuracy"][part], found["accuracy"][part]
        if expected is None:
            assert value is None
        else:
            assert abs(value - expected) <= max(HALF_A_POINT, 1 / golden["split"][part]) + 1e-12, part
