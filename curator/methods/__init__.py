"""The methods, by name.

Others are found through the entry point group ``ldpsim.methods``: a package that offers
one there needs no change here. A method's module is imported when it is asked for: most
need torch, and whoever only collects reports does not.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from curator.methods.base import Budget, Graph, Method, Question
from curator.names import nearest

if TYPE_CHECKING:
    from curator.methods.local.blink import Blink
    from curator.methods.local.dprr import DPRR
    from curator.methods.local.fp_blink import FPBlink
    from curator.methods.local.fp_ldpgen import FPLDPGen
    from curator.methods.local.hogs import HoGS
    from curator.methods.local.ldpgcn import LDPGCN
    from curator.methods.local.ldpgen import LDPGen
    from curator.methods.local.lp_and import LPAnd
    from curator.methods.local.lpgnn import LPGNN
    from curator.methods.local.noisy import Noisy
    from curator.methods.local.rgnn import RGNN
    from curator.methods.local.rr import RR
    from curator.methods.local.solitude import FPSolitude, Solitude
    from curator.methods.local.symrr import SymRR
    from curator.methods.owner.owner import OwnerMethod
    from curator.methods.references.public_graph import OneHotDegree, RandomFeatures
    from curator.methods.references.references import MLP, Raw, Reference

# name -> module and class
BUILT_IN: dict[str, tuple[str, str]] = {
    "hogs": ("local.hogs", "HoGS"),
    "lpgnn": ("local.lpgnn", "LPGNN"),
    "rgnn": ("local.rgnn", "RGNN"),
    "solitude": ("local.solitude", "Solitude"),
    "fp-solitude": ("local.solitude", "FPSolitude"),
    "blink": ("local.blink", "Blink"),
    "fp-blink": ("local.fp_blink", "FPBlink"),
    "rr": ("local.rr", "RR"),
    "symrr": ("local.symrr", "SymRR"),
    "dprr": ("local.dprr", "DPRR"),
    "ldpgcn": ("local.ldpgcn", "LDPGCN"),
    "ldpgen": ("local.ldpgen", "LDPGen"),
    "fp-ldpgen": ("local.fp_ldpgen", "FPLDPGen"),
    "lp-and": ("local.lp_and", "LPAnd"),
    "noisy": ("local.noisy", "Noisy"),
    "mlp": ("references.references", "MLP"),
    "raw": ("references.references", "Raw"),
    "rnd": ("references.public_graph", "RandomFeatures"),
    "ohd": ("references.public_graph", "OneHotDegree"),
    "privgnn": ("owner.privgnn", "PrivGnn"),
    "pate-g": ("owner.pate", "PateG"),
    "pate-m": ("owner.pate", "PateM"),
    "b1": ("owner.owner", "B1"),
    "b1-sampled": ("owner.owner", "B1Sampled"),
    "b2": ("owner.owner", "B2"),
    "isolate": ("federated.fedavg", "Isolate"),
    "fedavg-mlp": ("federated.fedavg", "FedAvgMLP"),
    "fedavg-gnn": ("federated.fedavg", "FedAvgGNN"),
    "fedprox": ("federated.fedavg", "FedProx"),
    "fedgcn": ("federated.fedavg", "FedGCN"),
    "dp-fedavg": ("federated.private", "DPFedAvg"),
    "ldp-fedavg": ("federated.private", "LDPFedAvg"),
    "silo-fedavg-gcn": ("federated.silos", "Silos"),
    "silo-fedprox": ("federated.silos", "SiloFedProx"),
    "silo-fedgcn": ("federated.silos", "SiloFedGCN"),
}
_CLASSES = {name: module for module, name in BUILT_IN.values()} | {
    "Reference": "references.references",
    "OwnerMethod": "owner.owner",
}

__all__ = [
    "BUILT_IN", "DPRR", "LDPGCN", "LPGNN", "MLP", "RGNN", "RR", "Blink", "Budget", "FPBlink", "FPLDPGen",
    "FPSolitude", "Graph", "HoGS", "LDPGen", "LPAnd", "Method", "Noisy", "OneHotDegree", "OwnerMethod", "Question",
    "RandomFeatures", "Raw", "Reference", "Solitude", "SymRR", "find", "table",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return getattr(import_module(f"curator.methods.{_CLASSES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _built_in(name: str) -> type[Method]:
    module, kind = BUILT_IN[name]
    found: type[Method] = getattr(import_module(f"curator.methods.{module}"), kind)
    return found


def table() -> dict[str, type[Method]]:
    """Return every method there is, built in or found through entry points, by name."""
    found = {name: _built_in(name) for name in BUILT_IN}
    for entry in entry_points(group="ldpsim.methods"):
        if entry.name not in found:
            loaded = entry.load()
            if isinstance(loaded, type) and issubclass(loaded, Method):
                found[entry.name] = loaded
    return found


def find(name: str) -> type[Method]:
    """Return the method of that name.

    Raises:
        ValueError: where there is none; names the nearest ones.
    """
    if name in BUILT_IN:
        return _built_in(name)
    if name in ("fedavg", "fedavg-gcn"):
        raise ValueError(
            f"unknown method {name!r}: with one person a device FedAvg of a GCN has no edge to train on; choose "
            "fedavg-mlp (that), fedavg-gnn (neighbours' representations go through the server) or silo-fedavg-gcn"
        )
    known = table()
    if name not in known:
        raise ValueError(f"unknown method {name!r}{nearest(name, known)} (known: {', '.join(sorted(known))})")
    return known[name]
