"""The ``>>>`` examples in the docstrings of the four packages, run."""

from __future__ import annotations

import doctest
import importlib.util
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from ldpsim.devices.mechanisms import BUILT_IN

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("devices", "curator", "strategies", "cli")


def with_examples(root: Path) -> list[str]:
    """Return the dotted names of the modules whose text holds an example."""
    found = (path for package in PACKAGES for path in (root / package).rglob("*.py") if ">>> " in path.read_text())
    names = (".".join(("ldpsim", *path.relative_to(root).with_suffix("").parts)) for path in found)
    return sorted(name.removesuffix(".__init__") for name in names)


def wrong(module: ModuleType) -> int:
    """Run the examples of a module, of which there is one at least, and return the number of wrong ones."""
    failed, tried = doctest.testmod(module)
    assert tried, f"{module.__name__} holds an example that doctest does not find"
    return failed


MODULES = with_examples(ROOT)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_are_right(name: str) -> None:
    assert not wrong(import_module(name))


@pytest.mark.parametrize("kind", BUILT_IN.values(), ids=lambda kind: kind.name)
def test_every_mechanism_has_an_example(kind: type) -> None:
    assert ">>> " in (kind.__doc__ or "")


def test_every_package_has_examples() -> None:
    assert {name.split(".")[1] for name in MODULES} >= {"devices", "curator", "strategies"}
    main = {
        "ldpsim.devices.query",
        "ldpsim.devices.facts",
        "ldpsim.devices.noise",
        "ldpsim.devices.policy.policy",
        "ldpsim.devices.data.population",
    }
    assert main | {"ldpsim.curator.methods", "ldpsim.curator.links.hogs", "ldpsim.strategies.setup.options"} <= set(
        MODULES
    )


def module_of(path: Path, text: str) -> ModuleType:
    """Write a module and import it."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def test_a_wrong_example_is_seen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Power: a wrong result, an example that fails, and one that stands where doctest does not look."""
    method = 'class A:\n    def f(self):\n        """F.\n\n        >>> {}\n        3\n        """\n'
    assert not wrong(module_of(tmp_path / "right.py", method.format("1 + 2")))
    assert wrong(module_of(tmp_path / "other.py", method.format("1 + 3"))) == 1
    assert wrong(module_of(tmp_path / "failing.py", method.format("1 / 0"))) == 1
    assert "ZeroDivisionError" in capsys.readouterr().out
    with pytest.raises(AssertionError, match="does not find"):
        wrong(module_of(tmp_path / "comment.py", "# >>> 1 + 3\n# 3\n"))


def test_a_module_with_an_example_is_found(tmp_path: Path) -> None:
    for name, text in (
        ("cli/__init__.py", ""),
        ("cli/a/__init__.py", '""">>> 1"""'),
        ("devices/b/c.py", '""">>> 1"""'),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert with_examples(tmp_path) == ["ldpsim.cli.a", "ldpsim.devices.b.c"]
