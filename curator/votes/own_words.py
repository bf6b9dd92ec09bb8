"""The model of words that people evaluate on their own features: fitted on labelled people, whose features are public.

Ridge regression on tf-idf rows of training people, and the pool of its scores with their logarithms, become whole
numbers (:mod:`devices.mechanisms.word_model`). Nothing of anybody else is read. The evidence of a training person is
that of a fit without the person's own label.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array, eye_array, vstack

from curator.learning.node_evidence import bits_of, ln_scores
from curator.learning.pool import fit_pool, pooled
from curator.learning.ridge import ridge
from curator.linear.tfidf import is_text, tfidf_rows
from curator.reports.labels import LabelEvidence
from curator.setting_error import SettingError
from devices.array_types import DoubleArray, IntArray
from devices.facts import PublicKnowledge
from devices.mechanisms.word_model import EXPONENT_BITS, LARGEST_EXPONENT, UNIT, WordModel

_SCALE = 5.0  # of ridge's scores in the pool


@dataclass(frozen=True, eq=False)
class OwnWords:
    """A model for everybody, and what it says of the people whose features are public.

    Args:
        model: The model that is published.
        people: int64 (m,), sorted: labelled people.
        evidence: int64 (m, classes), in units: what the model says of them, of training people without their own label.
    """

    model: WordModel
    people: IntArray
    evidence: IntArray = field(repr=False)

    @property
    def rows(self) -> DoubleArray:
        """float64 (m, classes): their class distributions."""
        return np.exp(pooled({"": self.evidence / UNIT}, np.ones(1)))


def own_words(public: PublicKnowledge) -> OwnWords:
    """Fit the model on the labelled people of ``public``, whose features are donated.

    Raises:
        ValueError: where there are none, or their features are no words.
    """
    split, labels, classes = public.split, public.labels, public.facts.classes
    people = split.labelled[labels[split.labelled] >= 0]
    train, val = (np.flatnonzero(np.isin(people, nodes)) for nodes in (split.train, split.val))
    if public.donated is None or not len(train):
        raise SettingError("own_features=true", "a model needs public features and labels of training people")
    told, known = public.donated[people], labels[people]
    if not is_text(told):
        raise SettingError("own_features=true", "the model reads words, and at least half of the features are none")
    bits = csr_array(bits_of(told), dtype=np.int64)
    d = bits.shape[1]
    # A row of each word alone, and an empty one: the fit is affine, so these rows hold its weights.
    rows = vstack([tfidf_rows(bits), eye_array(d), csr_array((1, d))], format="csr", dtype=np.float32)
    fit = ridge(rows, train, np.concatenate([known, np.full(d + 1, -1)]), classes)
    mean = fit.scores[-1]
    word = np.log((1 + len(people)) / (1 + np.asarray(bits.sum(axis=0)).ravel()))
    weights = word[:, None] * (fit.scores[len(people) : -1] - mean)
    parts = (_whole(weights * UNIT), _whole(word**2 * UNIT), _whole(mean * UNIT))
    shares = WordModel(*parts, (0, 0)).shares(bits)
    shares[train] = _whole(fit.left_out * UNIT)
    opinions = {"ridge": _SCALE * shares / UNIT, "ln ridge": ln_scores(shares / UNIT)}
    prior, evidence = {"ridge": 1.0, "ln ridge": 0.0}, LabelEvidence(known, classes)
    fitted = fit_pool(opinions, evidence, val, others=train, prior=prior).exponents
    one = 1 << EXPONENT_BITS
    exponents = (min(round(one * _SCALE * fitted["ridge"]), LARGEST_EXPONENT),
                 min(round(one * fitted["ln ridge"]), LARGEST_EXPONENT))  # fmt: skip
    model = WordModel(*parts, exponents)
    return OwnWords(model, people, model.evidence(shares))


def model_for_accounts(columns: int, classes: int) -> WordModel:
    """Return a model that no device gets: every word speaks loudly for a class that is not the first.

    Without words the first class is the best one where the list says nothing. So a change of the features changes the
    answer, and the losses are attained.

    Raises:
        ValueError: without a column, or for fewer than two classes.
    """
    if columns < 1 or classes < 2:
        raise ValueError(f"a model of words needs columns and two classes or more, not {columns}, {classes}")
    weights = np.zeros((columns, classes), np.int64)
    weights[np.arange(columns), 1 + np.arange(columns) % (classes - 1)] = UNIT << 8
    return WordModel(weights, np.full(columns, UNIT), np.zeros(classes, np.int64), (LARGEST_EXPONENT, 0))


def _whole(numbers: DoubleArray) -> IntArray:
    return np.rint(numbers).astype(np.int64)
