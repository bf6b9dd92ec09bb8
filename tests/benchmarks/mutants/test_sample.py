"""Sample of mutants."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import ROOT
from benchmarks.mutants.mutant import mutants_of
from benchmarks.mutants.sample import PACKAGES, draw, mirrored, modules_of, rooms, shares


def test_every_module_of_the_run_has_a_mirrored_test_file() -> None:
    for folder in rooms(ROOT):
        for module in modules_of(ROOT, folder):
            try:
                found = all((ROOT / test).is_file() for test in mirrored(ROOT, module))
            except LookupError:
                found = False
            # A module without a mutant needs no test file; mutants are made where there is none.
            assert found or not mutants_of(module.as_posix(), (ROOT / module).read_text()), module


def test_every_module_of_the_product_is_in_one_room() -> None:
    found = [module for folder in rooms(ROOT) for module in modules_of(ROOT, folder)]
    written = {path.relative_to(ROOT) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    assert len(found) == len(set(found)) and written - set(found) == {Path(name, "__init__.py") for name in PACKAGES}


def test_a_module_without_a_test_file_is_an_error() -> None:
    assert mirrored(ROOT, Path("curator/owner/privacy/label.py")) == ("tests/curator/owner/privacy/test_label.py",)
    assert mirrored(ROOT, Path("curator/owner/privacy/release.py")) == (
        "tests/curator/owner/privacy/test_accountant.py",
    )
    assert "tests/strategies/runs/test_simulate.py" in mirrored(ROOT, Path("strategies/results/record.py"))
    with pytest.raises(LookupError, match="test_nowhere"):
        mirrored(ROOT, Path("curator/privacy/nowhere.py"))


def _package(root: Path, more: str = "") -> None:
    (root / "a").mkdir(parents=True, exist_ok=True)
    (root / "b").mkdir(exist_ok=True)
    (root / "a" / "m.py").write_text("".join(f"def f{k}(x):\n    return x < {k}\n" for k in range(12)) + more)
    (root / "b" / "m.py").write_text("def g(x):\n    return x + 3\n")


def test_the_sample_follows_from_the_seed(tmp_path: Path) -> None:
    _package(tmp_path)
    first, again, other = (draw(tmp_path, 12, seed, ["a", "b"]) for seed in (1, 1, 2))
    assert first == again != other
    assert {folder: len(found) for folder, found in first.items()} == {"a": 11, "b": 1}
    places = [(mutant.module, mutant.site, mutant.operator) for found in first.values() for mutant in found]
    assert len(set(places)) == len(places)
    assert all(mutant.is_python() for found in first.values() for mutant in found)


def test_a_change_elsewhere_leaves_the_sample(tmp_path: Path) -> None:
    """Power: the positions of all mutants move."""
    _package(tmp_path)
    before = {mutant.name for mutant in draw(tmp_path, 12, 1, ["a", "b"])["a"]}
    _package(tmp_path / "other", more="def last(x):\n    return x\n")
    moved = tmp_path / "other" / "a" / "m.py"
    moved.write_text(f"import os\n\n{moved.read_text()}")
    after = {mutant.name for mutant in draw(tmp_path / "other", 12, 1, ["a", "b"])["a"]}
    assert len(before & after) >= len(before) - 1


def test_shares_are_whole_and_add_up() -> None:
    assert sum(shares({"a": 1996, "b": 132, "c": 397}, 400).values()) == 400
    assert shares({"a": 3, "b": 1}, 100) == {"a": 3, "b": 1}
