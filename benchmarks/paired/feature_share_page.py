"""Page of the feature share's rule: its constants, what it costs and what it gains.

python -m benchmarks.paired.feature_share_page --data-dir DIR
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.paired.feature_share import ROWS, ShareCurve, curves, fitted, made, real
from benchmarks.paired.rows import read_rows
from curator.methods.feature_share import RULE, ShareRule
from devices.atomic_files import write_atomically

_HEAD = """# The share of the budget for private features

`--feature-share auto` is the default of `sbp`. The share is chosen before anybody is asked, from public facts alone:
the numbers of people n, features d, classes C and training labels L, and epsilon. `curator/methods/feature_share.py`
has the rule:

    eps_links = (ln n + {margin:g}) / 2       a pair that both ends report is then believed
    rest      = eps - eps_links
    share     = rest / eps    if rest > 0 and tanh(rest / 2)^2 sqrt(d L / C) >= {evidence:g},    else 0

With share 0 no device is asked for a feature. Where only one end reports a pair, eps_links is not halved.

Both constants are fitted on generated graphs, sbp with the fixed shares {shares}, one seed each, 50 % of the people
with a training label. {margin:g} is the least margin (in steps of .25) at which links alone, with share 0, lose no more
than half a point on average against the largest measured budget: there their accuracy does not grow any more.
{evidence:g} has the least mean cost over {count} pairs of a graph and a budget, and of equal ones it is the largest.
Regret is how many points of test accuracy the best measured share, in hindsight, is above the rule's; the cost is the
regret and twice what the rule loses against share 0. Between measured shares accuracy is interpolated; beyond the last
one it is that share's. The rows are in `feature-share.csv`; `python -m benchmarks.paired.feature_share_page` fits the
constants and writes this page. Rows with the commit `58362fe+` are of sbp before its first release; the column `commit`
says it for each row; their validation accuracy and CPU time were not kept. Few budgets and shares were measured, so the
constants are rough.

"""
_SHOWN = (2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_COLUMNS = ("graph", "epsilon", "share 0", "best share", "its accuracy", "chosen", "its accuracy", "chosen - best",
            "chosen - share 0")  # fmt: skip


def write_page(path: Path, rule: ShareRule, fit: Sequence[ShareCurve], check: Sequence[ShareCurve]) -> None:
    """Write the page.

    Args:
        path: The file.
        rule: The fitted rule.
        fit: The curves that it was fitted on.
        check: Curves of real graphs.
    """
    links = [curve for curve in fit if curve.epsilon in _SHOWN]
    fit, check = ([curve for curve in each if len(curve.shares) > 1] for each in (fit, check))
    shares = sorted({share for curve in fit for share in curve.shares})
    text = _HEAD.format(
        margin=rule.margin, evidence=rule.evidence, count=len(fit), shares=", ".join(f"{s:g}" for s in shares)
    )
    if rule != RULE:
        text += f"The rule in force has other constants: {RULE.margin:g} and {RULE.evidence:g}.\n\n"
    text += "\n".join([
        "## Generated graphs, on which it was fitted", "", _summary(fit, RULE), "", *_table(fit), "",
        "By budget, in points, means over the graphs:", "", *_by_budget(fit), "",
        "## Links alone", "", "Test accuracy in percent with share 0, by budget.", "",
        *_links_alone(links), "",
        "## Cora and CiteSeer, which the fit never saw", "", _summary(check, RULE) if check else "Not measured.", "",
        *(_table(check) if check else ()),
    ])  # fmt: skip
    write_atomically(path, text.rstrip("\n") + "\n")


def _summary(several: Sequence[ShareCurve], rule: ShareRule) -> str:
    regrets = [curve.regret(rule) for curve in several]
    gains = [curve.gain(rule) for curve in several]
    zero = [max(curve.tests) - curve.at(0.0) for curve in several]
    return (
        f"Mean regret {np.mean(regrets):.2f} points, largest {max(regrets):.2f}; of share 0 everywhere\n"
        f"{np.mean(zero):.2f}, largest {max(zero):.2f}. The rule gains {np.mean(gains):+.2f} points over share 0\n"
        f"on average, {min(gains):+.2f} at worst and {max(gains):+.2f} at best."
    )


def _table(several: Iterable[ShareCurve]) -> list[str]:
    lines = [f"| {' | '.join(_COLUMNS)} |", "|---" + "|---:" * (len(_COLUMNS) - 1) + "|"]
    for curve in several:
        best = curve.shares[int(np.argmax(curve.tests))]
        share = curve.chosen(RULE)
        figures = (
            *(f"{curve.at(0.0):.1f}", f"{best:g}", f"{max(curve.tests):.1f}", f"{share:g}", f"{curve.at(share):.1f}"),
            *(f"{0.0 - curve.regret(RULE):+.1f}", f"{curve.gain(RULE):+.1f}"),
        )
        lines.append(f"| {curve.name} | {curve.epsilon:g} | {' | '.join(figures)} |")
    return lines


def _links_alone(several: Iterable[ShareCurve]) -> list[str]:
    found: dict[str, dict[float, float]] = {}
    for curve in several:
        found.setdefault(curve.name, {})[curve.epsilon] = curve.at(0.0)
    lines = [f"| graph | {' | '.join(f'{epsilon:g}' for epsilon in _SHOWN)} |", "|---|" + "---:|" * len(_SHOWN)]
    return lines + [
        f"| {name} | {' | '.join(f'{tests[epsilon]:.1f}' for epsilon in _SHOWN)} |"
        for name, tests in found.items() if len(tests) == len(_SHOWN)
    ]  # fmt: skip


def _by_budget(several: Sequence[ShareCurve]) -> list[str]:
    epsilons = sorted({curve.epsilon for curve in several})
    lines = ["| | " + " | ".join(f"{epsilon:g}" for epsilon in epsilons) + " |", "|---|" + "---:|" * len(epsilons)]
    wanted: tuple[tuple[str, Callable[[ShareCurve], float]], ...] = (
        ("regret of the rule", lambda curve: curve.regret(RULE)),
        ("regret of share 0", lambda curve: max(curve.tests) - curve.at(0.0)),
        ("regret of share .1 (interpolated)", lambda curve: max(curve.tests) - curve.at(0.1)),
    )
    for name, of in wanted:
        means = [np.mean([of(curve) for curve in several if curve.epsilon == epsilon]) for epsilon in epsilons]
        lines.append(f"| {name} | " + " | ".join(f"{value:.1f}" for value in means) + " |")
    return lines


def main() -> None:
    """Fit the rule and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--file", type=Path, default=ROWS)
    given = parser.parse_args()
    rows = read_rows(given.file)
    fit = curves(rows, made())
    write_page(given.file.with_suffix(".md"), fitted(fit), fit, curves(rows, real(given.data_dir)))


if __name__ == "__main__":
    main()
