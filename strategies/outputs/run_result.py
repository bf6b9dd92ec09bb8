"""Result of a run, as ``simulate`` returns it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsim.strategies.outputs.graph import NoGraph, ResultGraph
from ldpsim.strategies.outputs.result_view import html_of_run, text_of_run
from ldpsim.strategies.results.outcome import Predictions
from ldpsim.strategies.results.rows import data_frame, row_of

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True)
class RunResult:
    """Result of a run.

    Args:
        record: The content of result.json.
        folder: The run's folder; None if nothing was written.
        graph_or_reason: The graph of the last repeat, or one sentence that says why there is none.
        scorer: Scores classes of everybody in the last repeat; None where the task is another one.
        earlier: Whether an earlier run of the same options made it.
    """

    record: dict[str, Any]
    folder: Path | None
    graph_or_reason: ResultGraph | str = field(default="this result was made without its graph", repr=False)
    scorer: Callable[[Predictions], float] | None = field(default=None, repr=False)
    earlier: bool = False

    @property
    def graph(self) -> ResultGraph:
        """The curator's reconstructed graph, as the network of the last repeat was trained on it.

        It is post-processing of the reports and of public knowledge: it costs no further privacy, and the true
        edges are not in it.

        Raises:
            NoGraph: one sentence (a ValueError): the method reconstructs no graph, or the run kept none.
        """
        if isinstance(self.graph_or_reason, str):
            raise NoGraph(self.graph_or_reason)
        return self.graph_or_reason

    def score(self, predictions: Any) -> float:
        """Return the accuracy of predictions on the last repeat's test people. Their labels stay hidden.

        Args:
            predictions: int (n,), the class of every person by a model of your own (numpy array or torch tensor), for
                example one that was trained on :attr:`graph`.

        Raises:
            ValueError: for another shape or another type, or a run without test people.
        """
        if self.scorer is None:
            raise ValueError("score: this run has no test people to score")
        classes, n = np.asarray(predictions), self.record["dataset"]["nodes"]
        if classes.shape != (n,) or classes.dtype.kind not in "iu":
            got = f"{classes.dtype} {classes.shape}"
            raise ValueError(f"score: give one class (a whole number) for each of {n} people, not {got}")
        return self.scorer(classes)

    def to_frame(self) -> DataFrame:
        """Return one row of the columns of ``ldpsim sweep``'s table, as a pandas DataFrame."""
        return data_frame([row_of(self.record, "" if self.folder is None else self.folder.name)])

    def __repr__(self) -> str:
        return text_of_run(self.record, self.folder)

    def _repr_html_(self) -> str:
        return html_of_run(self.record, self.folder)
