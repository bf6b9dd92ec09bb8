"""Graph of a result, as ``result.graph`` has it: its arrays, its files, and how a notebook shows it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ldpsim.strategies.outputs.graph_arrays import GraphArrays
from ldpsim.strategies.outputs.graph_files import write_graph
from ldpsim.strategies.outputs.notebook import html_table
from ldpsim.strategies.results.numbers import count

_ABOUT = {"dataset": "data set", "edges": "the edges are", "config_hash": "config hash", "reports_sha256": "reports"}


class NoGraph(ValueError):
    """Error of a run that reconstructed no graph, or kept none; one sentence."""


@dataclass(frozen=True, eq=False)
class ResultGraph(GraphArrays):
    """The reconstructed graph of a run's last repeat; see :class:`GraphArrays` for what it has."""

    def save(self, path: str | Path) -> Path:
        """Write the graph and return the path; the suffix is the form (:mod:`ldpsim.strategies.outputs.graph_files`).

        Raises:
            ValueError: for another suffix, or a file that cannot be written; one line.
        """
        return write_graph(self, Path(path))

    def _repr_html_(self) -> str:
        n, d = self.features.shape
        known = int((self.trained.labels >= 0).sum())
        kind = f"{'directed' if self.directed else 'undirected'}{'' if self.weights is None else ', with weights'}"
        rows = [
            ("edges", f"{self.edges.shape[1]:,} {kind}"),
            ("people", f"{n:,}, with {count(d, 'feature')}; {count(known, 'label')} known, {self.classes} classes"),
            *((words, str(self.about[name])) for name, words in _ABOUT.items() if name in self.about),
        ]
        return html_table(f"the curator's graph, {self.about.get('method', '')}", rows)
