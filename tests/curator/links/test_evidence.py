from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from ldpsim.curator.links.edge_prior import PUBLIC_EDGE, LinkEvidence, public_links

NOBODY = np.zeros(0, np.int64)


def evidence_of(reported: tuple[bool, ...], *, one_end: bool, flip: float = 0.2) -> LinkEvidence:
    return LinkEvidence(NOBODY, NOBODY, np.array(reported), one_end=one_end, flip=flip)


@pytest.mark.parametrize("one_end", [False, True])
@pytest.mark.parametrize("reported", [(True,) * 5, (True, False, True, True, False), (False,) * 5])
def test_partners_are_counted_by_their_reports(reported: tuple[bool, ...], one_end: bool) -> None:
    evidence = evidence_of(reported, one_end=one_end)
    wanted = np.zeros((5, 3))
    for i, j in combinations(range(5), 2):
        reports = int(reported[j]) + (0 if one_end else int(reported[i]))
        assert evidence.reports(np.array([i]), np.array([j]))[0] == reports
        wanted[i, reports] += 1
        wanted[j, reports] += 1
    np.testing.assert_array_equal(evidence.partners, wanted)
    np.testing.assert_allclose(evidence.chance_hits, wanted @ [0, 0.2, 0.04])


@pytest.mark.parametrize("reports", [1, 2])
def test_the_likelihoods_are_those_of_all_bits(reports: int) -> None:
    """Hit, false hit, strength and resolution from every outcome of a pair's reports."""
    flip = 0.2
    evidence = LinkEvidence(
        np.array([0]), np.array([1]), np.array([reports == 2, True]), one_end=reports == 1, flip=flip
    )
    law = {edge: [(1 - flip) if bit == edge else flip for bit in (0, 1)] for edge in (0, 1)}
    every_one = {edge: law[edge][1] ** reports for edge in (0, 1)}
    assert evidence.hit[reports] == pytest.approx(every_one[1])
    assert evidence.false_hit[reports] == pytest.approx(every_one[0])
    assert evidence.strength[0] == pytest.approx(np.log(every_one[1] / every_one[0]))
    # outside S the mean over no edge of 1 - likelihood ratio is the resolution
    outcomes = [[0], [1]] if reports == 1 else [[0, 0], [0, 1], [1, 0], [1, 1]]
    outside = [bits for bits in outcomes if not all(bits)]
    chance = {edge: [np.prod([law[edge][bit] for bit in bits]) for bits in outside] for edge in (0, 1)}
    assert evidence.resolution == pytest.approx(sum(chance[0]) - sum(chance[1]))


def test_a_public_graph_is_certain() -> None:
    evidence = public_links(4, np.array([[2, 1], [0, 3]]))
    assert evidence.left.tolist() == [0, 1] and evidence.right.tolist() == [2, 3]
    assert evidence.strength.tolist() == [PUBLIC_EDGE, PUBLIC_EDGE]
    assert evidence.hits.tolist() == [1, 1, 1, 1] and not evidence.chance_hits.any()
