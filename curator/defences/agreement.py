"""Both ends of a pair must agree: a one-sided claim is dropped.

Two reports about a pair multiply the odds of an edge by e^(2 w) if both are 1, by 1 if they differ, and by e^(-2 w)
if both are 0, where w is the log-odds of one reported bit (``Mechanism.log_likelihood``). A claim that the other end
denies therefore says nothing, and the odds stay those of the prior. Without other knowledge these are far below 1:
the pair is no edge. A prior from features or degrees can be made by a liar. So the rule here does not ask it: a 1
that the other end does not confirm becomes a 0 before any method reads the row. The same holds for a claim about a
person who did not report.

A fake claim about an honest person then counts with the probability of a flip. A true edge between honest people is
kept with probability (1 - flip)^2, which is the cost. Rows of which each pair has one reporter (``one-end``) stay
as they are: there is nothing to compare.
"""

from __future__ import annotations

from ldpsim.curator.defences.defence import Notes, unused_note
from ldpsim.curator.reports.pairs import agreed_ones
from ldpsim.curator.reports.reports import Reports


def keep_agreed(reports: Reports, level: float) -> tuple[Reports, Notes]:
    """Drop every 1 that the other end does not confirm."""
    del level
    ones = reports.adjacency
    if ones is None:
        return reports, unused_note("row of bits")
    if reports.source("adjacency").reporting == "one-end":
        return reports, {"not_used": "one end alone reports each pair"}
    agreed = agreed_ones(ones)
    return reports.with_arrays(adjacency=agreed), {
        "dropped_claims": int(ones.nnz - agreed.nnz),
        "kept": int(agreed.nnz),
    }
