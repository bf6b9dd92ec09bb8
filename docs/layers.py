"""Layers of the packages: the order of their folders, and the arrows that the imports draw.

A unit is a folder, or a module that lies in a package's root. The ``__init__`` of a folder
is a unit of its own: it may name what the folder offers. A unit imports from lower layers
of its package only. ``tests/test_layers.py`` checks that.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("devices", "curator", "strategies", "cli", "benchmarks")
OUTSIDE = ("benchmarks",)  # of the package ldpsim

# From the lowest layer to the highest. Units of one layer do not import one another.
LAYERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "devices": (
        ("array_types", "atomic_files", "foreign"),
        ("facts", "network", "noise"),
        ("data",),
        ("datasets", "mechanisms"),
        ("datasets.__init__", "mechanisms.__init__"),
        ("query",),
        ("curator_key", "prediction", "raw_record", "report", "training_task"),
        ("draw", "ledger"),
        ("policy",),
        ("device",),
        ("enrolment", "friends", "wire"),
        ("federated", "vault"),
        ("fleet",),
        ("client_app",),
    ),
    "curator": (
        ("draws", "graph", "linear", "names", "observer", "options", "owned", "setting_error", "shown", "steps"),
        ("reports",),
        ("learning", "links", "privacy"),
        ("features",),
        ("knowledge",),
        ("defences", "owner.aggregation", "owner.privacy", "posterior", "votes"),
        ("defences.__init__",),
        ("additive_noise", "methods", "nulls", "owner.teachers"),
        ("device_feature_model", "friend_affinity", "sum_model"),
        ("device_model",),
        (
            "methods.federated",
            "methods.friends",
            "methods.local",
            "methods.owner",
            "methods.references",
            "tuned.__init__",
        ),
        ("methods.__init__",),
        ("attacks",),
    ),
    "strategies": (
        ("foreign_text",),
        ("palette", "progress", "seeded"),
        ("people", "rounds"),
        ("engines", "federated"),
        ("attacks.adversaries", "setup"),
        ("importing", "results"),
        ("estimate", "group_accuracy", "tracking"),
        ("outputs",),
        ("runs",),
        ("runs.kinds",),
        ("__init__", "ask_once", "experiments", "flower_app"),
        ("attacks", "planning", "server_app"),
        ("attacks.audit", "attacks.poison", "attacks.stress"),
    ),
    "cli": (
        ("completion", "config", "imports", "progress", "screen", "words"),
        ("output",),
        ("help", "summary"),
        ("errors",),
        ("options",),
        ("curator", "datasets", "doctor", "import_data", "ledger", "methods", "noise_curve"),
        ("plan", "poison", "report", "run", "sweep"),
        ("audit", "compare", "dossier", "sheet", "stress", "tune"),
        ("device",),
        ("main",),
    ),
    "benchmarks": (
        ("__init__", "markdown", "rehash"),
        ("study",),
        ("audits", "papers", "speed"),
    ),
}

# All that the curator imports of devices, by unit; a folder counts with its ``__init__``.
CURATOR_FROM_DEVICES = (
    "array_types", "atomic_files", "facts", "foreign", "mechanisms", "prediction", "query", "training_task",
)  # fmt: skip


def modules(root: Path, package: str) -> dict[str, Path]:
    """Return the modules of a package by the name that imports have; a folder's ``__init__`` keeps that word."""
    above = () if package in OUTSIDE else ("ldpsim",)
    return {".".join((*above, *path.relative_to(root).with_suffix("").parts)): path
            for path in (root / package).rglob("*.py")}  # fmt: skip


def imports(path: Path, name: str) -> Iterator[str]:
    """Yield the dotted name of everything that a module imports, inside functions too, relative ones made absolute."""
    package = name.split(".")[:-1]
    for level, base, imported in _written_imports(path.read_text()):
        start = package[: len(package) - level + 1] if level else []
        yield ".".join([*start, *filter(None, (base, imported))])


@cache  # several tests and pictures read the same modules
def _written_imports(text: str) -> tuple[tuple[int, str, str], ...]:
    """Return (dots, module, name) of each import in a module's text; ``import a.b`` has the module alone."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found += [(0, alias.name, "") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            found += [(node.level, node.module or "", alias.name) for alias in node.names]
    return tuple(found)


def module_arrows(root: Path, package: str) -> set[tuple[str, str]]:
    """Return (from, to) for every import of a package's module by another of its modules."""
    known = modules(root, package)
    arrows = set()
    for name, path in known.items():
        for target in imports(path, name):
            found = _module(target, known)
            if found is not None and found != name:
                arrows.add((name, found))
    return arrows


def units_imported(root: Path, package: str, of: str) -> set[str]:
    """Return the units of package ``of`` that modules of a package import; a folder counts with its ``__init__``."""
    known = modules(root, of)
    found = {_module(target, known) for name, path in modules(root, package).items() for target in imports(path, name)}
    return {unit(module).removesuffix(".__init__") for module in found if module is not None}


def _module(target: str, known: dict[str, Path]) -> str | None:
    """Return the module that an imported name lies in: itself, a folder's ``__init__``, or what holds it."""
    while target:
        for name in (target, f"{target}.__init__"):
            if name in known:
                return name
        target = target.rpartition(".")[0]
    return None


def unit(module: str) -> str:
    """Return the unit that a module belongs to, without the package's name."""
    parts = module.removeprefix("ldpsim.").split(".")[1:]
    if parts[-1] == "__init__" or len(parts) == 1:
        return ".".join(parts)
    return ".".join(parts[:-1])


def folder_arrows(root: Path, package: str) -> set[tuple[str, str]]:
    """Return (from, to) for every import of one unit by another of the same package."""
    arrows = {(unit(start), unit(end)) for start, end in module_arrows(root, package)}
    return {(start, end) for start, end in arrows if start != end}
