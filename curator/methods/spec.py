"""Declarations of a method: data, read before anybody is asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ldpsim.curator import options as o

Grid = Mapping[str, tuple[Any, ...]]  # parameter -> values
NO_NETWORK = "none"  # in the place of a network's name, for a method that predicts without one
TRUSTED = ("nobody", "friends", "shuffler", "sum", "server", "owner")  # from the least trust to the most
SIMULATED_ONLY = ("friends", "shuffler", "sum")  # parties that no deployment has
TRAINING_GRID: Grid = {"lr": (0.01, 0.1), "weight_decay": (1e-3, 1e-4, 1e-5), "gnn_dropout": (0.1, 0.5)}


@dataclass(frozen=True, kw_only=True)
class MethodSpec:
    """The declarations of a method. ``ldpsim methods`` prints the first five.

    Args:
        name: Name of the method.
        paper: Its paper.
        trust: ``untrusted curator``, ``trusted curator`` or ``none``.
        trusts: Who must be trusted, one of :data:`TRUSTED`; the default is :attr:`trusted`.
        private: Protected attributes.
        mechanisms: Names of the mechanisms that it asks with.
        trained_by: ``curator``, ``owner``, ``graph owner``, ``devices``, ``silos``, ``alone`` (for itself) or
            ``friends`` (no curator asks).
        options: Options that it reads, of those that only some methods read (:mod:`ldpsim.curator.options`), beside
            ``finer``. The default refuses none.
        finer: Finer budgets, each in place of a share of epsilon.
        default_gnn: Network.
        training_defaults: Differences from the defaults of ``TrainingSettings``.
        training_read: Training settings that its own training reads; None: all of them.
        reference_read: The same for its reference without noise.
        common_selection: Whether ``--set selection`` chooses the epoch and ``--set activation`` the activation.
        trains_network: Whether it predicts by a network.
        networks: Networks that it can train; empty: all of ours, and one of a person's own.
        search_grid: Grids of ``ldpsim tune`` for the curator's parameters, by stage; each starts from the best before.
        public_graph: Whether the edges are public in its paper's setting.
        public_features: Whether features are public with and without ``--public-features``.
        asks_labels: Whether devices are asked for labels with and without ``--private-labels``.
        asks_volunteers: Whether volunteers answer in clear, once; otherwise their label is public.
        reads: Attributes of the true records that it reads in place of reports.
        in_batches: Whether people are asked in batches, and the questions of a batch follow from earlier reports.
        learns_from_validation: Whether it learns from validation labels, and does not only choose by them. Its null
            models then learn from these labels too.
        memory: Kind of its rule of memory (:mod:`ldpsim.curator.methods.memory`).
    """

    name: str = ""
    paper: str = ""
    trust: str = "untrusted curator"
    trusts: str = ""
    private: tuple[str, ...] = ()
    mechanisms: tuple[str, ...] = ()
    trained_by: str = "curator"
    options: frozenset[str] = o.OF_METHODS
    finer: tuple[str, ...] = ()
    default_gnn: str = "gcn"
    training_defaults: Mapping[str, Any] = field(default_factory=dict)
    training_read: frozenset[str] | None = None
    reference_read: frozenset[str] | None = None
    common_selection: bool = True
    trains_network: bool = True
    networks: tuple[str, ...] = ()
    search_grid: tuple[Grid, ...] = (TRAINING_GRID,)
    public_graph: bool = False
    public_features: bool = False
    asks_labels: bool = False
    asks_volunteers: bool = False
    reads: tuple[str, ...] = ()
    in_batches: bool = False
    learns_from_validation: bool = False
    memory: str = "reports"

    def __post_init__(self) -> None:
        """Refuse a word that is not in :data:`TRUSTED` (ValueError)."""
        if self.trusts not in ("", *TRUSTED):
            raise ValueError(f"trusts={self.trusts}: must be one of {', '.join(TRUSTED)}")

    @property
    def trusted(self) -> str:
        """Party that must be trusted.

        ``nobody``: the curator sees one noisy report a person. ``friends``: they see what her device tells them, and
        whoever carries it sees who writes to whom. A ``shuffler`` or a ``sum`` sees reports or contributions, and shows
        the mixture or the sum alone. A ``server`` sees every update, an ``owner`` every record; so does a curator who
        reads records in clear. Unless ``trusts`` says it, it follows from ``trust``.
        """
        if self.trusts or self.trust == "untrusted curator":
            return self.trusts or "nobody"
        return "server" if self.in_rounds else "owner"

    @property
    def in_rounds(self) -> bool:
        """Whether devices or silos train in rounds."""
        return self.trained_by in ("devices", "silos", "alone")

    @property
    def options_read(self) -> frozenset[str]:
        """Options that it reads, its finer budgets among them."""
        return self.options | set(self.finer)
