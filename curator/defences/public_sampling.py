"""Public sets of sampled features: a liar cannot choose which features its report is about.

A multi-bit report is about m of d features. If a device draws the set, colluders can all report about the features that
they want to move. Here the set follows from a hash of the collection's id and the device's public number. It does not
depend on the data, and the ordinary report shows it anyway. So the loss stays what it is.

GRR-FS does not show its set, and the loss of one entry counts on that. So its questions stay as they are.
"""

from __future__ import annotations

import hashlib

from curator.defences.base import Notes, silent_on
from curator.reports.question import Question
from curator.reports.reports import Reports
from devices.facts import PublicKnowledge


def with_public_sets(questions: tuple[Question, ...], collection: str) -> tuple[Question, ...]:
    """Return the questions with a public set of features for each device, where multi-bit samples some of them."""
    seed = int.from_bytes(hashlib.sha256(f"ldpsim public sets {collection}".encode()).digest()[:4], "little")
    return tuple(question.with_mechanisms(lambda each: each.with_public_sets(seed)) for question in questions)


def sampled_publicly(reports: Reports, public: PublicKnowledge, level: float) -> tuple[Reports, Notes]:
    """Return the reports as they are, and a note on whether the question had public sets."""
    del public, level
    if reports.features is None or (asked := reports.source("features")).set_size is None:
        return reports, silent_on("multi-bit features")
    if asked.set_seed < 0:
        return reports, {"not_used": "the devices chose their features, or reported about all of them"}
    return reports, {"set_seed": asked.set_seed}
