"""One seed, three engines: byte-identical reports (Flower's own runtime: test_flower_runtime.py)."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from ldpsim.curator.methods import HoGS, Question
from ldpsim.curator.methods.base import Budget
from ldpsim.devices.collector import CollectorKey
from ldpsim.devices.collector import generate as generate_key
from ldpsim.devices.data.splits import make_split
from ldpsim.devices.datasets.generated import generate
from ldpsim.devices.enrolment.state import SHARD, State, enrol
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.policy.terms import terms_of
from ldpsim.strategies.engines import collect as collecting
from ldpsim.strategies.engines.collect import choose, collect, leave_old_objects_alone

Ask = Callable[..., tuple[Question, ...]]
Enrolled = Callable[..., State]


def test_auto_is_local_unless_a_cluster_is_named() -> None:
    assert choose("auto", None) == "local"
    assert choose("auto", "ray://somewhere:10001") == "ray"
    assert choose("flower", None) == "flower"


def test_the_garbage_collector_leaves_old_objects_alone_until_the_end_or_as_it_did_before(
    enrolled: Enrolled, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []

    def interrupted(*_: object) -> None:
        seen.append(gc.get_freeze_count())
        raise KeyboardInterrupt

    monkeypatch.setattr("ldpsim.strategies.engines.collect.run_collection", interrupted)
    folders = [enrolled().folder for _ in range(2)]
    monkeypatch.setattr(collecting, "_for_good", False)
    gc.unfreeze()  # the tests keep their own out of its sight
    with pytest.raises(KeyboardInterrupt):
        collect(folders[0], ask(), devices=40, engine="local")
    assert seen[0] > 0 == gc.get_freeze_count()
    leave_old_objects_alone()  # as a command does after its imports
    with pytest.raises(KeyboardInterrupt):
        collect(folders[1], ask(), devices=40, engine="local")
    assert seen[1] > 0 < gc.get_freeze_count()


@pytest.mark.usefixtures("ray_here")
@pytest.mark.parametrize("on_requery", ["refuse", "replay"])
def test_local_and_ray_say_the_same_about_every_row(enrolled: Enrolled, ask: Ask, on_requery: str) -> None:
    """First answer, retry, other collection, other budget: same bytes, counts and codes on both engines."""
    seen = {}
    for engine in ("local", "ray"):
        folder = enrolled(on_requery=on_requery).folder
        rows = []
        for collection, epsilon in (("first", 8.0), ("first", 8.0), ("second", 8.0), ("third", 4.0), ("fourth", 9.0)):
            c = collect(folder, ask(collection, epsilon), devices=40, engine=engine, workers=2)
            rows.append((c.reports_sha256, c.reported, c.replayed, c.refused, c.downlink_bytes, c.uplink_bytes))
        seen[engine] = rows
    assert seen["local"] == seen["ray"]
    first, retry, other, smaller, larger = seen["local"]
    assert first[1:4] == (40, 0, Counter())
    assert retry[:4] == (first[0], 0, 40, Counter())
    assert other[3] == (Counter() if on_requery == "replay" else Counter(REPORT_COLLECTED=40))
    assert (other[0] == first[0]) == (on_requery == "replay")
    assert smaller[3] == Counter(REPORT_COLLECTED=40)  # a smaller budget is inside the policy and still too late
    assert larger[3] == Counter(POLICY_REFUSED=40)


@pytest.mark.usefixtures("ray_here")
def test_a_pinned_collector_is_answered_on_both_engines(enrolled: Enrolled, ask: Ask, tmp_path: Path) -> None:
    """A hostile run comes first and spends nothing; the honest run gets the bytes of devices without a pin."""
    generate_key(tmp_path / "key")
    key = CollectorKey.load(tmp_path / "key")
    plain = collect(enrolled().folder, ask(), devices=40, engine="local").reports_sha256
    for engine in ("local", "ray"):
        folder = enrolled(collector=key.public).folder
        hostile = collect(folder, ask("hostile", 0.01), devices=40, engine=engine, workers=2)
        assert hostile.refused == Counter(COLLECTOR_REFUSED=40)
        terms = key.sign(terms_of([(each.query, each.devices) for each in ask()], 40))
        honest = collect(folder, ask(), devices=40, engine=engine, workers=2, terms=terms)
        assert (honest.reported, honest.reports_sha256) == (40, plain)


@pytest.mark.usefixtures("ray_here")
def test_ray_spreads_shards_over_actors(tmp_path: Path) -> None:
    """A device is always served by the actor of its shard, whatever the number of workers."""
    people = generate(SHARD + 30, seed=1)
    questions = HoGS().questions(people.facts, make_split("random", people, 0), Budget(), "first")
    digests = set()
    for name, engine, workers in (("a", "local", 1), ("b", "ray", 2)):
        folder = tmp_path / name
        enrol(folder, people, policy_for([q.query for q in questions], people.facts), seed=0)
        collected = collect(folder, questions, devices=len(people), engine=engine, workers=workers)
        assert collected.reported == len(people)
        digests.add(collected.reports_sha256)
    assert len(digests) == 1


def test_silent_devices_are_counted_and_asked_again(enrolled: Enrolled, ask: Ask) -> None:
    folder = enrolled().folder
    some = collect(folder, ask(), devices=40, silent=frozenset({1, 5}))
    assert (some.asked, some.reported, some.silent) == (40, 38, 2)
    assert 1 not in some.reports
    rest = collect(folder, ask(), devices=40)
    assert (rest.reported, rest.replayed, rest.silent) == (2, 38, 0)
    assert rest.reports_sha256 == collect(enrolled().folder, ask(), devices=40).reports_sha256
