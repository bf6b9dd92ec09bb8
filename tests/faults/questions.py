"""The questions of the simulation, each known to the judge by what it asks, not by the product's digest of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from ldpsim.devices.curator_key import CuratorKey, SignedTerms
from ldpsim.devices.mechanisms import GRR, GroupDegrees, OneBit, RandomizedResponse
from ldpsim.devices.policy.terms import terms_of
from ldpsim.devices.query import Ask, Query

N, D, CLASSES = 5, 6, 3
KEYS = (CuratorKey(Path("one"), bytes([1]) * 32), CuratorKey(Path("two"), bytes([2]) * 32))
GROUPINGS = ((0, 1, 0, 1, 0), (1, 0, 0, 0, 1))
TRAINING = "training"
CAP = 3.0  # loss of a person in all trainings


@dataclass(frozen=True)
class Question:
    """A question as the judge sees it.

    Args:
        collection: Id of the collection.
        asks: Attribute and budget of each ask; of a plan of two stages, ``adjacency`` alone; of a training, it alone.
        staged: Whether it is the plan of two stages.
        stage: The stage that is asked, or the round of a training.
        grouping: Number of the grouping, -1 without one; in a training, of the model that is sent.
        fault: Empty; ``policy``: beyond the caps; else how its bytes are wrong.
    """

    collection: str
    asks: tuple[tuple[str, float], ...]
    staged: bool = False
    stage: int = 0
    grouping: int = -1
    fault: str = ""

    @property
    def attributes(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.asks)

    @property
    def trains(self) -> bool:
        return self.attributes == (TRAINING,)

    def __str__(self) -> str:
        asked = " and ".join(f"{name} at {budget:g}" for name, budget in self.asks)
        stage = f", stage {self.stage} grouping {self.grouping}" if self.staged else ""
        stage = f", round {self.stage} model {self.grouping}" if self.trains else stage
        wrong = f", {self.fault}" if self.fault else ""
        return f"{asked} ({self.collection}{stage}{wrong})"


@cache
def query_of(question: Question) -> Query:
    """Return the product's query."""
    mechanisms = {
        "adjacency": lambda e: RandomizedResponse.from_epsilon(e, n=N),
        "features": lambda e: OneBit.from_epsilon(e, d=D), "label": lambda e: GRR.from_epsilon(e, categories=CLASSES),
    }  # fmt: skip
    if question.staged:
        ((_, budget),) = question.asks
        first = GroupDegrees.from_epsilon(budget, n=N, groups=2, seed=4)
        second = GroupDegrees.from_epsilon(budget, n=N, groups=2)
        plan = (Ask("adjacency", (first,)),), (Ask("adjacency", (second,)),)
        grouping = None if question.grouping < 0 else GROUPINGS[question.grouping]
        return Query(question.collection, plan, question.stage, grouping)
    return Query(question.collection, (tuple(Ask(name, (mechanisms[name](e),)) for name, e in question.asks),))


@cache
def bytes_of(question: Question, signer: int = -1) -> bytes:
    """Return the bytes of a question, signed by a key; -1: unsigned."""
    data = query_of(question).to_bytes()
    return data if signer < 0 else terms_for(question, signer).ask(data)


@cache
def terms_for(question: Question, signer: int = 0) -> SignedTerms:
    """Return the terms of a collection that asks everybody this question alone."""
    return KEYS[signer].sign(terms_of([(query_of(question), None)], N))


@cache
def spoilt(question: Question, other: Question, way: str) -> bytes:
    """Return a question with wrong bytes: forged, or with the terms of another question."""
    good = bytes_of(question, 0)
    if way == "signed by another key":
        return bytes_of(question, 1)
    if way == "with a forged signature":
        return good[:10] + bytes(byte ^ 0x40 for byte in good[10:20]) + good[20:]
    if way == "with the terms of another question":
        return terms_for(other).ask(query_of(question).to_bytes())
    return bytes_of(question)  # unsigned


FORGERIES = ("unsigned", "signed by another key", "with a forged signature", "with the terms of another question")
_PAIRS = (("features",), ("label",), ("features", "label"), ("adjacency",), ("adjacency", "features", "label"))
HONEST = tuple(
    Question(collection, tuple((name, budget) for name in names))
    for collection, names, budget in product(("first", "second"), _PAIRS, (1.0, 2.0))
)
PLANS = tuple(
    Question("first", (("adjacency", 0.5),), staged=True, stage=stage, grouping=grouping)
    for stage, grouping in ((0, -1), (1, 0), (1, 1))
)
BEYOND = Question("first", (("features", 20.0),), fault="beyond the caps")
