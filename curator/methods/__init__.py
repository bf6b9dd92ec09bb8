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
    from curator.methods.blink import Blink
    from curator.methods.dprr import DPRR
    from curator.methods.fp_blink import FPBlink
    from curator.methods.fp_ldpgen import FPLDPGen
    from curator.methods.hogs import HoGS
    from curator.methods.ldpgcn import LDPGCN
    from curator.methods.ldpgen import LDPGen
    from curator.methods.lp_and import LPAnd
    from curator.methods.lpgnn import LPGNN
    from curator.methods.noisy import Noisy
    from curator.methods.owner import OwnerMethod
    from curator.methods.public_graph import OneHotDegree, RandomFeatures
    from curator.methods.references import MLP, Raw, Reference
    from curator.methods.rgnn import RGNN
    from curator.methods.rr import RR
    from curator.methods.solitude import FPSolitude, Solitude
    from curator.methods.symrr import SymRR

# name -> module and class
BUILT_IN: dict[str, tuple[str, str]] = {
    "hogs": ("hogs", "HoGS"),
    "lpgnn": ("lpgnn", "LPGNN"),
    "rgnn": ("rgnn", "RGNN"),
    "solitude": ("solitude", "Solitude"),
    "fp-solitude": ("solitude", "FPSolitude"),
    "blink": ("blink", "Blink"),
    "fp-blink": ("fp_blink", "FPBlink"),
    "rr": ("rr", "RR"),
    "symrr": ("symrr", "SymRR"),
    "dprr": ("dprr", "DPRR"),
    "ldpgcn": ("ldpgcn", "LDPGCN"),
    "ldpgen": ("ldpgen", "LDPGen"),
    "fp-ldpgen": ("fp_ldpgen", "FPLDPGen"),
    "lp-and": ("lp_and", "LPAnd"),
    "noisy": ("noisy", "Noisy"),
    "mlp": ("references", "MLP"),
    "raw": ("references", "Raw"),
    "rnd": ("public_graph", "RandomFeatures"),
    "ohd": ("public_graph", "OneHotDegree"),
    "privgnn": ("privgnn", "PrivGnn"),
    "pate-g": ("pate", "PateG"),
    "pate-m": ("pate", "PateM"),
    "b1": ("owner", "B1"),
    "b1-sampled": ("owner", "B1Sampled"),
    "b2": ("owner", "B2"),
    "isolate": ("federated", "Isolate"),
    "fedavg-mlp": ("federated", "FedAvgMLP"),
    "fedavg-gnn": ("federated", "FedAvgGNN"),
    "fedprox": ("federated", "FedProx"),
    "fedgcn": ("federated", "FedGCN"),
    "dp-fedavg": ("private_federated", "DPFedAvg"),
    "ldp-fedavg": ("private_federated", "LDPFedAvg"),
    "silo-fedavg-gcn": ("silos", "Silos"),
    "silo-fedprox": ("silos", "SiloFedProx"),
    "silo-fedgcn": ("silos", "SiloFedGCN"),
}
_CLASSES = {name: module for module, name in BUILT_IN.values()} | {"Reference": "references", "OwnerMethod": "owner"}

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
