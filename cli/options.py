"""The options that ``run`` has, as types. Commands that simulate share them.

Values are checked where they are used (``strategies.RunOptions`` and below), so that the
command line, a sweep file and a Python caller get the same line for the same mistake.
Here only text is read: ``LEVEL=X``, ``key=value``, a seed or the word ``os``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.config import read_config
from cli.errors import ask_for_debug

_SEED_BOUND = 1 << 63


def _option(panel: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, rich_help_panel=panel, **more)


POPULATION, BUDGET, MODEL = "Population", "Budget", "Model"
OWNER = "PrivGnn and PATE"
REPETITION, RUNNING, DEVICES, OUTPUT = "Repetition", "Running", "Devices", "Output"

Dataset = Annotated[
    str,
    _option(POPULATION, "--dataset", metavar="NAME|FILE", help="A data set (see `ldpsim datasets`) or your own .npz."),
]
Clients = Annotated[
    int | None,
    _option(
        POPULATION,
        "--clients",
        metavar="N",
        help="How many devices; real data: an induced sample.",
        show_default="all; generated: 3000",
    ),
]
DataDir = Annotated[
    Path | None, _option(POPULATION, "--data-dir", metavar="DIR", envvar="LDPSIM_DATA", help="Where raw data lie.")
]
SplitName = Annotated[
    str, _option(POPULATION, "--split", metavar="random|split42|file", help="Who trains, validates, is scored.")
]
LabelRate = Annotated[
    float | None,
    _option(
        POPULATION,
        "--label-rate",
        metavar="R",
        help="Share of the training nodes that keep their label.",
        show_default="all",
    ),
]

Config = Annotated[
    Path | None,
    _option(
        OUTPUT,
        "--config",
        metavar="FILE",
        help="Take what is not given here from a run's config.toml.",
        callback=read_config,
        is_eager=True,
    ),
]

Method = Annotated[str, _option(MODEL, "--method", metavar="NAME", help="A method (see `ldpsim methods`).")]
Gnn = Annotated[
    str | None, _option(MODEL, "--gnn", metavar="gcn|sage|gat", help="The network.", show_default="the method's own")
]
Tuned = Annotated[bool, _option(MODEL, "--tuned", help="Take the stored hyper-parameters for this method and data.")]
Settings = Annotated[
    list[str] | None, _option(MODEL, "--set", metavar="KEY=VALUE", help="A parameter of the method or the training.")
]
Grid = Annotated[
    list[str] | None,
    _option(
        MODEL,
        "--grid",
        metavar="KEY=V1,V2",
        help="Values of a parameter that the curator uses.",
        show_default="a small one for the method",
    ),
]
TuneQuery = Annotated[
    list[str] | None,
    _option(
        BUDGET,
        "--tune-query",
        metavar="KEY[=V1,V2]",
        help="Values of what people are asked with (left out: the method's own); new people for each.",
    ),
]
TrainOn = Annotated[str, _option(MODEL, "--device", metavar="auto|cpu|cuda", help="Where the network trains.")]
NoReference = Annotated[bool, _option(MODEL, "--no-reference", help="Do not train the reference without noise.")]

Reference = Annotated[
    bool, _option(MODEL, "--reference/--no-reference", help="Train each method's network without noise, too.")
]

Epsilon = Annotated[
    float | None,
    _option(
        BUDGET,
        "--epsilon",
        metavar="X",
        help="Total budget, in the method's own sense.",
        show_default="the method's own",
    ),
]
EpsAdjacency = Annotated[
    float | None, _option(BUDGET, "--eps-adjacency", metavar="X", help="Of one entry of a neighbour list.")
]
EpsFeatures = Annotated[
    float | None, _option(BUDGET, "--eps-features", metavar="X", help="Of the features, in the method's own sense.")
]
EpsLabels = Annotated[float | None, _option(BUDGET, "--eps-labels", metavar="X", help="Of the label.")]
FeatureShare = Annotated[
    float | None,
    _option(
        BUDGET,
        "--feature-share",
        metavar="S",
        help="Share of epsilon for the features.",
        show_default="the method's own",
    ),
]
PublicFeatures = Annotated[
    bool, _option(BUDGET, "--public-features", help="Features are public; all of epsilon goes to the adjacency.")
]
PrivateLabels = Annotated[
    bool,
    _option(BUDGET, "--private-labels/--public-labels", help="Ask for labels under noise, or take them as public."),
]
Reporting = Annotated[
    str, _option(BUDGET, "--reporting", metavar="both|one-end", help="Whether both ends of a pair report it.")
]

Match = Annotated[
    tuple[str, float] | None,
    _option(
        BUDGET,
        "--match",
        metavar="LEVEL X",
        help="Solve for budgets at which X holds at LEVEL.",
        show_default="each method's own",
    ),
]

Queries = Annotated[
    int | None, _option(OWNER, "--queries", metavar="N", help="Public nodes asked about.", show_default="1000")
]
Gamma = Annotated[
    float | None,
    _option(OWNER, "--gamma", metavar="G", help="Probability that a person is drawn.", show_default="0.3"),
]
Lambda = Annotated[
    float | None, _option(OWNER, "--lambda", metavar="X", help="1 / scale of the noise.", show_default="0.4")
]
Delta = Annotated[
    float | None,
    _option(OWNER, "--delta", metavar="D", help="Below 1 / n.", show_default="a power of ten below 1 / n"),
]
Sampling = Annotated[
    str | None,
    _option(OWNER, "--sampling", metavar="fresh|once", help="A sample a query, or one.", show_default="fresh"),
]
QuerySelection = Annotated[
    str | None,
    _option(
        OWNER,
        "--query-selection",
        metavar="random|pagerank|degree|cluster",
        help="Which nodes are asked about.",
        show_default="random",
    ),
]

Seed = Annotated[int, _option(REPETITION, "--seed", metavar="N", help="Derives the four seeds below.")]
PopulationSeed = Annotated[int | None, _option(REPETITION, "--population-seed", metavar="N", help="Of the graph.")]
SplitSeed = Annotated[int | None, _option(REPETITION, "--split-seed", metavar="N", help="Of the split.")]
NoiseSeed = Annotated[
    str | None,
    _option(REPETITION, "--noise-seed", metavar="N|os", help="Of the devices' secrets; os: from the operating system."),
]
TrainingSeed = Annotated[int | None, _option(REPETITION, "--training-seed", metavar="N", help="Of the training.")]
Repeats = Annotated[int, _option(REPETITION, "--repeats", metavar="N", help="How often, each on devices of its own.")]
RepeatsVary = Annotated[
    str, _option(REPETITION, "--repeats-vary", metavar="noise|split|all", help="What changes between repeats.")
]

Engine = Annotated[
    str, _option(RUNNING, "--engine", metavar="auto|local|ray|flower", help="Where the devices run; same bytes on all.")
]
Workers = Annotated[
    int | None, _option(RUNNING, "--workers", metavar="N", help="Processes.", show_default="as cores allow")
]
RayAddress = Annotated[str | None, _option(RUNNING, "--ray-address", metavar="A", help="A Ray cluster to use.")]
Dropout = Annotated[float, _option(RUNNING, "--dropout", metavar="P", help="Share of the devices that never answer.")]

StateDir = Annotated[
    Path | None,
    _option(
        DEVICES,
        "--state",
        metavar="DIR",
        help="Enrolled devices to ask; an empty folder: enrol there.",
        show_default="inside the run's folder",
    ),
]
OnRequery = Annotated[
    str, _option(DEVICES, "--on-requery", metavar="refuse|replay", help="What new devices do when asked again.")
]
Caps = Annotated[
    list[str] | None,
    _option(
        DEVICES,
        "--cap",
        metavar="LEVEL=X",
        help="Largest loss new devices ever allow: bit, vector or user.",
        show_default="this query's loss",
    ),
]

Out = Annotated[Path, _option(OUTPUT, "--out", metavar="DIR", help="Where the run's folder is made.")]
AsJson = Annotated[bool, _option(OUTPUT, "--json", help="The result as one JSON document on standard output.")]
SaveReports = Annotated[bool, _option(OUTPUT, "--save-reports", help="Keep the reports in the run's folder.")]
FromReports = Annotated[
    Path | None, _option(OUTPUT, "--from-reports", metavar="DIR", help="Work on kept reports; nobody is asked.")
]
Quiet = Annotated[bool, _option(OUTPUT, "--quiet", help="Print nothing but the path of the result.")]
Debug = Annotated[
    bool, _option(OUTPUT, "--debug", help="Show the traceback of a failure.", callback=ask_for_debug, is_eager=True)
]


def pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    """Read ``KEY=VALUE`` texts.

    Raises:
        ValueError: for a text without ``=`` or without a key, or a key given twice.
    """
    found: dict[str, str] = {}
    for text in given or ():
        key, equals, value = (part.strip() for part in text.partition("="))
        if not (key and equals and value):
            raise ValueError(f"{option} {text}: must be of the form KEY=VALUE")
        if key in found:
            raise ValueError(f"{option} {text}: {key} is given twice")
        found[key] = value
    return found


def caps(given: Sequence[str] | None) -> dict[str, float]:
    """Read ``--cap LEVEL=X``.

    Raises:
        ValueError: for an unknown level, or a cap that is no number of 0 or more.
    """
    from devices.policy.policy import CAP_LEVELS

    found: dict[str, float] = {}
    for level, text in pairs("--cap", given).items():
        if level not in CAP_LEVELS:
            raise ValueError(f"--cap {level}={text}: the level must be one of {', '.join(CAP_LEVELS)}")
        try:
            value = float(text)
        except ValueError:
            value = -1.0
        if not value >= 0:
            raise ValueError(f"--cap {level}={text}: a cap is a number of 0 or more")
        found[level] = value
    return found


def seeds(seed: int, noise: str | None, **others: int | None) -> dict[str, int | None]:
    """Return the named seeds that were given; ``noise`` None stands for the operating system.

    Raises:
        ValueError: for a seed outside 0 .. 2^63 - 1, or a noise seed that is neither one nor ``os``.
    """
    found: dict[str, int | None] = {name: value for name, value in others.items() if value is not None}
    if noise is not None and noise.lower() == "os":
        found["noise"] = None
    elif noise is not None:
        try:
            found["noise"] = int(noise)
        except ValueError:
            raise ValueError(f"--noise-seed {noise}: must be a whole number, or the word os") from None
    for option, value in [("--seed", seed), *((f"--{name}-seed", value) for name, value in found.items())]:
        if value is not None and not 0 <= value < _SEED_BOUND:
            raise ValueError(f"{option} {value}: must be 0 or more and below 2^63")
    return found
