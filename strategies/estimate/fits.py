"""Memory of this machine that a run may use.

Expected number of pairs that HoGS holds at once, before anybody is asked.

HoGS keeps every pair with P_ij >= 1/2 (:mod:`ldpsim.curator.links.hogs`) to average features over it. With much noise
P_ij is nearly the cosine of two rows of noisy features, and a large share of all pairs is kept, however few edges there
are. The share is taken of the pairs of a few made-up people, whose features are drawn with the mechanism's own
thresholds, and over the law of the two reports about a pair without an edge.

Check whether a run fits this machine, by the method's law of memory, before its people are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
from scipy.sparse import csr_array

from ldpsim.curator.links.hogs import edge_posterior
from ldpsim.curator.links.similarity import BitRows, Rows, public_rows
from ldpsim.curator.methods import find
from ldpsim.curator.methods.base import Method
from ldpsim.curator.methods.memory import MemoryLaw, Sizes, peak_bytes
from ldpsim.devices.mechanisms import AdjacencyBits, OneBit
from ldpsim.devices.query import MAX_BYTES
from ldpsim.strategies.estimate.asked import (
    PaperQuestion,
    asks_features,
    largest_question,
    ones_reported,
    questions_on_paper,
    random_split,
)
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before
from ldpsim.strategies.estimate.traffic import miniature
from ldpsim.strategies.setup.options import RunOptions
from ldpsim.strategies.setup.run_setup import budget_of
from ldpsim.strategies.setup.settings import divided, resolve

_CGROUP = Path("/sys/fs/cgroup/memory.max")


def memory_bytes() -> int:
    """Return the memory of this machine, or of the container that the process runs in."""
    total = psutil.virtual_memory().total
    with suppress(OSError, ValueError):
        total = min(total, int(_CGROUP.read_text()))
    return int(total)


_PEOPLE = 300  # made-up people: 44,850 pairs


def likely_pairs(method: Method, questions: Sequence[PaperQuestion], facts: GraphFacts) -> float | None:
    """Return the expected number of pairs that are kept, true edges included; None for a method that keeps none.

    Args:
        method: The method.
        questions: Its questions, with mechanisms of the full number of people.
        facts: The people.
    """
    mechanisms = [m for q in questions for stage in q.query.plan for ask in stage for m in ask.mechanisms]
    flip = next((m for m in mechanisms if isinstance(m, AdjacencyBits) and m.flip_probability), None)
    least = method.in_force().least_posterior
    if least is None or flip is None or flip.flip_probability is None or flip.flip_odds is None:
        return None
    rows = _rows(facts, next((m for m in mechanisms if isinstance(m, OneBit)), None))
    left, right = np.triu_indices(len(rows), 1)
    cosine = rows.cosine(left, right)
    p = flip.flip_probability
    one_end = flip.reporting == "one-end"
    # ones among the reports about a pair -> chance of them without an edge
    law = {0: 1 - p, 1: p} if one_end else {0: (1 - p) ** 2, 1: 2 * p * (1 - p), 2: p**2}
    share = 0.0
    for ones, chance in law.items():
        exponent = np.full(len(left), 2 * ones - len(law) + 1, np.int8)
        share += chance * float(np.mean(edge_posterior(cosine, exponent, flip.flip_odds) >= least))
    return share * facts.n * (facts.n - 1) / 2 + facts.edges


def _rows(facts: GraphFacts, mechanism: OneBit | None) -> Rows:
    """Return feature rows of made-up people: as reported, or as they are where they are public."""
    people = miniature(facts, min(facts.n, _PEOPLE), seed=0)
    sparse = csr_array((people.feature_values, people.feature_indices, people.feature_indptr),
                       shape=(len(people), people.facts.d))  # fmt: skip
    if mechanism is None:
        return public_rows(sparse)
    chances = mechanism.chance_of_one(sparse.toarray())
    bits = np.random.default_rng(0).random(chances.shape) < chances
    return BitRows(np.packbits(bits, axis=1))


ERROR = 1.5  # factor that the law keeps on what it was tried on
NOISY = 0.15  # share of all pairs that reports name, above which a method may hold many likely pairs
_OF_A_RECORD = 24  # bytes: where its features and neighbours begin, and its label


def asked_of(options: RunOptions, facts: GraphFacts) -> tuple[PaperQuestion, ...]:
    """Return the questions of a run on paper.

    Raises:
        ValueError: one line, for options that do not fit.
    """
    method = find(options.method)
    budget = budget_of(options, public_features=options.public_features or method.spec.public_features)
    settings = resolve(options, method, budget)
    labels = len(random_split(min(facts.n, 1000), options.label_rate, options.volunteers).train) / min(facts.n, 1000)
    budget, settings = divided(options, settings, budget, facts.public(), round(labels * facts.n))
    return questions_on_paper(settings.method, facts.public(), budget, options)


def memory_of(options: RunOptions, facts: GraphFacts) -> float:
    """Return the bytes of a run at its peak, with the devices that it simulates; a method without a law has the usual.

    Raises:
        ValueError: one line, for options that do not fit.
    """
    spec = find(options.method).spec
    questions = () if options.from_reports is not None else asked_of(options, facts)
    training = resolve(options, find(options.method), budget_of(options, public_features=False)).training
    ones = ones_reported(questions, facts.n, facts.mean_degree)
    features = options.public_features or spec.public_features or not questions or asks_features(questions)
    pairs = None
    if ones - facts.n * facts.mean_degree > NOISY * facts.n**2:
        budget = budget_of(options, public_features=options.public_features or spec.public_features)
        pairs = likely_pairs(resolve(options, find(options.method), budget).method, questions, facts)
    sizes = Sizes(
        n=facts.n, d=facts.features if features else 0, classes=facts.classes, edges=facts.edges, ones=ones,
        pairs=pairs or 0.0, hidden=training.hidden, heads=training.gat_heads if training.gnn == "gat" else 0,
    )  # fmt: skip
    records = facts.n * (_OF_A_RECORD + 4 * facts.mean_degree + 8 * facts.words)
    return max(peak_bytes(spec.memory or MemoryLaw(), sizes, nulls=options.nulls), records + 4 * ones)


def check_fits(options: RunOptions, facts: GraphFacts | None = None) -> None:
    """Check that a run fits into the memory of this machine, and that devices can read its question.

    Only a run that cannot fit even if the law is too high by its error is refused. Options that are wrong are left to
    the run's own checks.

    Args:
        options: The run; ``force`` lets everything pass.
        facts: Its people; None for what is known of the data set before it is made or read.

    Raises:
        ValueError: one line with the numbers.
    """
    facts = known_before(options) if facts is None else facts
    if options.force or facts is None:
        return
    try:
        needed = memory_of(options, facts)
        questions = () if options.from_reports is not None else asked_of(options, facts)
    except ValueError:
        return
    who = f"{options.method} with {facts.n:,} people cannot fit"
    more = "(--force goes on; `ldpsim plan` shows what fits)"
    room, question = memory_bytes(), largest_question(questions, facts.n)
    if needed > room * ERROR:
        raise ValueError(
            f"{who}: about {in_gib(needed)} of memory are needed, and this machine has {in_gib(room)} {more}"
        )
    if question > MAX_BYTES:
        raise ValueError(
            f"{who}: its question has {question / 1e6:,.1f} MB, and a device reads {MAX_BYTES / 1e6:.1f} {more}"
        )


def in_gib(size: float) -> str:
    """Return a size in GiB in words."""
    gib = size / 2**30
    return f"{gib:,.0f} GiB" if gib >= 10 else f"{gib:.1f} GiB"
