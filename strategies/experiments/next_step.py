"""Methods to compare a finished run with.

The rule, by the kind of the method:

* reports, or no protection: ``hogs``, ``sbp``, ``vote``, and ``raw``, which has no protection;
* an owner's data: ``privgnn``, ``pate-m``, and ``b1``, which has no noise;
* training in rounds: ``fedavg-mlp``, ``dp-fedavg``, ``hogs`` with one report, and ``raw``;
* silos: ``silo-fedavg-gcn``, ``silo-fedgcn`` and ``raw``.

The run's own method comes first. A method with one report is left out if the run's options do not fit it.
"""

from __future__ import annotations

from dataclasses import replace

from curator.methods import find
from strategies.experiments.compare import can_be_asked, cells_of
from strategies.setup.options import RunOptions
from strategies.setup.run_setup import load_population

_IN_ROUNDS = ("fedavg-mlp", "dp-fedavg", "hogs", "raw")
_OTHERS = {
    "owner": ("privgnn", "pate-m", "b1"),
    "graph owner": ("gap", "progap", "vote", "raw"),
    "silos": ("silo-fedavg-gcn", "silo-fedgcn", "raw"),
    "devices": _IN_ROUNDS,
    "alone": _IN_ROUNDS,
    "curator": ("hogs", "sbp", "vote", "raw"),
}  # by the method's `trained_by`
_FEW = 60  # people on whom options are tried; nobody is asked


def methods_to_compare(options: RunOptions) -> list[str]:
    """Return the run's method and the methods to compare it with; the method alone if none fits.

    Args:
        options: Options of the run, which fitted its method.
    """
    own = find(options.method)
    others = _OTHERS[own.trained_by]
    names = [options.method, *(name for name in others if name != options.method)]
    tried = replace(
        options, clients=None, split="random", label_rate=None, volunteers=None, state=None, from_reports=None,
        save_reports=False, collector_key=None, engine="auto", caps={},
    )  # fmt: skip
    people = load_population(RunOptions(dataset="generated", clients=_FEW))
    kept = []
    for cell in cells_of(names, tried, {}):
        one_report = find(cell.label).trained_by == "curator"
        if cell.label == options.method or not one_report or can_be_asked(cell.options, people):
            kept.append(cell.label)
    return kept
