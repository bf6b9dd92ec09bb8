"""The work memory of an answer beside volunteers, as the benchmark counts it."""

from __future__ import annotations

from benchmarks.speed.bench_vote import beside_volunteers


def test_an_answer_needs_less_than_two_kilobytes_beside_others_and_its_padding_alone() -> None:
    """Proof: counted by ``tracemalloc``, beyond table, model and record; the padded list alone has 16 kB."""
    found = {name: room for name, (room, _) in beside_volunteers(3_000).items()}
    assert 0 < found["together"] < 2_000 and 16_384 < found["alone"] < 110_000
