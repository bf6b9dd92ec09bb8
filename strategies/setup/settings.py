"""Method and training settings from ``--set``, ``--tuned`` and ``--gnn``, with their provenance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from ldpsim.curator.learning.networks import NETWORKS
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import Method
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.parameters import read_value
from ldpsim.curator.names import nearest, paper_name
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.tuned import stored
from ldpsim.strategies.setup.options import RunOptions

_TRAINING = {entry.name: entry for entry in fields(TrainingSettings) if entry.name != "gnn"}


TRAINING = set(_TRAINING)


@dataclass(frozen=True)
class Settings:
    """Settings in force.

    Args:
        method: The method with its parameters.
        training: Settings of the GNN's training.
        reference: Settings of the training without noise.
        provenance: Parameter -> source of its value, for every value that is not the default.
        collections: Number of collections that the search behind tuned values used.
        feature_share: Share of the budget that the search chose, None for the run's own.
    """

    method: Method
    training: TrainingSettings
    reference: TrainingSettings
    provenance: Mapping[str, str]
    collections: int = 0
    feature_share: float | None = None

    def all_parameters(self) -> dict[str, Any]:
        """Return every parameter of the method and the training by name, those without an effect too."""
        return {**asdict(self.method), **asdict(self.training)}  # type: ignore[call-overload]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that a result stores: those with an effect."""
        gnn = self.training.gnn
        return {name: value for name, value in self.all_parameters().items()
                if name not in TRAINING or not unfit_training(name, type(self.method), gnn)}  # fmt: skip


def resolve(options: RunOptions, method: type[Method], budget: Budget) -> Settings:
    """Return the settings of a run: ``--set`` over ``--tuned`` over the defaults.

    Raises:
        ValueError: for a parameter that does not exist or does not fit, or nothing stored.
    """
    gnn = options.gnn or method.spec.default_gnn
    defaults = {entry.name: entry.default for entry in fields(method)}  # type: ignore[arg-type]
    values, provenance = dict[str, Any](options.settings), dict.fromkeys(options.settings, "--set")
    collections, share = 0, None
    if options.tuned:
        setting = stored(
            options.method, dataset=options.dataset, gnn=gnn, split=options.split, budget=budget,
            feature_share=None if isinstance(options.feature_share, str) else options.feature_share,
            parameters=defaults | values,
        )  # fmt: skip
        collections, share = setting.collections, setting.feature_share
        values = {**setting.values, **values}
        provenance = {**dict.fromkeys(setting.values, setting.provenance), **provenance}
    names = TRAINING | defaults.keys()
    for key in values:
        if key not in names:
            there, given = sorted(map(paper_name, names)), paper_name(key)
            raise SettingError(given, f"no such parameter{nearest(given, there)} (there are {', '.join(there)})")
        if key in TRAINING and (reason := unfit_training(key, method, gnn)):
            raise SettingError(paper_name(key), reason)
    made = method.from_settings({key: value for key, value in values.items() if key not in TRAINING})
    chosen = {key: read_value(key, value, str(_TRAINING[key].type)) for key, value in values.items() if key in TRAINING}
    gnn = options.gnn or made.effective_spec().default_gnn
    training = TrainingSettings(gnn=gnn, **{**made.effective_spec().training_defaults, **chosen})
    reference = TrainingSettings(gnn=gnn, epochs=training.epochs, hidden=training.hidden)
    return Settings(made, training, reference, provenance, collections, share)


def unfit_training(key: str, method: type[Method], gnn: str) -> str:
    """Return why no training of a method has this setting with a network; empty if one has."""
    if key.startswith("gat_") and gnn != "gat":
        return f"a {gnn} has no attention heads (--gnn gat)"
    if key in ("gnn_dropout", "activation") and gnn not in NETWORKS:
        return f"{gnn} has {key.removeprefix('gnn_')} of its own, or none"
    if key in ("selection", "activation") and not method.spec.common_selection:
        own = "chooses its epoch by a rule" if key == "selection" else "has an activation"
        return f"{method.spec.name} {own} of its own"
    return ""
