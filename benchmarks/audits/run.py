"""Audit of the installed versions of pure-ldp and multi-freq-ldpy.

    python -m benchmarks.audits.run

The rows of the versions that are installed are replaced in ``docs/results/audits.csv``, those of
other versions stay. ``audits.md`` shows the rows that are contradicted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.metadata import version

from benchmarks import RESULTS
from benchmarks.audits.cases import MULTI, PURE, Case, multi_freq_ldpy, pure_ldp
from benchmarks.study import read_rows, write_rows
from ldpsim.curator.attacks.mechanism_audit import AuditRow, Effort
from ldpsim.curator.attacks.randomiser_audit import Randomiser, audit_randomiser
from ldpsim.curator.shown import loss_in_table, shown_bound
from ldpsim.strategies.seeded import seeded

SEED, TABLE = 0, RESULTS / "audits.csv"


def audited(case: Case, effort: Effort) -> list[AuditRow]:
    """Return the rows of a case, with the global random states seeded."""
    with seeded(effort.seed):
        return audit_randomiser(Randomiser(case.name, case.draw, list(case.values), case.law), effort,
                                claimed=case.claimed)  # fmt: skip


def written(case: Case, rows: list[AuditRow]) -> dict[str, str]:
    """Return the line of the table of a case."""
    row, law = rows[0], rows[1] if len(rows) > 1 else None
    return {
        "library": case.library, "version": version(case.library), "mechanism": case.name,
        "claimed": loss_in_table(case.claimed), "exact": "" if row.exact is None else loss_in_table(row.exact),
        "lower_bound": "" if row.lower_bound is None else shown_bound(row.lower_bound), "passed": str(row.passed),
        "law": "" if law is None else "fits" if law.passed else law.detail,
        "confidence": f"{row.confidence:.7g}", "trials": str(row.trials), "detail": row.detail,
    }  # fmt: skip


def seed_numba(seed: int) -> None:
    """Seed the random state of compiled functions, which is not numpy's."""
    import numba  # type: ignore[import-not-found]
    import numpy as np

    numba.njit(lambda number: np.random.seed(number))(seed)


def main(libraries: Iterable[str] = (PURE, MULTI)) -> None:
    """Audit libraries and write the table."""
    rows, effort = [], Effort(seed=SEED)
    for library in libraries:
        if library == MULTI:
            seed_numba(effort.seed)
        for case in {PURE: pure_ldp, MULTI: multi_freq_ldpy}[library]():
            rows.append(written(case, audited(case, effort)))
            print(rows[-1], flush=True)
    fresh = {(row["library"], row["version"]) for row in rows}
    old_rows = [row for row in read_rows(TABLE) if (row["library"], row["version"]) not in fresh]
    write_rows(TABLE, sorted([*old_rows, *rows], key=lambda row: (row["library"], row["version"])), list(rows[0]))


if __name__ == "__main__":
    main(sys.argv[1:] or (PURE, MULTI))
