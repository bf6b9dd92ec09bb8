"""Attacks on the models that runs publish, on generated people.

python -m benchmarks.audits.released [--only hogs] [--pages-only]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.markdown import table
from benchmarks.study import Measured, Row, Study, main, rows_in
from curator.privacy.shown import shown_bound, shown_loss

KEYS = ("method", "epsilon", "words")
COLUMNS = ("level", "claimed", "lower_bound", "auc", "true_positives", "largest_true_positives", "right", "guesses",
           "largest_right", "trials", "passed", "detail")  # fmt: skip
SHADOWS, PEOPLE = 32, 120
OVERFITTED = {"weight_decay": "0", "gnn_dropout": "0"}


@dataclass(frozen=True)
class ReleasedCell:
    """A method at a budget in its own sense.

    Args:
        method, epsilon: Method and budget; None for a method without one.
        settings: Parameters.
        words: What is special about it.
    """

    method: str
    epsilon: float | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    words: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """Values of :data:`KEYS`."""
        return self.method, "" if self.epsilon is None else f"{self.epsilon:g}", self.words


CELLS = (
    ReleasedCell("raw", settings=OVERFITTED, words="clear data, overfitted: no weight decay, no dropout"),
    ReleasedCell("fedavg-mlp", settings={"rounds": "20"}, words="updates in clear, 20 rounds"),
    ReleasedCell("hogs", 8.0), ReleasedCell("hogs", 1.0), ReleasedCell("lpgnn", 1.0), ReleasedCell("rgnn", 1.0),
)  # fmt: skip


def run(cell: ReleasedCell) -> list[dict[str, Any]]:
    """Attack a method and return what was found, a row a level."""
    from strategies.attacks.audit.released_model import ReleasedOptions, audit_released

    asked = ReleasedOptions(methods=(cell.method,), shadows=SHADOWS, clients=PEOPLE, epsilon=cell.epsilon,
                            settings=cell.settings)  # fmt: skip
    return [row.to_dict() for row in audit_released(asked)]


def rows_of(cell: ReleasedCell, found: Sequence[Mapping[str, Any]] | None) -> list[Row]:
    """Return the rows of the table."""
    return [{**dict(zip(KEYS, cell.key, strict=True)), **{name: _plain(row[name]) for name in COLUMNS}}
            for row in found or ()]  # fmt: skip


def page(rows: Sequence[Row]) -> str:
    """Return the page of the rows."""
    judged = [row for row in rows if row["passed"]]
    held = sum(row["passed"] == "True" for row in judged)
    text = (Path(__file__).parent / "notes" / "model-inference.md").read_text()
    return text.format(shadows=SHADOWS, people=PEOPLE, half=SHADOWS // 2, held=held, judged=len(judged),
                       others=len(rows) - len(judged), table=_table(rows))  # fmt: skip


def _plain(value: object) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "" if value is None else f"{value}"


def _table(rows: Sequence[Row]) -> str:
    heads = ("method", "epsilon", "what changes", "claimed", "attack shows", "AUC, %", "TPR at 5 % FPR, %",
             "at most, %", "right guesses, %", "at most, %", "verdict")  # fmt: skip
    verdicts = {"True": "below the claim", "False": "ABOVE THE CLAIM", "": "nothing bounds it"}
    shares = ("auc", "true_positives", "largest_true_positives", "right", "largest_right")
    lines, before = [], ""
    for row in rows:
        name = row["method"] + (f" ({row['words']})" if row["words"] else "")
        key = f"{name} {row['epsilon']}"
        lines.append(("" if key == before else name, "" if key == before else row["epsilon"] or "-",
                      _LEVELS[row["level"]], _loss(row["claimed"], shown_loss), _loss(row["lower_bound"], shown_bound),
                      *(_points(row[column]) for column in shares), verdicts[row["passed"]]))  # fmt: skip
        before = key
    return table(heads, lines)


def _points(share: str) -> str:
    return f"{100 * float(share):.1f}" if share else "-"


def _loss(value: str, shown: Callable[[float], str]) -> str:
    return shown(float(value)) if value else "-"


_LEVELS = {"label": "a label", "vector": "all features", "relationship": "an edge", "node": "a whole person"}


def study(home: Path) -> Study:
    """Return the study."""
    return Study(
        name="model-inference", cells=CELLS, results=Measured(home / "rows.jsonl", run), keys=KEYS,
        key_of=lambda cell: cell.key, rows_of=rows_of, page=lambda found: page(rows_in(found)),
        columns=(*KEYS, *COLUMNS), figure="level",
    )  # fmt: skip


if __name__ == "__main__":
    main(__doc__, "model-inference", lambda home: [study(home)])
