"""Feature share of a run: given, stored, or chosen from public facts before anybody is asked.

Method and training settings from ``--set``, ``--tuned`` and ``--gnn``, with their provenance.

Checks of federated runs and of an owner's runs, made before anything is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, cast

from ldpsim.curator.learning.networks import NETWORKS
from ldpsim.curator.learning.own_network import check_network
from ldpsim.curator.learning.training import TrainingSettings, choose_device
from ldpsim.curator.methods import Method
from ldpsim.curator.methods.base import Budget
from ldpsim.curator.methods.feature_share import feature_share
from ldpsim.curator.methods.federated.fedavg import Federated
from ldpsim.curator.methods.owner.owner import OwnerMethod, sage_settings
from ldpsim.curator.methods.parameters import read_value
from ldpsim.curator.names import nearest, paper_name
from ldpsim.curator.setting_error import SettingError
from ldpsim.curator.tuned import stored
from ldpsim.devices.data.population import Population
from ldpsim.devices.facts import PublicFacts, Split
from ldpsim.strategies.engines.collect import choose
from ldpsim.strategies.people.owner_graphs import Division
from ldpsim.strategies.setup.options import AUTO, RunOptions

CHOSEN = "chosen from public facts"


def divided(
    options: RunOptions, settings: Settings, budget: Budget, facts: PublicFacts, labels: int
) -> tuple[Settings, Budget]:
    """Return the settings with the provenance of the feature share, and the budget with the share in force.

    A method that chooses its share (``MethodSpec.auto_share``) does so unless one is
    given or stored. Where a finer budget is given there is nothing to divide: features without a budget of their own
    are then not asked.

    Args:
        options: Options of the run, which were found to be read.
        settings: The method, and a stored share.
        budget: The budget without a chosen share.
        facts: Sizes of the population.
        labels: Number of training labels.

    Raises:
        ValueError: one line, for a share that does not fit the method or the other budgets.
    """
    spec, choice = settings.method.in_force(), options.feature_share
    parts = {"--eps-adjacency": budget.eps_adjacency, "--eps-features": budget.eps_features}
    finer = [f"{option} {value:g}" for option, value in parts.items() if value is not None]
    if choice == AUTO and finer:
        raise ValueError(f"--feature-share auto with {finer[0]}: nothing is left to divide")
    needed = "features" in spec.private and not spec.auto_share
    if choice == 0 and needed and not budget.public_features and budget.eps_features is None:
        raise ValueError(f"--feature-share 0: {spec.name} cannot do without private features")
    if choice is None and settings.feature_share is not None:
        return settings, replace(budget, feature_share=settings.feature_share)
    if choice not in (None, AUTO) or not spec.auto_share or budget.public_features:
        return settings, budget
    share = 0.0 if finer else feature_share(facts, labels, budget.epsilon, budget.reporting)
    settings = replace(settings, provenance={**settings.provenance, "feature_share": CHOSEN})
    return settings, replace(budget, feature_share=share)


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

    def in_force(self) -> dict[str, Any]:
        """Return every parameter of the method and the training by name, those without an effect too."""
        return {**asdict(self.method), **asdict(self.training)}  # type: ignore[call-overload]

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that a result stores: those with an effect."""
        gnn = self.training.gnn
        return {name: value for name, value in self.in_force().items()
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
    gnn = options.gnn or made.in_force().default_gnn
    training = TrainingSettings(gnn=gnn, **{**made.in_force().training_defaults, **chosen})
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


def check_gnn(settings: Settings, facts: PublicFacts) -> None:
    """Check that the method and its network fit the people (ValueError)."""
    training, spec = settings.training, settings.method.in_force()
    spec.check_people(facts)
    if spec.networks and training.gnn not in spec.networks:
        raise ValueError(f"--gnn {training.gnn}: {spec.name} trains {', '.join(spec.networks)} alone, as it is set")
    if training.gnn not in NETWORKS:
        check_network(training.gnn, people=facts.n, features=facts.d, hidden=training.hidden, classes=facts.classes)


def check_trainer(options: RunOptions, settings: Settings, population: Population, split: Split) -> None:
    """Check that options and people fit whoever trains; ValueError of one line.

    Args:
        options: The run.
        settings: Its method and training.
        population: Its people.
        split: Their division in the first repeat.
    """
    spec = settings.method.spec
    if spec.in_rounds:
        _check_rounds(options, settings, population, split)
    elif isinstance(split, Division):
        _check_owner(settings, population, split)
    elif spec.trained_by == "graph owner":
        _check_graph_owner(options, settings)


def _check_rounds(options: RunOptions, settings: Settings, population: Population, split: Split) -> None:
    if (engine := choose(options.engine, options.ray_address)) != "local":
        raise ValueError(f"--engine {engine}: {options.method} trains in this process (--engine local)")
    if not len(split.train):
        raise ValueError(f"{population.name}: nobody is left to train")
    cast(Federated, settings.method).check_people(len(population))


def _check_owner(settings: Settings, population: Population, division: Division) -> None:
    sage_settings(settings.training)
    method = cast(OwnerMethod, settings.method)
    method.check(people=len(division.private), candidates=len(division.candidates), classes=population.facts.classes)


def _check_graph_owner(options: RunOptions, settings: Settings) -> None:
    if settings.training.gnn_dropout:
        raise SettingError(f"gnn_dropout={settings.training.gnn_dropout:g}", f"{options.method} has no dropout")
    if choose_device(options.device).type == "cuda" and options.device == "cuda":
        raise ValueError(f"--device cuda: {options.method} trains on a CPU only")
