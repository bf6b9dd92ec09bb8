"""Plans with a public grouping, several mechanisms in one question, and reports in clear, on whole devices."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ldpsim.devices.data.population import Population
from ldpsim.devices.device import Refusal, Report, unpack_report
from ldpsim.devices.mechanisms import ClearFeatures, ClearLabel, Degree, GroupDegrees, RandomizedResponse
from ldpsim.devices.policy.policy import Cap
from ldpsim.devices.query import Ask, Query

N, D, CLASSES = 12, 10, 3
ROOM = Cap(100.0, 1e6, 1e6)
GROUPING = tuple(j % 3 for j in range(N))


def plan() -> Query:
    """LDPGen's two stages: a random grouping of two, then three groups that the curator names."""
    first = GroupDegrees.from_epsilon(0.5, n=N, groups=2, seed=4)
    second = GroupDegrees.from_epsilon(0.7, n=N, groups=3)
    return Query("plan", ((Ask("adjacency", (first,)),), (Ask("adjacency", (second,)),)))


def test_a_plan_with_a_grouping(enrolled: Callable[..., Any], population: Population) -> None:
    devices = enrolled(mechanisms=frozenset({"group_degrees"}), caps={"adjacency": ROOM})
    query = plan()
    assert isinstance(devices.ask(query), Report)
    stored = devices.rows()
    assert stored[0][4].bit == 1.2 and stored[0][4].vector == 1.2 * 11  # the whole plan, entered with stage 0
    for wrong in (None, GROUPING[:-1], (*GROUPING, 0), (0,) * (N - 1) + (3,)):
        assert devices.ask(query.at_stage(1, wrong)) is Refusal.UNKNOWN_QUERY
    assert devices.rows() == stored
    answer = devices.ask(query.at_stage(1, GROUPING))
    assert isinstance(answer, Report)
    assert devices.ask(query.at_stage(1, GROUPING)) == Report(answer.data, replayed=True)
    other = tuple((g + 1) % 3 for g in GROUPING)
    assert devices.ask(query.at_stage(1, other)) is Refusal.REPORT_COLLECTED
    assert devices.rows()[1][4].vector == 0


def test_counts_are_of_the_grouping_that_was_given(enrolled: Callable[..., Any], population: Population) -> None:
    devices = enrolled(mechanisms=frozenset({"group_degrees"}), caps={"adjacency": ROOM})
    exact = GroupDegrees.from_epsilon(40.0, n=N, groups=3)
    query = Query("plan", ((Ask("adjacency", (replace(exact, seed=0),)),), (Ask("adjacency", (exact,)),)))
    for index in range(N):
        devices.ask(query, index)
        answer = devices.ask(query.at_stage(1, GROUPING), index)
        (data,) = unpack_report(answer.data, query.at_stage(1, GROUPING))["adjacency"]
        neighbours = population.record(index).neighbours
        expected = np.bincount(np.array(GROUPING)[neighbours], minlength=3)
        assert exact.decode(data, device=index).tolist() == expected.tolist()


def test_a_degree_joins_randomised_response(enrolled: Callable[..., Any], population: Population) -> None:
    names = frozenset({"degree", "randomized_response"})
    devices = enrolled(mechanisms=names, caps={"adjacency": Cap(1.0, 11.0, 11.0)})
    parts = (RandomizedResponse.from_epsilon(0.9, n=N), Degree.from_epsilon(0.1, n=N))
    query = Query("first", ((Ask("adjacency", parts),),))
    assert isinstance(devices.ask(query), Report)
    assert devices.rows()[0][4] == query.loss("adjacency")
    assert math.isclose(query.loss("adjacency").bit, 1.0) and math.isclose(query.loss("adjacency").vector, 11.0)
    alone = Query("second", ((Ask("adjacency", parts[:1]),),))
    assert devices.ask(alone) is Refusal.REPORT_COLLECTED  # a degree is no attribute of its own
    more = Query("third", ((Ask("adjacency", (*parts, Degree.from_epsilon(0.1, n=N))),),))
    assert devices.ask(more, 5) is Refusal.POLICY_REFUSED


def test_what_goes_in_clear_is_entered_with_an_infinite_loss(
    enrolled: Callable[..., Any], population: Population
) -> None:
    query = Query("first", ((Ask("features", (ClearFeatures(D),)), Ask("label", (ClearLabel(CLASSES),))),))
    names = frozenset({"clear_features", "clear_label"})
    careful = enrolled("careful", mechanisms=names)
    assert careful.ask(query) is Refusal.POLICY_REFUSED
    bounds = dict.fromkeys(("features", "label"), Cap(math.inf, math.inf, math.inf))
    devices = enrolled("open", mechanisms=names, caps=bounds, on_requery="replay")
    answer = devices.ask(query)
    parts = unpack_report(answer.data, query)
    record = population.record(3)
    told = query.asks[0].mechanisms[0].decode(parts["features"][0], device=3)
    assert np.flatnonzero(told).tolist() == record.feature_indices.tolist()
    assert query.asks[1].mechanisms[0].decode(parts["label"][0], device=3) == record.label
    assert all(row[4].bit == row[4].vector == math.inf for row in devices.rows())
    devices.state.close()
    again = devices.ask(replace(query, collection="second"))  # read back from disk
    assert again == Report(answer.data, replayed=True)
