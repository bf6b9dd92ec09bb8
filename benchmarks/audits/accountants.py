"""Noise that GAP's and ProGAP's accountants choose with the installed version of autodp.

    python -m benchmarks.audits.accountants [VERSION]

Both programs describe their release to autodp and search the noise whose loss is the budget. The description and the
search are restated here. The rows of this version of autodp are replaced in ``docs/results/accountants.csv``.
VERSION names it where it was not installed by pip.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from benchmarks import RESULTS
from benchmarks.study import read_rows, write_rows

TABLE = RESULTS / "accountants.csv"
COLUMNS = ("autodp", "scipy", "program", "hops", "epsilon", "delta", "sigma", "error")
HOPS, DELTA, BUDGETS = 2, 1e-5, (1.0, 4.0, 8.0)
CLOSE = 1e-3  # both programs stop where the loss is as near to the budget


def described(sigma: float, program: str) -> Any:
    """Return the release of :data:`HOPS` noisy sums: GAP composes Gaussians, ProGAP their Rényi losses."""
    zoo, core = import_module("autodp.mechanism_zoo"), import_module("autodp.autodp_core")
    transformers = import_module("autodp.transformer_zoo")
    exact, one, made = zoo.ExactGaussianMechanism(sigma=sigma), core.Mechanism(), core.Mechanism()
    one.name, one.params = "one hop", {}
    one.set_all_representation(exact)
    compose = transformers.ComposeGaussian() if program == "GAP" else transformers.Composition()
    made.set_all_representation(compose([exact if program == "GAP" else one], [HOPS]))
    return made


def calibrated(epsilon: float, program: str) -> float:
    """Return the noise; 0 where every Rényi loss is infinite, as both programs take such a release to be without noise.

    Raises:
        ValueError: where the search ends away from the budget.
    """
    from scipy.optimize import minimize_scalar

    if all(math.isinf(described(1.0, program).RenyiDP(order)) for order in range(2, 100)):
        return 0.0
    minimum = minimize_scalar(
        lambda x: abs(epsilon - described(math.exp(x), program).get_approxDP(DELTA)), method="brent",
        options={"xtol": 1e-5},
    )  # fmt: skip
    if minimum.fun >= CLOSE:
        raise ValueError(f"the search ended {minimum.fun:.3g} away from the budget")
    return math.exp(minimum.x)


def rows(release: str) -> Iterator[dict[str, str]]:
    """Yield a row a program and budget; an error of the library is part of its row."""
    for program in ("GAP", "ProGAP"):
        for epsilon in BUDGETS:
            sigma, error = "", ""
            try:
                sigma = f"{calibrated(epsilon, program):.6f}"
            except (AttributeError, ValueError) as wrong:
                error = f"{type(wrong).__name__}: {wrong}"
            yield {"autodp": release, "scipy": version("scipy"), "program": program, "hops": str(HOPS),
                   "epsilon": f"{epsilon:g}", "delta": f"{DELTA:g}", "sigma": sigma, "error": error}  # fmt: skip


def main(release: str | None = None) -> None:
    """Calibrate, and write the table."""
    try:
        release = release or version("autodp")
    except PackageNotFoundError:
        raise SystemExit("autodp is not installed by pip: name its version") from None
    new_rows = list(rows(release))
    fresh = {(row["autodp"], row["scipy"]) for row in new_rows}
    old_rows = [row for row in read_rows(TABLE) if (row["autodp"], row["scipy"]) not in fresh]
    write_rows(TABLE, sorted([*old_rows, *new_rows], key=lambda row: (row["autodp"], row["scipy"])), COLUMNS)


if __name__ == "__main__":
    main(*sys.argv[1:2])
