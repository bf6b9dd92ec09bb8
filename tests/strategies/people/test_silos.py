"""Division of people into silos: equal parts at random, and Louvain's communities, by hand on small graphs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ldpsim.curator.methods.federated.silos import Silos
from ldpsim.devices.data.population import Population, build_population
from ldpsim.strategies.people.silos import dealt, divide_into_silos

METHOD = Silos(silos=3)


def cliques(sizes: list[int]) -> Population:
    """Return cliques of these sizes, each with an edge to the next one."""
    starts = np.cumsum([0, *sizes])
    edges = [(a, b) for low, high in zip(starts[:-1], starts[1:], strict=True)
             for a in range(low, high) for b in range(a + 1, high)]  # fmt: skip
    edges += [(high - 1, high) for high in starts[1:-1]]
    n = int(starts[-1])
    return build_population("cliques", n=n, d=1, edges=np.array(edges).T, feature_indptr=np.arange(n + 1),
                            feature_indices=np.zeros(n, np.int64), feature_values=np.ones(n, np.float32),
                            labels=np.arange(n) % 2, classes=2)  # fmt: skip


def test_random_silos_are_equal_parts_of_a_permutation() -> None:
    people, method = cliques([6, 6, 5]), replace(METHOD, partition="random")
    found = [divide_into_silos(people, method, seed).tolist() for seed in (1, 1, 2)]
    assert found[0] == found[1] != found[2]
    assert sorted(np.bincount(found[0]).tolist()) == [5, 6, 6]
    # A cut in the order of the numbers, without a permutation, would put the first six together: 1 in 5,717,712.
    assert found[0] != sorted(found[0])


def test_louvain_silos_are_communities_where_they_fit() -> None:
    people, method = cliques([9, 8, 7]), replace(METHOD, partition="louvain")
    for seed in range(3):
        silo = divide_into_silos(people, method, seed)
        # 8 people a silo, so pieces have 4 people at most, and each piece is in one silo.
        for low, high in ((0, 4), (4, 8), (8, 9), (9, 13), (13, 17), (17, 21), (21, 24)):
            assert len(set(silo[low:high])) == 1
        assert sorted(np.bincount(silo).tolist()) == [7, 8, 9]  # 4 + 4 + 1, 4 + 4 and 4 + 3
    whole = replace(METHOD, partition="louvain", silos=1)
    assert not divide_into_silos(people, whole, 0).any()


def test_communities_are_dealt_out_by_the_rule() -> None:
    """200 people, 5 silos of 40: pieces of 20 at most, and no silo above 60."""
    communities = [list(range(50)), list(range(50, 110)), list(range(110, 200))]
    silo = dealt(communities, 5, 200)
    # Pieces 20 20 10, 20 20 20, 20 20 20 20 10: nine of 20 in turns, then the tens.
    assert silo[:20].tolist() == [0] * 20 and silo[20:40].tolist() == [1] * 20
    assert silo[50:110:20].tolist() == [2, 3, 4] and silo[110:190:20].tolist() == [0, 1, 2, 3]
    assert silo[40:50].tolist() == [4] * 10 and silo[190:].tolist() == [0] * 10
    assert np.bincount(silo).tolist() == [50, 40, 40, 40, 30]


def test_a_silo_without_room_is_passed_over() -> None:
    """200 people, 2 silos of 100: pieces of 80 at most, and no silo above 120."""
    communities = [list(range(80)), list(range(80, 125)), list(range(125, 168)), list(range(168, 200))]
    # 80 to silo 0 and 45 to silo 1; 43 would be 123 in silo 0, so it goes to silo 1; 32 to silo 0.
    assert np.bincount(dealt(communities, 2, 200)).tolist() == [112, 88]


def test_a_piece_that_fits_nowhere_goes_to_the_silo_with_the_fewest_people() -> None:
    """500 people, 5 silos of 100: seven pieces of 70, and two do not fit in silos of at most 120."""
    communities = [*(list(range(70 * k, 70 * k + 70)) for k in range(7)), list(range(490, 500))]
    assert np.bincount(dealt(communities, 5, 500)).tolist() == [140, 140, 80, 70, 70]
