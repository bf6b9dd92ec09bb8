"""Workshop: mutants run in a copy, and the checkout stays as it is.

Covers benchmarks/mutants/worker and benchmarks/mutants/run.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import ROOT
from benchmarks.mutants import run as command
from benchmarks.mutants.mutant import mutants_of
from benchmarks.mutants.results import read
from benchmarks.mutants.workshop import Workshop

MODULE, TESTS = "devices/sampling/subset.py", "tests/devices/sampling/test_subset.py"


@pytest.fixture(scope="module")
def shop() -> Workshop:
    """A workshop for tests of devices: it compiles and imports what they need, and no torch."""
    with Workshop(ROOT, packages=("devices",), libraries=("numpy", "pytest", "hypothesis", "xdist")) as shop:
        yield shop  # type: ignore[misc]


def test_a_mutant_is_killed_late_or_survives_in_the_copy_alone(shop: Workshop) -> None:
    before = (ROOT / MODULE).read_bytes()
    source = before.decode()
    assert shop.run([TESTS], 60)["code"] == 0
    broken = shop.run([TESTS], 60, MODULE, source.replace("return", "return not"))
    assert broken["code"] == 1 and TESTS in broken["test"]
    assert shop.run([TESTS], 60, MODULE, f"{source}\n1 +\n")["code"] > 0
    endless = shop.run([TESTS], 1, MODULE, f"{source}\nwhile True:\n    pass\n")
    assert endless["late"] and endless["code"] != 0
    # the module is as it was, in the copy and in the checkout
    assert shop.run([TESTS], 60, MODULE, f"{source}\n# a comment\n")["code"] == 0
    assert (shop.copy / MODULE).read_bytes() == (ROOT / MODULE).read_bytes() == before
    assert not (shop.copy / ".venv").exists() and (shop.copy / "strategies" / "runs").is_dir()


HEALTHY = """
import os, resource, stat
from pathlib import Path

def test_room():
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] >= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 3
    for folder in (Path.cwd(), *Path.cwd().parents):
        assert folder.stat().st_mode & stat.S_IXOTH
"""


def test_tests_have_room_for_a_store_and_a_copy_that_other_users_enter(shop: Workshop) -> None:
    """Ray makes a file of 30 % of the memory, and one test goes on as another user."""
    (shop.copy / "test_room.py").write_text(HEALTHY)
    seen = shop.run(["test_room.py"], 60)
    assert seen["code"] == 0, seen["tail"]


def test_tests_that_fail_as_they_are_are_told_after_the_others(
    tmp_path: Path, shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "Workshop", lambda root: shop)
    monkeypatch.setattr(shop, "close", lambda: None)
    (shop.copy / "test_broken.py").write_text("def test_it():\n    assert False\n")
    monkeypatch.setattr(
        command, "mirrored", lambda root, module: ("test_broken.py",) if "subset" not in str(module) else (TESTS,)
    )
    monkeypatch.setattr(command, "inputs_of", lambda root, mutant, tests: "")
    other = "devices/sampling/binomial.py"
    sample = [next(m for m in mutants_of(module, (ROOT / module).read_text()) if m.is_python())
              for module in (other, MODULE)]  # fmt: skip
    with pytest.raises(RuntimeError, match=r"test_broken.py fails without a mutant \(exit 1\)"):
        command.Run(tmp_path / "r.jsonl", 1.0, 1).run({"devices/sampling": sample})
    assert [found[0].module for found in read(tmp_path / "r.jsonl").values()] == [MODULE]


def test_a_stopped_run_goes_on(tmp_path: Path, shop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "Workshop", lambda root: shop)
    monkeypatch.setattr(shop, "close", lambda: None)
    # What the tests find is no matter here; the module's own tests take seconds a mutant.
    (shop.copy / "test_small.py").write_text("def test_it():\n    pass\n")
    monkeypatch.setattr(command, "mirrored", lambda root, module: ("test_small.py",))
    monkeypatch.setattr(command, "inputs_of", lambda root, mutant, tests: "")
    sample = {"devices/mechanisms": [m for m in mutants_of(MODULE, (ROOT / MODULE).read_text()) if m.is_python()][:3]}
    path = tmp_path / "results.jsonl"
    command.Run(path, 0.0, 1).run(sample)  # no processor time at all
    assert read(path) == {}
    command.Run(path, 1.0, 1).run({"devices/mechanisms": sample["devices/mechanisms"][:1]})
    (first,) = read(path).values()
    command.Run(path, 1.0, 1).run(sample)
    assert [len(found) for found in read(path).values()] == [1, 1, 1]
    assert read(path)[first[0].name] == first
