"""A transform of PyTorch Geometric: the people's true graph goes in, the curator's graph comes out."""

from __future__ import annotations

import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch_geometric.data import Data
from torch_geometric.transforms import BaseTransform

from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Graph
from ldpsim.curator.names import nearest
from ldpsim.curator.privacy.guarantee import Guarantee
from ldpsim.devices.data.population import Population
from ldpsim.devices.datasets.pyg_file import people_of
from ldpsim.strategies.outputs.graph import ResultGraph
from ldpsim.strategies.runs.asking import ask
from ldpsim.strategies.runs.kind import kind_of
from ldpsim.strategies.runs.kinds.local import rebuilt
from ldpsim.strategies.runs.prepare import prepare
from ldpsim.strategies.runs.repeat import start_repeat
from ldpsim.strategies.setup.option_spec import declared
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import Setup

_MASKS = ("train_mask", "val_mask", "test_mask")


class AskOnce(BaseTransform):
    """Ask each node of a graph one private question, and return what the curator makes of the answers.

    Each node is a person whose device holds its features, label and neighbours. No network is trained: the result is
    the input of a model of your own. It has no true edge, no record and no label of a test person.

    The input has ``x``, ``edge_index`` and ``y``, and ``feature_range`` or ``num_classes`` where these are public
    (:mod:`ldpsim.devices.datasets.pyg_file`). Its ``train_mask``, ``val_mask`` and ``test_mask`` divide the people if
    it has all three; else the people are divided at random.

    It simulates: with the same options and people the devices give the same answers, so a second call asks nobody
    again. With other options it is another world, whose answers the same people could not give as well.

    The result has what :meth:`ldpsim.strategies.outputs.graph.ResultGraph.to_pyg` says, and ``holds``: the loss
    that holds at each level, as ``privacy.holds`` of a result has it.

    Args:
        method: A method whose devices answer one question, ``hogs`` for example.
        epsilon: Its total budget; None: the method's own.
        options: Further options of a run, by the names of :class:`strategies.RunOptions`.

    Raises:
        ValueError: one line, for options that do not fit, or data that have a fault.

    >>> import torch
    >>> ring = torch.arange(40)
    >>> people = Data(x=torch.eye(4).repeat(10, 1), y=ring % 2, edge_index=torch.stack([ring, (ring + 2) % 40]))
    >>> curators = AskOnce("hogs", epsilon=4.0)(people)
    >>> curators.num_nodes, curators.holds["relationship"]["value"] > 4, int((curators.y < 0).sum())
    (40, True, 10)
    """

    def __init__(self, method: str = "hogs", epsilon: float | None = None, **options: Any) -> None:
        for name in options.keys() - declared(RunOptions).keys():
            raise ValueError(f"{name}: there is no such option{nearest(name, declared(RunOptions))}")
        self.options = RunOptions(method=method, epsilon=epsilon, **options)
        self._takes_masks = "split" not in options

    def forward(self, data: Data) -> Data:
        """Return the curator's graph of the people of ``data``, who are left as they are."""
        people = people_of("data", data)
        options = self.options
        if self._takes_masks and all(name in data for name in _MASKS):
            options = replace(options, split="file")
        setup, graph, guarantee = graph_before_training(options, people)
        made = ResultGraph(graph, None, setup.plans[0].split.test, people.facts.classes, {"method": options.method})
        output = made.to_pyg()
        output.holds = guarantee.to_dict()["holds"]
        return output

    def __repr__(self) -> str:
        epsilon = "" if self.options.epsilon is None else f", epsilon={self.options.epsilon:g}"
        return f"AskOnce({self.options.method}{epsilon})"


def graph_before_training(options: RunOptions, population: Population) -> tuple[Setup, Graph, Guarantee]:
    """Ask these people once, and return the checked set-up, the curator's graph and the guarantee that holds.

    The devices live in a temporary folder, and nothing is written elsewhere. With the same options and people the
    devices give the same reports.

    Raises:
        ValueError: one line, before anybody is asked: options that do not fit, or a method that does not end in a
            graph (it trains in rounds, or for an owner, or predicts links).
        Refused, RunFailed: as :func:`ldpsim.strategies.runs.simulate.simulate`.
    """
    method = find(options.method)
    if method.spec.trained_by != "curator" or method.spec.reads:
        raise ValueError(f"{options.method}: its devices do not answer one question, so it gives no graph to train on")
    setup = prepare(replace(options, out=None, repeats=1, reference=False, nulls=False), population=population)
    with tempfile.TemporaryDirectory(prefix="ldpsim-") as folder:
        home = options.state or Path(folder) / "state"
        with closing(start_repeat(setup, 0, Path(folder), home)) as repeat:
            collected = ask(repeat)
            _, _, graph = rebuilt(repeat, collected.decoded)
            repeat.end_collection()
    return setup, graph, kind_of(setup.method).guarantee(setup, [collected.questions])
