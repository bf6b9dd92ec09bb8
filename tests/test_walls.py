"""The arrows run one way: cli -> strategies -> curator -> devices. Read from the imports.

What the curator imports of devices is in ``tests/test_layers.py``.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("devices", "curator", "strategies", "cli")
NEVER = {
    "devices": {"ldpsim.curator", "ldpsim.strategies", "ldpsim.cli", "ray"},
    "curator": {"ldpsim.strategies", "ldpsim.cli", "flwr", "ray"},
    "strategies": {"ldpsim.cli"},
    "cli": set(),
}
# devices start in well under a second: nothing heavier than these before a function runs
DEVICES_AT_IMPORT = {"ldpsim", "numpy", "cryptography", "flwr"}
LEAST_ARROWS = 30  # imports of a package of itself


def _modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def _imports(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield (dotted name, line) of every import; ``from a import b`` gives a and a.b."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            yield from ((f"{node.module}.{alias.name}", node.lineno) for alias in node.names)


def _top(name: str) -> str:
    """Return the first name of a module; of ours, with the package: ``ldpsim.devices``."""
    return ".".join(name.split(".")[: 2 if name.startswith("ldpsim.") else 1])


def _without_functions(tree: ast.AST) -> ast.AST:
    class Drop(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
            return None

    return Drop().visit(tree)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_arrow_runs_the_other_way(package: str) -> None:
    own = 0
    for module in _modules(package):
        for name, line in _imports(ast.parse(module.read_text())):
            assert _top(name) not in NEVER[package], f"{module.relative_to(ROOT)}:{line} imports {name}"
            own += _top(name) == f"ldpsim.{package}"
    assert own > LEAST_ARROWS, "the names of the package are not read"


def test_devices_import_nothing_heavy() -> None:
    assert _modules("devices")
    for module in _modules("devices"):
        for name, line in _imports(_without_functions(ast.parse(module.read_text()))):
            top = name.split(".")[0]
            allowed = top in DEVICES_AT_IMPORT or top in sys.stdlib_module_names
            assert allowed, f"{module.relative_to(ROOT)}:{line} imports {name} at module level"


def test_the_reader_sees_what_it_should() -> None:
    """Power: each kind of violation is seen."""
    tree = ast.parse(
        "def f():\n    import torch\n    from ldpsim.devices import device\nfrom ldpsim.curator.x import y\n"
    )
    assert {name for name, _ in _imports(tree)} == {"torch", "ldpsim.devices.device", "ldpsim.curator.x.y"}
    assert [name for name, _ in _imports(_without_functions(tree))] == ["ldpsim.curator.x.y"]


def test_collections_and_trainings_need_no_torch() -> None:
    """An interpreter without a PyTorch of its own still runs the simulator of faults (``make test-pythons``)."""
    program = "import sys; sys.modules['torch'] = None; import tests.faults.schedule"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=ROOT)
