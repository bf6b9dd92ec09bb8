"""Attacks on the models that runs publish, on generated people.

python -m benchmarks.audits.released [--only hogs] [--pages-only]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.markdown import table
from benchmarks.study import Measured, Row, Study, main, rows_in

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
    from strategies.experiments.released_model import ReleasedOptions, audit_released

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
    return _HEAD.format(shadows=SHADOWS, people=PEOPLE, half=SHADOWS // 2, held=held, judged=len(judged),
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
                      _LEVELS[row["level"]], _loss(row["claimed"]), _loss(row["lower_bound"]),
                      *(_points(row[column]) for column in shares), verdicts[row["passed"]]))  # fmt: skip
        before = key
    return table(heads, lines)


def _points(share: str) -> str:
    return f"{100 * float(share):.1f}" if share else "-"


def _loss(value: str) -> str:
    return f"{float(value):.2f}" if value else "-"


_LEVELS = {"label": "a label", "vector": "all features", "relationship": "an edge", "node": "a whole person"}
_HEAD = """# Inference from published models

`ldpsim audit METHOD --released-model` attacks what a run publishes: the weights and everybody's predicted
probabilities. The attacker knows everything but one value, and makes shadow runs with devices and noise of their own:
the likelihood ratio attack of [Carlini et al. 2022](https://arxiv.org/abs/2112.03570), after
[Shokri et al. 2017](https://arxiv.org/abs/1610.05820). {shadows} runs on {people} generated people for each method;
{half} teach the attack, {half} are attacked. `python -m benchmarks.audits.released` makes this page.

Of {judged} rows with a guarantee {held} stay below it; nothing bounds the other {others}. *Attack shows* is a lower
bound on epsilon from the share of right guesses, at a confidence of 0.999999 for all rows of a method together. It
alone decides. AUC, TPR and the share of right guesses are measured, with the error of a few hundred trials. *At most*
is what the claim allows: e^eps times the false positive rate, and (1 + tanh(eps / 2)) / 2. Where nothing bounds the
attack, the data are in clear, public, or seen by a curator in clear.

{table}

## Reading

- A network that is overfitted on clear data tells the labels of its training people. That row shows that the attack
  works.
- A claim far above what the attack shows does not mean that the model is harmless: this attack reads probabilities
  only, and a better one may exist. The claim holds against all of them.
- Public labels are not protected by any method (`hogs`): the published probabilities tell them as without noise.
- A whole person of `hogs`: features and edges change. The class is public, so the claim is not about it.
- A whole person of `lpgnn` and `rgnn` is unprotected, because their edges are public.
"""


def study(home: Path) -> Study:
    """Return the study."""
    return Study(
        name="model-inference", cells=CELLS, results=Measured(home / "rows.jsonl", run), keys=KEYS,
        key_of=lambda cell: cell.key, rows_of=rows_of, page=lambda found: page(rows_in(found)),
        columns=(*KEYS, *COLUMNS), figure="level",
    )  # fmt: skip


if __name__ == "__main__":
    main(__doc__, "model-inference", lambda home: [study(home)])
