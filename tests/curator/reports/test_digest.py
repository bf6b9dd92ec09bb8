from __future__ import annotations

from ldpsim.curator.reports.decoding import reports_digest


def test_the_digest_of_all_reports() -> None:
    assert reports_digest({1: b"a", 0: b"b"}) == reports_digest({0: b"b", 1: b"a"})
    different = [{}, {0: b""}, {0: b"a"}, {1: b"a"}, {0: b"a", 1: b""}, {0: b"", 1: b"a"}]
    assert len({reports_digest(d) for d in different}) == len(different)
