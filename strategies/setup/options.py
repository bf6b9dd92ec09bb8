"""Options of a run, declared and checked.

The command line, a sweep file, ``compare`` and Python callers all make one
:class:`RunOptions`. A mistake is one ``ValueError`` line that names the option, the value
and what is allowed.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ldpsim.curator import options as o
from ldpsim.curator.names import by_field
from ldpsim.devices.data.split_kinds import FORMS, is_kind
from ldpsim.strategies.setup.option_spec import (
    BUDGET,
    DEVICES,
    MODEL,
    OUTPUT,
    POPULATION,
    RUNNING,
    declared,
    option,
    set_checked,
    up_to,
)

if TYPE_CHECKING:
    from ldpsim.curator.methods.base import Method

GNNS = ("gcn", "sage", "gat")
# What devices tell their friends.
GUESS, FEATURES, LABEL, NOTHING = FRIENDS_TELL = ("guess", "features", "label", "nothing")
AUTO = "auto"  # the feature share is chosen from public facts
MOST_EPSILON = 1e6  # far beyond any budget that leaves noise; square roots and powers of it do not overflow
_OWN = "the method's"
_SEEDED = "from --seed"
SEED_BOUND = 1 << 63
_SEED = "must be 0 or more and below 2^63"
_PART: dict[str, Any] = {
    "allows": lambda epsilon: 0 < epsilon <= MOST_EPSILON or epsilon == math.inf,
    "must": f"a budget must be a number above 0 and at most {MOST_EPSILON:,.0f} (or inf, where a method has it)",
    "hashed": "in force",
}  # fmt: skip
_MINE: dict[str, Any] = {"hashed": "never", "local": True}


def _most_people() -> int:
    from ldpsim.devices.facts import LARGEST_SIZE  # not above: the command line starts without numpy

    return LARGEST_SIZE


def _is_network(name: str) -> bool:
    return name in GNNS or ":" in name or name in {entry.name for entry in entry_points(group="ldpsim.networks")}


def check_ray_address(engine: str, address: str | None) -> None:
    """Refuse the address of a Ray cluster for an engine that uses none (ValueError)."""
    if address is not None and engine not in ("auto", "ray"):
        raise ValueError(f"--ray-address with --engine {engine}: only auto and ray use a Ray cluster")


# Why nothing reads an option beside the other options of a run, in words; empty if something reads it.
def no_network(run: RunOptions, method: Method) -> str:
    """Of an option of the training: why no network is trained."""
    if method.effective_spec().trains_network or run.reference:
        return ""
    return f"{method.spec.name} trains no network, and there is none without noise beside --no-reference"


def _fact(run: RunOptions, method: Method) -> str:
    return "" if run.dataset == "generated" else f"the people of {run.dataset} have their own facts"


_FACT: dict[str, Any] = {"hashed": "in force", "unread": _fact}
FACTS = ("mean_degree", "homophily", "classes", "features", "feature_rate")  # of generated people
SETTING = o.BUDGET | o.NETWORK | {"label_rate", "volunteers"}  # options that make a method's setting, beside `--set`
# Options of a run that a plan reads; `--like` is its data set.
PLANNED = SETTING | {"dataset", "clients", "data_dir", "settings", "out", *FACTS}


def _of_clear_features(run: RunOptions, method: Method) -> str:
    return "features are public (--public-features)" if run.public_features else ""


def _epsilon(run: RunOptions, method: Method) -> str:
    """``--eps-*`` replace a part of ``--epsilon``."""
    spec, asks_features = method.effective_spec(), run.feature_share != 0
    if run.feature_share is None and method.features_optional:
        asks_features = run.eps_adjacency is None  # beside a finer budget there is no whole to choose a share of
    elif "feature_share" not in spec.options_read:
        asks_features = True
    asks_features = not run.public_features and (run.eps_features is not None or asks_features)
    parts = [part for part in spec.finer if part != "eps_features" or asks_features]
    return _all_given(run, parts)


def _feature_share(run: RunOptions, method: Method) -> str:
    if run.feature_share == AUTO and not method.features_optional:
        return f"give a number, as {method.spec.name} has no rule for its share"
    return _of_clear_features(run, method) or _all_given(run, method.effective_spec().finer)


def _all_given(run: RunOptions, parts: Sequence[str]) -> str:
    flags = " and ".join(f"--{part.replace('_', '-')}" for part in parts)
    words = f"{flags} set every part" if len(parts) > 1 else f"{flags} sets all of it"
    return words if parts and all(getattr(run, part) is not None for part in parts) else ""


def _eps_labels(run: RunOptions, method: Method) -> str:
    asks_labels = run.private_labels or method.effective_spec().asks_labels
    return "" if asks_labels else f"{method.spec.name} does not ask for labels without --private-labels"


def _label_mechanism(run: RunOptions, method: Method) -> str:
    clear = "labels are asked in clear beside --eps-labels inf" if run.eps_labels == math.inf else ""
    return _eps_labels(run, method) or clear


def _private_labels(run: RunOptions, method: Method) -> str:
    alone = run.volunteers is not None and not method.spec.asks_volunteers
    return f"{method.spec.name} takes the labels of volunteers alone" if alone else ""


def _friends_tell(run: RunOptions, method: Method) -> str:
    predict = method.spec.trained_by == "curator" and method.spec.private
    return "" if predict else f"{method.spec.name} publishes no device model"


def _friends_share(run: RunOptions, method: Method) -> str:
    return "nobody tells friends anything" if run.friends_tell == NOTHING else _friends_tell(run, method)


def _false_alarm(run: RunOptions, method: Method) -> str:
    return "" if run.defence != "none" else "there is no --defence"


def _repeats_vary(run: RunOptions, method: Method) -> str:
    return "" if run.repeats > 1 else "there is one repeat (--repeats)"


@dataclass(frozen=True)
class Seeds:
    """The four named seeds of a run. With ``noise`` None the operating system gives secrets, private noise and samples.

    >>> seeds = Seeds.derive(7, noise=None)
    >>> seeds.noise is None and seeds.split == Seeds.derive(7).split != Seeds.derive(8).split
    True
    """

    population: int = option(help="Seed of the graph", panel=POPULATION, metavar="N", shown=_SEEDED)
    split: int = option(help="Seed of the split", panel=POPULATION, metavar="N", shown=_SEEDED)
    noise: int | None = option(help="Seed of the noise; os: real secrets", panel=BUDGET, metavar="N|os", shown=_SEEDED)
    training: int = option(help="Seed of the training", panel=POPULATION, metavar="N", shown=_SEEDED)

    @classmethod
    def derive(cls, seed: int, **seeds: int | None) -> Seeds:
        """Derive the seeds that are not given from one number; each from its own hash."""

        def derived(name: str) -> int:
            return int.from_bytes(hashlib.sha256(f"ldpsim {name} {seed}".encode()).digest()[:6], "little")

        values: dict[str, Any] = {name: seeds[name] if name in seeds else derived(name) for name in declared(cls)}
        return cls(**values)

    def to_dict(self) -> dict[str, int | None]:
        """Return the four seeds by name."""
        return {name: getattr(self, name) for name in declared(Seeds)}


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Everything one run needs. A field is declared once, here; its help says what it means.

    A new option is one field, and the code that uses it.

    >>> options = RunOptions(method="blink", clients=500, epsilon=4.0)
    >>> options.dataset, options.seeds_of(0) == RunOptions().seeds_of(0)
    ('generated', True)
    >>> RunOptions(clients=3)
    Traceback (most recent call last):
        ...
    ValueError: --clients 3: at least 4 devices are needed, at most 2^31 - 1 are possible
    """

    method: str = option(
        "hogs", "Method; `ldpsim methods` lists them", POPULATION, "NAME", hashed="always", column=False, flower=True,
    )  # fmt: skip
    dataset: str = option(
        "generated", "Name (`ldpsim datasets`) or your .npz", POPULATION, "NAME|FILE", hashed="in force",
        column=False, flower=True,
    )  # fmt: skip
    clients: int | None = option(
        None, "People; a sample of real data", POPULATION, "N", shown="all; generated: 3000", hashed="in force",
        column=False, allows=lambda n: 4 <= n <= _most_people(),
        must="at least 4 devices are needed, at most 2^31 - 1 are possible",
    )  # fmt: skip
    mean_degree: float | None = option(
        None, "Friends of a generated person", POPULATION, "K", shown="5", label="mean degree",
        allows=lambda degree: 0 < degree <= _most_people(), must="must be above 0", **_FACT,
    )  # fmt: skip
    homophily: float | None = option(
        None, "Share of friendships inside a class", POPULATION, "H", shown="0.76",
        allows=lambda share: 0 <= share <= 1, must="must be a share, 0 to 1", **_FACT,
    )  # fmt: skip
    classes: int | None = option(
        None, "Classes of generated people", POPULATION, "C", shown="6", flag="--number-of-classes", column=False,
        allows=lambda count: 2 <= count <= _most_people(), must="must be 2 or more", **_FACT,
    )  # fmt: skip
    features: int | None = option(
        None, "Features of generated people", POPULATION, "D", shown="600", flag="--number-of-features", column=False,
        allows=lambda count: 1 <= count <= _most_people(), must="must be 1 or more", **_FACT,
    )  # fmt: skip
    feature_rate: float | None = option(
        None, "Share of their features that are not 0", POPULATION, "R", shown="0.027", label="feature rate",
        allows=lambda rate: 0 < rate <= 1, must="must be a share, above 0 and at most 1", **_FACT,
    )  # fmt: skip
    data_dir: Path | None = option(
        None, "Folder of the raw data", POPULATION, "DIR", shown="$LDPSIM_DATA", envvar="LDPSIM_DATA", **_MINE
    )
    split: str = option(
        "random", "split42, file, 75/10/15 or 20-each/500", POPULATION, "NAME", allows=is_kind,
        must=f"must be one of {FORMS}", hashed="always", flower=True,
    )  # fmt: skip
    label_rate: float | None = option(
        None, "Share of all people whose label trains", POPULATION, "R", shown="the split's",
        allows=lambda rate: 0 < rate <= 1, must="must be above 0 and at most 1", hashed="always",
    )  # fmt: skip
    volunteers: float | None = option(
        None, "Share who give label and features without noise", POPULATION, "R",
        allows=lambda share: 0 < share < 1, must="must be above 0 and below 1", flower=True,
        excludes=((o.LABELS - {"private_labels"}) | {"label_rate", "public_features"},
                  "volunteers give theirs in clear, and nobody else"),
    )  # fmt: skip
    epsilon: float | None = option(
        None, "Total epsilon as its paper counts it", BUDGET, "X", shown=_OWN, label="ε", flower=True,
        allows=lambda epsilon: 0 < epsilon <= MOST_EPSILON, hashed="in force", unread=_epsilon,
        must=f"the total budget must be a number above 0 and at most {MOST_EPSILON:,.0f}",
    )  # fmt: skip
    eps_adjacency: float | None = option(
        None, "Part of epsilon for one entry of a friend list", BUDGET, "X", label="ε edges", flower=True, **_PART
    )
    eps_features: float | None = option(
        None, "Part of epsilon for the features", BUDGET, "X", label="ε features", flower=True,
        unread=_of_clear_features, **_PART,
    )  # fmt: skip
    eps_labels: float | None = option(
        None, "Part of epsilon for the label", BUDGET, "X", label="ε labels", flower=True, unread=_eps_labels, **_PART
    )
    feature_share: float | str | None = option(
        None, "Epsilon share of features; 0: none", BUDGET, "S|auto", shown=_OWN, flower=True,
        allows=lambda share: share == AUTO or (not isinstance(share, str) and 0 <= share < 1), hashed="in force",
        must="must be auto, or a number of 0 or more and below 1", unread=_feature_share,
    )  # fmt: skip
    public_features: bool = option(
        False, "Features are public; epsilon is for edges alone", BUDGET, hashed="in force", label="features public"
    )
    private_labels: bool = option(
        False, "Ask for labels under noise", BUDGET, shown="labels are public", flag="--private-labels/--public-labels",
        hashed="in force", label="labels private", unread=_private_labels,
    )  # fmt: skip
    label_mechanism: str = option(
        "grr", "Noise of a label: grr, or a package's", BUDGET, "NAME",
        hashed="in force", label="labels by", unread=_label_mechanism, flower=True,
    )  # fmt: skip
    reporting: str = option(
        "both", "Which ends report a friendship", BUDGET, values=("both", "one-end"), hashed="in force",
        flower=True,
    )  # fmt: skip
    gnn: str | None = option(
        None, "gcn, sage, gat or your PACKAGE:CLASS", MODEL, "NAME", shown=_OWN,
        hashed="in force", column=False, flower=True, allows=_is_network, unread=no_network,
        must=f"must be one of {', '.join(GNNS)}, or a class of your own as package:Class",
    )  # fmt: skip
    tuned: bool = option(False, "Take stored settings for this method and data", MODEL, hashed="in force")
    settings: Mapping[str, str] = option(
        {}, "Parameter; `ldpsim methods NAME` lists them", MODEL, "KEY=VALUE", flag="--set",
        hashed="in force", column=False, flower=True,
    )  # fmt: skip
    device: str = option(
        "auto", "Where the network trains", MODEL, values=("auto", "cpu", "cuda"), hashed="always", local=True
    )
    friends_tell: str = option(
        GUESS, "To friends: guess, features, label, nothing", DEVICES, "WHAT", no_effect=(NOTHING,),
        values=FRIENDS_TELL, label="friends tell", unread=_friends_tell,
    )  # fmt: skip
    friends_share: float = option(
        1.0, "Share of the people who tell friends", DEVICES, "R", allows=lambda share: 0 < share <= 1,
        must="must be above 0 and at most 1", label="share who tell", unread=_friends_share,
    )  # fmt: skip
    defence: str = option("none", "Check of reports: none, all, duplicates, ...", MODEL, "NAME", several=True)
    false_alarm: float = option(
        1e-3, "Chance that it excludes an honest person", MODEL, "P", unread=_false_alarm,
        allows=lambda chance: 0 < chance <= 0.5, must="must be above 0 and at most 0.5",
    )  # fmt: skip
    reference: bool = option(True, "No training of the network without noise", MODEL, flag="--no-reference", **_MINE)
    nulls: bool = option(True, "No simpler models beside the result", MODEL, flag="--no-nulls", **_MINE)
    all_nulls: bool = option(False, "All simpler models, which takes longer", MODEL, **_MINE)
    groups: bool = option(True, "No accuracy by groups of people", MODEL, flag="--no-groups", **_MINE)
    seed: int = option(
        0, "Number from which all seeds are derived", POPULATION, "N", hashed="in force", flower=True,
        allows=lambda seed: 0 <= seed < SEED_BOUND, must=_SEED,
    )  # fmt: skip
    seeds: Mapping[str, int | None] = option(
        {}, "Named seeds that are not derived", POPULATION, hashed="in force", column=False
    )
    repeats: int = option(
        1, "Number of repeats, each with new devices", POPULATION, "N", hashed="always", **up_to(1000)
    )
    repeats_vary: str = option(
        "all", "What repeats change: noise, split or all", POPULATION, "PART", values=("noise", "split", "all"),
        hashed="always", unread=_repeats_vary,
    )  # fmt: skip
    engine: str = option(
        "auto", "Runner of devices: local or ray", RUNNING, "NAME", no_effect=("local",),
        values=("auto", "local", "ray"), **_MINE,
    )  # fmt: skip
    workers: int | None = option(
        None, "Number of processes", RUNNING, "N", shown="as cores allow", **_MINE, **up_to(4096)
    )
    ray_address: str | None = option(None, "Address of a Ray cluster", RUNNING, "A", **_MINE)
    force: bool = option(False, "Run even if the memory seems too small", RUNNING, **_MINE)
    dropout: float = option(
        0.0, "Share of devices that never report", POPULATION, "P", allows=lambda share: 0 <= share < 1,
        must="must be 0 or more and below 1", hashed="always",
    )  # fmt: skip
    state: Path | None = option(
        None, "Folder of devices; made in an empty one", DEVICES, "DIR", shown="the run's", **_MINE,
    )  # fmt: skip
    on_requery: str = option(
        "refuse", "If asked again: refuse or replay", DEVICES, "NAME", values=("refuse", "replay"), hashed="always",
        column=False,
    )  # fmt: skip
    caps: Mapping[str, float] = option(
        {}, "Largest epsilon of a level", DEVICES, "LEVEL=X", flag="--cap",
        shown="the question's", hashed="always", column=False,
    )  # fmt: skip
    collector_key: Path | None = option(
        None, "Sign with this key; devices answer no other", DEVICES, "FILE", flag="--curator-key", **_MINE,
    )  # fmt: skip
    out: Path | None = option(Path("runs"), "Parent of the run's folder", OUTPUT, "DIR", **_MINE)
    save_reports: bool = option(False, "Keep the reports in the run's folder", OUTPUT, **_MINE)
    from_reports: Path | None = option(
        None, "Reuse reports of --save-reports", OUTPUT, "DIR", **_MINE,
        excludes=(o.ASKING, "no device is asked beside --from-reports"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        set_checked(self)
        object.__setattr__(self, "settings", by_field(self.settings, "--set"))
        self._check_tables()
        self.defences()
        check_ray_address(self.engine, self.ray_address)
        if self.state is not None and self.repeats > 1:
            raise ValueError(f"--state with --repeats {self.repeats}: each repeat needs people of its own")

    def _check_tables(self) -> None:
        for name, seed in self.seeds.items():
            if name not in declared(Seeds):
                from ldpsim.curator.names import nearest

                names = declared(Seeds)
                raise ValueError(f"seeds has no {name}{nearest(name, names)} (there are {', '.join(names)})")
            if seed is not None and not 0 <= seed < SEED_BOUND:
                raise ValueError(f"--{name}-seed {seed}: {_SEED}")
        if self.caps:
            from ldpsim.curator.privacy.levels import level_named, level_word
            from ldpsim.devices.policy.policy import CAP_LEVELS

            caps: dict[str, float] = {}
            for level, cap in self.caps.items():
                try:
                    name = level_named(level)
                except ValueError:
                    name = level
                if name not in CAP_LEVELS:
                    words = ", ".join(map(level_word, CAP_LEVELS))
                    raise ValueError(f"--cap {level}={cap:g}: the level must be one of {words}")
                if name in caps:
                    raise ValueError(f"--cap {level}={cap:g}: this level has a cap already")
                if not cap >= 0:
                    raise ValueError(f"--cap {level}={cap:g}: a cap is a number of 0 or more")
                caps[name] = cap
            object.__setattr__(self, "caps", caps)  # by the stored names

    def defences(self) -> tuple[str, ...]:
        """Return the names of the defences in force; ValueError for an unknown one."""
        if self.defence == "none":
            return ()
        from ldpsim.curator.defences import defences_named

        try:
            return defences_named(self.defence)
        except ValueError as error:
            raise ValueError(f"--defence {self.defence}: {error}") from None

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
