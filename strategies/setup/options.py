"""What a run was asked to do, checked.

The command line, a sweep file, ``compare`` and Python callers all make one
:class:`RunOptions`; whatever is wrong is one ``ValueError`` line that names the option,
the value and what is allowed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

ENGINES = ("auto", "local", "ray", "flower")
SPLITS = ("random", "split42", "file")
GNNS = ("gcn", "sage", "gat")
VARY = ("noise", "split", "all")


@dataclass(frozen=True)
class Seeds:
    """The four named seeds of a run. ``noise`` None: secrets come from the operating system."""

    population: int
    split: int
    noise: int | None
    training: int

    @classmethod
    def derive(cls, seed: int, **given: int | None) -> Seeds:
        """Derive the seeds that are not given from one number; each from its own hash."""

        def derived(name: str) -> int:
            return int.from_bytes(hashlib.sha256(f"ldpsim {name} {seed}".encode()).digest()[:6], "little")

        values: dict[str, Any] = {f.name: given[f.name] if f.name in given else derived(f.name) for f in fields(cls)}
        return cls(**values)

    def to_dict(self) -> dict[str, int | None]:
        """Return the four seeds by name."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Everything one run needs; defaults are those of ``ldpsim run``.

    Args:
        method: Name in the method table.
        dataset: Name in the data set table, or a path to the person's own file.
        clients: Number of devices; None for all there are (``generated``: 3,000).
        data_dir: Where raw data lie.
        split: ``random`` (50/25/25 by seed), ``split42`` or ``file``.
        label_rate: Share of the training nodes that keep their label, None for all.
        epsilon: The method's total budget in its paper's sense.
        eps_adjacency, eps_features, eps_labels: The finer budgets.
        feature_share: Share of epsilon for the features (HoGS's delta).
        public_features, private_labels: What is public.
        reporting: ``both`` or ``one-end``.
        gnn: ``gcn``, ``sage``, ``gat``; None for the method's default.
        tuned: Take the stored hyper-parameters.
        settings: ``--set`` parameters, as given.
        device: ``auto``, ``cpu`` or ``cuda``.
        reference: Whether to train the noiseless reference too.
        seed: Derives the seeds that ``seeds`` does not give.
        seeds: Named seeds given one by one; ``noise`` may be None (operating system).
        repeats, repeats_vary: How often, and what changes between repeats.
        engine, workers, ray_address: Where the devices run.
        dropout: Share of devices that never answer.
        state: Folder with enrolled devices, None for one inside the run's folder.
        on_requery, caps: Policy of devices enrolled by this run.
        out: Parent of the run's folder; None writes nothing.
        save_reports, from_reports: Keep the reports, or work on kept ones.
    """

    method: str = "hogs"
    dataset: str = "generated"
    clients: int | None = None
    data_dir: Path | None = None
    split: str = "random"
    label_rate: float | None = None
    epsilon: float | None = None
    eps_adjacency: float | None = None
    eps_features: float | None = None
    eps_labels: float | None = None
    feature_share: float | None = None
    public_features: bool = False
    private_labels: bool = False
    reporting: str = "both"
    gnn: str | None = None
    tuned: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    device: str = "auto"
    reference: bool = True
    seed: int = 0
    seeds: Mapping[str, int | None] = field(default_factory=dict)
    repeats: int = 1
    repeats_vary: str = "all"
    engine: str = "auto"
    workers: int | None = None
    ray_address: str | None = None
    dropout: float = 0.0
    state: Path | None = None
    on_requery: str = "refuse"
    caps: Mapping[str, float] = field(default_factory=dict)
    out: Path | None = Path("runs")
    save_reports: bool = False
    from_reports: Path | None = None

    def __post_init__(self) -> None:
        _one_of("--split", self.split, SPLITS)
        _one_of("--engine", self.engine, ENGINES)
        _one_of("--repeats-vary", self.repeats_vary, VARY)
        _one_of("--device", self.device, ("auto", "cpu", "cuda"))
        _one_of("--reporting", self.reporting, ("both", "one-end"))
        _one_of("--on-requery", self.on_requery, ("refuse", "replay"))
        if self.gnn is not None:
            _one_of("--gnn", self.gnn, GNNS)
        if self.clients is not None and self.clients < 4:
            raise ValueError(f"--clients {self.clients}: at least 4 devices are needed")
        if self.repeats < 1:
            raise ValueError(f"--repeats {self.repeats}: must be 1 or more")
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"--workers {self.workers}: must be 1 or more")
        for name, value in (
            ("--epsilon", self.epsilon),
            ("--eps-adjacency", self.eps_adjacency),
            ("--eps-features", self.eps_features),
            ("--eps-labels", self.eps_labels),
        ):
            if value is not None and not value > 0:
                raise ValueError(f"{name} {value:g}: a budget must be a number above 0")
        if self.epsilon is not None and math.isinf(self.epsilon):
            raise ValueError("--epsilon inf: the total budget must be a finite number above 0")
        if self.feature_share is not None and not 0 < self.feature_share < 1:
            raise ValueError(f"--feature-share {self.feature_share:g}: must lie between 0 and 1, both excluded")
        if not 0 <= self.dropout < 1:
            raise ValueError(f"--dropout {self.dropout:g}: a share of devices, 0 or more and below 1")
        if self.label_rate is not None and not 0 < self.label_rate <= 1:
            raise ValueError(f"--label-rate {self.label_rate:g}: must be above 0 and at most 1")
        if self.state is not None and self.repeats > 1:
            raise ValueError(f"--state with --repeats {self.repeats}: each repeat needs people of its own")
        if self.state is not None and self.from_reports is not None:
            raise ValueError("--state with --from-reports: nobody is asked, so no devices are needed")

    def seeds_of(self, repeat: int) -> Seeds:
        """Return the seeds of one repeat; what ``repeats_vary`` does not name stays."""
        base = Seeds.derive(self.seed, **self.seeds)
        if repeat == 0:
            return base
        fresh = Seeds.derive(int.from_bytes(hashlib.sha256(f"{base} {repeat}".encode()).digest()[:6], "little"))
        return Seeds(
            population=base.population,
            split=fresh.split if self.repeats_vary in ("split", "all") else base.split,
            noise=base.noise if base.noise is None else fresh.noise if self.repeats_vary != "split" else base.noise,
            training=fresh.training if self.repeats_vary in ("noise", "all") else base.training,
        )


def _one_of(option: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{option} {value}: must be one of {', '.join(allowed)}")
