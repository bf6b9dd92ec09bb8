"""The golden runs: small runs of every method, engine and network (started by ``performing.py``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ldpsim.curator.methods import table

Block = dict[str, Any]
DEFAULTS: Block = {"dataset": "generated", "clients": 120, "reference": False, "nulls": False, "all_nulls": True,
                   "device": "cpu"}  # fmt: skip


@dataclass(frozen=True)
class Golden:
    """One golden run.

    Args:
        options: What differs from :data:`DEFAULTS`. ``state`` and ``from_reports`` name a folder
            below the run's own; ``first/reports`` are the reports of the run before.
        first: Differences from ``options`` of a run that is made before, in the same folder.
        how: The entry point: ``simulate``, ``facts`` (the ServerApp of a curator who knows public
            facts alone) or ``flwr`` (``flwr run .``).
        servers: ``ray`` or ``flower`` where such processes are started.
        same_as: Name of a run whose figures must be equal.
        noise_of_floats: The noise is drawn from the training's id and from every bit of an update:
            the id is fixed, and on another machine the noise is another one.
    """

    options: Mapping[str, Any]
    first: Mapping[str, Any] | None = None
    how: str = "simulate"
    servers: str = ""
    same_as: str = ""
    noise_of_floats: bool = False
    needs_data: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "needs_data", not self.options.get("dataset", "generated").startswith("generated"))

    def described(self) -> Block:
        """The run as it stands in the golden file."""
        given: Block = {"options": dict(self.options)}
        if self.first is not None:
            given["first"] = dict(self.first)
        return given if self.how == "simulate" else {**given, "how": self.how}


def _local(method: str, **options: Any) -> Golden:
    settings = {"epochs": "40", **options.pop("settings", {})}
    return Golden({"method": method, "settings": settings, **options})


def _answered(method: str, **options: Any) -> Golden:
    """A method that trains no network."""
    return Golden({"method": method, **options})


def _owner(method: str, *, first: Mapping[str, Any] | None = None, same_as: str = "", servers: str = "",
           **options: Any) -> Golden:  # fmt: skip
    settings = {"epochs": "40", **options.pop("settings", {})}
    return Golden({"method": method, "clients": 200, "settings": settings, **options},
                  first=first, same_as=same_as, servers=servers)  # fmt: skip


def _rounds(method: str, **options: Any) -> Golden:
    settings = {"rounds": "5", **options.pop("settings", {})}
    return Golden({"method": method, "settings": settings, **options}, noise_of_floats=method == "ldp-fedavg")


_LABELS = {"private_labels": True, "eps_labels": 1.0}
_ASKED = {"queries": "20", "K": "10"}

RUNS: dict[str, Golden] = {
    # one report a device
    "hogs": Golden({"method": "hogs", "settings": {"epochs": "40"}, "reference": True}),
    "hogs-nulls": _local("hogs", nulls=True),
    "hogs-sage": _local("hogs", gnn="sage", epsilon=4.0),
    "hogs-gat": _local("hogs", gnn="gat", seed=1),
    "hogs-public-features": _local("hogs", public_features=True),
    "hogs-one-end": _local("hogs", reporting="one-end"),
    "hogs-private-labels": _local("hogs", **_LABELS),
    "hogs-dropout": _local("hogs", dropout=0.3),
    "hogs-label-rate": _local("hogs", label_rate=0.4),
    "hogs-own-budgets": _local("hogs", eps_adjacency=5.0, eps_features=0.5),
    "hogs-own-seeds": _local("hogs", seeds={"population": 1, "split": 2, "noise": 3, "training": 4}),
    "hogs-feature-share": _local("hogs", feature_share=0.3),
    "hogs-repeats": _local("hogs", repeats=2),
    "hogs-repeats-noise": _local("hogs", repeats=2, repeats_vary="noise", reference=True),
    "hogs-caps": _local("hogs", caps={"bit": 20.0, "user": 1e6}),
    "hogs-from-reports": Golden(
        {"method": "hogs", "settings": {"epochs": "40"}, "from_reports": "first/reports"},
        first={"from_reports": None, "save_reports": True},
    ),
    "hogs-state-replay": Golden(
        {"method": "hogs", "settings": {"epochs": "40"}, "state": "state", "on_requery": "replay"},
        first={"seeds": {"training": 9}},
    ),
    "hogs-state-refuse": Golden({"method": "hogs", "settings": {"epochs": "40"}, "state": "state"}, first={}),
    "hogs-state-goes-on": Golden(
        {"method": "hogs", "settings": {"epochs": "40"}, "state": "state", "on_requery": "replay"},
        first={"dropout": 0.4},
    ),
    "hogs-tuned-cora": _local("hogs", dataset="cora", clients=100, epsilon=3.0, tuned=True, split="split42",
                              public_features=True, settings={"epochs": "20"}),
    "rgnn-tuned-cora": _local("rgnn", dataset="cora", clients=100, tuned=True, settings={"epochs": "5"}),
    "noisy": _local("noisy"),
    "lpgnn": _local("lpgnn"),
    "lpgnn-nulls": _local("lpgnn", nulls=True),
    "lpgnn-gat": _local("lpgnn", gnn="gat"),
    "lpgnn-laplace": _local("lpgnn", settings={"mechanism": "laplace"}),
    "lpgnn-gaussian": _local("lpgnn", settings={"mechanism": "gaussian", "epochs": "10"}, dropout=0.2),
    "lpgnn-text": _local("lpgnn", settings={"version": "text"}, gnn="gcn"),
    "lpgnn-private-graph": _local("lpgnn", settings={"adjacency": "private"}, eps_adjacency=6.0),
    "rgnn": _local("rgnn", settings={"C": "4"}),
    "rgnn-gcn": _local(
        "rgnn", settings={"C": "4", "m": "5", "loss": "softmax"}, gnn="gcn", eps_features=2.0, eps_labels=3.0
    ),
    "upgnet": _local("upgnet", nulls=True),
    "upgnet-mpm": _local("upgnet", settings={"mechanism": "mpm", "nfr": "1", "hops": "as-printed", "scale": "raw"}),
    "upgnet-gcn": _local("upgnet", gnn="gcn", settings={"chosen_by": "as-printed"}, dropout=0.2),
    "privge": _local("privge", settings={"m": "2"}),
    "privge-as-published": _local("privge", settings={"debias": "false", "layers": "3", "patience": "50"}),
    "solitude": _local("solitude"),
    "solitude-gcn": _local("solitude", gnn="gcn", eps_adjacency=5.0, eps_features=4.0),
    "fp-solitude": _local("fp-solitude"),
    "fp-solitude-gat": _local("fp-solitude", gnn="gat"),
    "blink": _local("blink"),
    "blink-soft-sage": _local("blink", settings={"variant": "soft"}, gnn="sage"),
    "blink-hybrid-gat": _local("blink", settings={"variant": "hybrid"}, gnn="gat", epsilon=4.0),
    "fp-blink": _local("fp-blink"),
    "sbp": _answered("sbp"),
    "sbp-public-features": _answered("sbp", public_features=True, **_LABELS),
    "sbp-of-rgnn": _answered("sbp", settings={"asks": "rgnn"}),
    "vote": _answered("vote", public_features=True),
    "vote-volunteers": _answered("vote", volunteers=0.2),
    "secure-sum": _answered("secure-sum", volunteers=0.2),
    "vote-batches": _answered("vote", settings={"batches": "3"}, **_LABELS),
    "rr": _local("rr"),
    "symrr": _local("symrr"),
    "dprr": _local("dprr"),
    "ldpgcn": _local("ldpgcn"),
    "ldpgen": _local("ldpgen"),
    "ldpgen-nulls": _local("ldpgen", nulls=True),
    "ldpgen-dropout": _local("ldpgen", dropout=0.3),
    "fp-ldpgen": _local("fp-ldpgen"),
    "lp-and": _answered("lp-and"),
    # references
    "mlp": _local("mlp"),
    "raw": _local("raw"),
    "raw-sage": _local("raw", gnn="sage"),
    "rnd": _local("rnd"),
    "ohd": _local("ohd"),
    "featfree": _local("featfree"),
    # a trusted owner
    "privgnn": _owner("privgnn", settings=_ASKED, reference=True),
    "privgnn-nulls": _owner("privgnn", settings=_ASKED, nulls=True),
    "privgnn-once": _owner("privgnn", settings={**_ASKED, "sampling": "once", "query_selection": "pagerank"}),
    "privgnn-dropout": _owner("privgnn", settings={**_ASKED, "lambda_": "1.0"}, dropout=0.3),
    "pate-g": _owner("pate-g", settings={"queries": "20", "teachers": "4"}),
    "pate-m": _owner("pate-m", settings={"queries": "20", "teachers": "4"}),
    "gap": _owner("gap", reference=True, nulls=True),
    "gap-node": _owner("gap", settings={"level": "node", "batch": "30", "degree": "5", "epochs": "5"}, epsilon=8.0),
    "progap": _owner("progap", settings={"edges": "arc", "keep": "best", "accountant": "rdp"}, dropout=0.2),
    "progap-node": _owner("progap", settings={"level": "node", "batch": "30", "epochs": "3"}, epsilon=8.0),
    "b1": _owner("b1"),
    "b1-sampled": _owner("b1-sampled"),
    "b2": _owner("b2"),
    # trained in rounds
    "isolate": Golden({"method": "isolate", "settings": {"local_steps": "20"}}),
    "fedavg-mlp": _rounds("fedavg-mlp", reference=True),
    "fedavg-mlp-nulls": _rounds("fedavg-mlp", nulls=True),
    "fedavg-mlp-dropout": _rounds("fedavg-mlp", dropout=0.3),
    "fedavg-mlp-options": _rounds("fedavg-mlp", repeats=2, label_rate=0.5, settings={
        "fraction": "0.5", "dropping": "0.2", "evaluate_every": "1", "server_optimiser": "adam", "scaling": "row",
    }),
    "fedprox": _rounds("fedprox", settings={"proximal_mu": "0.5"}),
    "fedavg-gnn": _rounds("fedavg-gnn", clients=60),
    "fedavg-gnn-seed": _rounds("fedavg-gnn", clients=60, seeds={"training": 3}, label_rate=0.5),
    "fedavg-gnn-dropout": _rounds("fedavg-gnn", dropout=0.3, settings={"evaluate_every": "1", "dropping": "0.1"}),
    "fedgcn": _rounds("fedgcn"),
    "fedgcn-dropout": _rounds("fedgcn", dropout=0.3),
    "dp-fedavg": _rounds("dp-fedavg"),
    "dp-fedavg-adaptive": _rounds("dp-fedavg", settings={"clipping": "adaptive", "fraction": "0.5"}, dropout=0.2),
    "ldp-fedavg": _rounds("ldp-fedavg", settings={"rounds": "10"}),
    "ldp-fedavg-dropout": _rounds("ldp-fedavg", settings={"fraction": "0.5", "dropping": "0.2"}, dropout=0.2),
    "silo-fedavg-gcn": _rounds("silo-fedavg-gcn", settings={"silos": "3"}),
    "silo-fedprox": _rounds("silo-fedprox", settings={"silos": "3", "partition": "metis", "dropping": "0.3"}),
    "silo-fedgcn": _rounds("silo-fedgcn", settings={"silos": "3", "beta": "1.0"}, dropout=0.2),
    # other engines
    "ray-hogs": Golden(
        {"method": "hogs", "settings": {"epochs": "40"}, "reference": True, "engine": "ray", "workers": 2},
        same_as="hogs", servers="ray",
    ),
    "ray-ldpgen": Golden({"method": "ldpgen", "settings": {"epochs": "40"}, "engine": "ray", "workers": 2},
                       same_as="ldpgen", servers="ray"),
    "ray-privge": Golden({"method": "privge", "settings": {"m": "2", "epochs": "40"}, "engine": "ray", "workers": 2},
                       same_as="privge", servers="ray"),
    "ray-privgnn": _owner(
        "privgnn", settings=_ASKED, reference=True, engine="ray", ray_address="local", same_as="privgnn", servers="ray"
    ),
    "hogs-labels-dropout": _local("hogs", clients=40, dropout=0.2, **_LABELS),
    "facts-hogs": Golden(
        {"method": "hogs", "settings": {"epochs": "1"}, "clients": 40, "state": "state", "on_requery": "replay"},
        how="facts",
    ),
    "flwr-run": Golden({"method": "hogs", "epsilon": 6.0}, how="flwr", same_as="local-for-flwr", servers="flower"),
    # as the app's configuration has it, which sets no other option
    "local-for-flwr": Golden({"method": "hogs", "epsilon": 6.0, "clients": 30, "device": "auto", "reference": True,
                              "nulls": True, "all_nulls": False}),
}  # fmt: skip
# Of each kind `make test` makes one run: a variant of a method that has a quicker one is left to `make slow`.
SLOW = {
    "hogs-sage", "hogs-own-budgets", "hogs-feature-share", "hogs-repeats-noise", "hogs-label-rate", "hogs-caps",
    "lpgnn-gat", "lpgnn-gaussian", "upgnet-gcn", "privge-as-published", "solitude-gcn", "fp-solitude-gat",
    "vote-batches", "sbp-public-features", "ldpgen-nulls", "lpgnn-nulls", "privgnn-nulls", "privgnn-once",
    "privgnn-dropout", "gap-node", "progap-node", "fedavg-mlp-nulls", "fedavg-mlp-dropout",
    "fedavg-mlp-options", "fedavg-gnn-dropout", "fedavg-gnn-seed", "fedgcn-dropout", "dp-fedavg-adaptive",
    "ldp-fedavg-dropout", "ray-ldpgen", "ray-privge", "ray-privgnn",
}  # fmt: skip
_BY_TRAINER = {
    "curator": _local, "owner": partial(_owner, settings=_ASKED), "graph owner": _owner, "devices": _rounds,
    "alone": _rounds, "friends": partial(_rounds, settings={"rounds": "200"}),
    "silos": partial(_rounds, settings={"silos": "3"}),
}  # fmt: skip
_NAMED = {golden.options["method"] for golden in RUNS.values()}
# A method that is named nowhere above has one run, under its own name.
RUNS |= {name: _BY_TRAINER[kind.spec.trained_by](name) for name, kind in table().items() if name not in _NAMED}
