"""The methods, by name.

A method of another package is found through the entry point group ``ldpsim.methods``. A
method's module is imported on first use: most need torch, and a collection of reports does not.

>>> find("hogs").spec.trust
'untrusted curator'
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from ldpsim.curator.methods.base import Budget, Graph, LocalMethod, Method, MethodSpec, Question
from ldpsim.curator.names import nearest
from ldpsim.devices.foreign.packages import imported, may_import

# name -> module and class; a new method is its module and one line here
BUILT_IN: dict[str, str] = {
    "hogs": "local.hogs.HoGS",
    "lpgnn": "local.lpgnn.LPGNN",
    "upgnet": "local.upgnet.UPGNet",
    "privge": "local.privge.PrivGE",
    "rgnn": "local.rgnn.RGNN",
    "solitude": "local.solitude.Solitude",
    "fp-solitude": "local.solitude.FPSolitude",
    "blink": "local.blink.Blink",
    "fp-blink": "local.feature_perturbation.FPBlink",
    "rr": "local.rr.RR",
    "symrr": "local.rr.SymRR",
    "dprr": "local.dprr.DPRR",
    "ldpgcn": "local.ldpgcn.LDPGCN",
    "ldpgen": "local.ldpgen.LDPGen",
    "fp-ldpgen": "local.feature_perturbation.FPLDPGen",
    "sbp": "local.sbp.SBP",
    "vote": "local.vote.Vote",
    "secure-sum": "local.secure_sum.SecureSum",
    "lp-and": "local.lp_and.LPAnd",
    "noisy": "local.hogs.Noisy",
    "mlp": "references.references.MLP",
    "raw": "references.references.Raw",
    "rnd": "references.references.RandomFeatures",
    "ohd": "references.references.OneHotDegree",
    "featfree": "references.featfree.FeatFree",
    "privgnn": "owner.privgnn.PrivGnn",
    "pate-g": "owner.pate.PateG",
    "pate-m": "owner.pate.PateM",
    "gap": "owner.gap.Gap",
    "progap": "owner.progap.ProGap",
    "b1": "owner.baselines.B1",
    "b1-sampled": "owner.baselines.B1Sampled",
    "b2": "owner.baselines.B2",
    "p2pgnn": "friends.p2pgnn.P2PGNN",
    "isolate": "federated.isolate.Isolate",
    "fedavg-mlp": "federated.fedavg.FedAvgMLP",
    "fedavg-gnn": "federated.fedavg.FedAvgGNN",
    "fedprox": "federated.fedprox.FedProx",
    "fedgcn": "federated.fedgcn.FedGCN",
    "scaffold": "federated.scaffold.SCAFFOLD",
    "fednova": "federated.fednova.FedNova",
    "dp-fedavg": "federated.dp_fedavg.DPFedAvg",
    "ldp-fedavg": "federated.ldp_fedavg.LDPFedAvg",
    "silo-fedavg-gcn": "federated.silos.Silos",
    "silo-fedprox": "federated.silos.SiloFedProx",
    "silo-fedgcn": "federated.silos.SiloFedGCN",
}
# class -> where it is, for ``from ldpsim.curator.methods import HoGS``
_BASES = ("references.references.Reference", "owner.owner.OwnerMethod")
_CLASSES = {path.rpartition(".")[2]: path for path in (*BUILT_IN.values(), *_BASES)}

__all__ = ["BUILT_IN", "Budget", "Graph", "LocalMethod", "Method", "MethodSpec", "Question", "find", "names", "table"]
__all__ += list(_CLASSES)


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return _load(_CLASSES[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _load(path: str) -> type[Method]:
    module, _, name = path.rpartition(".")
    method: type[Method] = getattr(import_module(f"ldpsim.curator.methods.{module}"), name)
    return method


def _of_packages() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="ldpsim.methods") if entry.name not in BUILT_IN}


def names() -> tuple[str, ...]:
    """Return the names of all methods, built in or found through entry points; no method's module is imported."""
    return (*BUILT_IN, *_of_packages())


def table() -> dict[str, type[Method]]:
    """Return all methods by name, built in or found through entry points where these are imported."""
    methods = {name: _load(path) for name, path in BUILT_IN.items()}
    found = {name: _imported(name) for name in (_of_packages() if may_import() else ())}
    return {**methods, **{name: method for name, method in found.items() if method is not None}}


def _imported(name: str) -> type[Method] | None:
    """Return a method of another package, None where its entry point names none."""
    loaded = imported(name, _of_packages()[name].load)
    return loaded if isinstance(loaded, type) and issubclass(loaded, Method) else None


def find(name: str) -> type[Method]:
    """Return the method of that name.

    Of other packages only the one of that name is imported.

    Raises:
        ValueError: for an unknown name; the message names the nearest ones.
    """
    if name in BUILT_IN:
        return _load(BUILT_IN[name])
    if name in ("fedavg", "fedavg-gcn"):
        raise ValueError(
            f"unknown method {name!r}: with one person a device FedAvg of a GCN has no edge to train on; choose "
            "fedavg-mlp (that), fedavg-gnn (neighbours' representations go through the server) or silo-fedavg-gcn"
        )
    method = _imported(name) if name in names() else None
    if method is None:
        raise ValueError(f"unknown method {name!r}{nearest(name, names())}; `ldpsim methods` lists all")
    return method
