from __future__ import annotations

from ldpsim.cli.doctor.finding import Finding, checked, worst


def test_the_worst_status_counts() -> None:
    fine, poor, broken = Finding("a", ""), Finding("b", "", "warning", "x"), Finding("c", "", "problem", "y")
    assert worst([]) == worst([fine]) == "ok"
    assert worst([poor, fine]) == "warning"
    assert worst([poor, broken, fine]) == "problem"


def test_a_check_that_fails_is_a_problem_in_one_line() -> None:
    def fails() -> Finding:
        raise OSError("no\nsuch device")

    found = checked("disk", fails)
    assert found.status == "problem" and "no such device" in found.text and found.remedy
    assert checked("disk", lambda: Finding("disk", "here")) == Finding("disk", "here")
