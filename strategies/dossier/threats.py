"""Threats of a collection: what covers each, and what does not. docs/threats.md has all of them, with all tests."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

REPORTS, UPDATES, OWNED, CLEAR = "reports", "updates", "owned records", "in clear"  # what devices hand over


@dataclass(frozen=True)
class Threat:
    """One threat.

    Args:
        attacker: Who attacks, or what happens.
        covered: What covers it; empty if nothing does.
        open: What is not covered.
        sources: Tests that would fail without the cover, or pages.
        against: What devices hand over in the collections to which it applies.
    """

    attacker: str
    covered: str
    open: str
    sources: tuple[str, ...]
    against: Collection[str] = (REPORTS, UPDATES, OWNED, CLEAR)


_ADVERSARIES = "tests/strategies/attacks/adversaries"
_PAGE = "docs/threats.md"
THREATS = (
    Threat(
        "the curator, who reads the reports",
        "noise on the device; the levels above say how much it hides",
        "all that stands as unprotected above",
        ("docs/guarantees.md",),
        (REPORTS,),
    ),
    Threat(
        "the server, which reads every update",
        "noise of the device, where the levels above have a bound",
        "an update without noise gives its data away",
        (f"{_ADVERSARIES}/test_models.py::test_one_update_says_everybodys_data",),
        (UPDATES,),
    ),
    Threat(
        "the owner of the raw records",
        "",
        "the owner reads everything; only what the owner releases is protected",
        ("tests/devices/test_raw_record.py::test_it_is_a_release_without_protection_in_the_ledger",),
        (OWNED,),
    ),
    Threat(
        "a curator who asks again, in other words, or under another name",
        "the ledger of each device: an attribute is released once; the same question gets the same bytes, or a refusal",
        "who has two devices answers twice",
        (f"{_ADVERSARIES}/test_adversaries.py::test_nobody_gets_a_second_answer",),
        (REPORTS,),
    ),
    Threat(
        "several curators who share their reports",
        "they learn no more than one curator",
        "other collections about the same people add their own losses",
        (f"{_ADVERSARIES}/test_adversaries.py::test_nobody_gets_a_second_answer",),
        (REPORTS,),
    ),
    Threat(
        "a curator who ships an edited app",
        "a vault with a user of its own on the device",
        "without such a vault nothing: the app reads the record and the secret",
        (f"{_ADVERSARIES}/test_edited_app.py::test_an_edited_clientapp_gets_one_report",),
        (REPORTS,),
    ),
    Threat(
        "a clone of a device, or an old copy of its ledger",
        "with a counter, one of two copies answers",
        "without a counter a copy may answer a second time",
        ("tests/devices/ledger/test_clones.py::test_copies_that_are_asked_at_once",),
        (REPORTS,),
    ),
    Threat(
        "people who lie",
        "--defence excludes reports that honest noise would hardly make",
        "what lies cost this method is not in this dossier; ldpsim poison measures it",
        ("tests/curator/defences/test_defences.py::test_colluders_go_before_they_can_frame_others",),
        (REPORTS, UPDATES),
    ),
    Threat(
        "somebody who listens on the network",
        "TLS, where it is on",
        "who takes part, when, and the sizes of messages are not hidden",
        ("tests/strategies/flower_app/test_deployment_guide.py::test_the_rehearsal",),
    ),
    Threat(
        "somebody who measures times on the device",
        "within a release the code path does not depend on the data",
        "a release, a replay and a refusal take different times; nanoseconds were not measured",
        ("tests/devices/test_device.py::test_a_release_takes_one_path_whatever_the_data",),
        (REPORTS,),
    ),
    Threat(
        "somebody with the device's disk, or its secret",
        "a changed row of the ledger is noticed",
        "a leaked secret removes the noise of all earlier answers",
        ("tests/devices/ledger/test_ledger_edits.py::test_every_bit_of_a_row_is_under_the_seal",),
        (REPORTS,),
    ),
    Threat(
        "somebody who knows a person's friends",
        "",
        "a bound is about a person's own report, not about what reports of others say of the person",
        (_PAGE,),
    ),
)


def threats_of(handed_over: str) -> tuple[Threat, ...]:
    """Return the threats of a collection in which devices hand over reports, updates, records or data in clear."""
    return tuple(threat for threat in THREATS if handed_over in threat.against)
