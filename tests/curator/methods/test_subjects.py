"""A method's module is about that method: it imports another one only where the other is its subject."""

from __future__ import annotations

from pathlib import Path

import ldpsim
from docs.layers import imports
from ldpsim.curator.methods import BUILT_IN

ROOT = Path(ldpsim.__file__).parent / "curator" / "methods"
FEDAVG_WITH_A_CHANGE = ("federated.fedprox", "federated.fednova", "federated.scaffold", "federated.isolate")
# Modules of methods that a method's module may name: its base, its ablation, or the methods whose reports it reads.
ABOUT = {
    "local.hogs": {"local.blink"},  # topology=blink of the ablation, Section V-D
    "local.feature_perturbation": {"local.hogs", "local.blink", "local.ldpgen"},  # with HoGS's features
    "local.sbp": {"local.blink", "local.dprr", "local.hogs", "local.lp_and", "local.lpgnn", "local.rgnn", "local.rr",
                  "local.solitude"},  # the reports of each of them
    "federated.silos": {"federated.fedprox"},  # silos with its term
    **{name: {"federated.fedavg"} for name in FEDAVG_WITH_A_CHANGE},
    "references.featfree": {"references.references"},
}  # fmt: skip


def modules_of_methods() -> set[str]:
    """Return the modules that define a built-in method, below the folder of methods."""
    return {path.rpartition(".")[0] for path in BUILT_IN.values()}


def methods_imported(module: str) -> set[str]:
    """Return the modules of other methods that a method's module imports, inside functions too."""
    path, start = ROOT / f"{module.replace('.', '/')}.py", "ldpsim.curator.methods."
    found = {name.removeprefix(start) for name in imports(path, start + module)}
    return {other for other in modules_of_methods() - {module} if any(f"{name}.".startswith(f"{other}.")
                                                                     for name in found)}  # fmt: skip


def test_a_module_imports_only_methods_that_it_is_about() -> None:
    found = {module: others for module in modules_of_methods() if (others := methods_imported(module))}
    assert found == ABOUT
