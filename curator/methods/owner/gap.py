"""GAP: an encoder without edges, noisy sums over K hops, and a classifier of all hops.

Sajadmanesh, Shamsabadi, Bellet and Gatica-Perez 2023, https://arxiv.org/abs/2203.00949. With S(X) the rows of X scaled
to norm 1, A the adjacency (n, n) of in-neighbours without self-loops, and h hidden units:

    X_0 = S(encoder(x))                                            (n, h), trained on labels with a head that is dropped
    X_k = S(A X_(k-1) + N(0, s^2 D^2)),   k = 1 .. K               each noisy hop feeds the next
    scores = classifier(X_0, X_1, .., X_K)                         (n, classes)

D is the sensitivity of a sum (:mod:`ldpsim.curator.owner.privacy.aggregation`), s the noise multiplier. The classifier
reads X_0, which has no noise, beside the noisy hops. At the edge level the noise is in the hops alone. At the node
level the encoder and the classifier are trained by private steps
(:mod:`ldpsim.curator.owner.aggregation.training`), all under one noise multiplier.
:mod:`ldpsim.curator.methods.owner.graph_owner` says where this differs from the public code.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import nn

from ldpsim.curator.methods.owner.graph_owner import GraphOwner, Work
from ldpsim.curator.owner.aggregation.layers import Classifier, Encoder
from ldpsim.curator.owner.aggregation.sums import rows_of_norm_1
from ldpsim.curator.owner.aggregation.training import as_read
from ldpsim.devices.array_types import IntArray


@dataclass(frozen=True)
class Gap(GraphOwner):
    """GAP.

    Args:
        others: The parameters of :class:`GraphOwner`.
    """

    spec = replace(
        GraphOwner.spec, name="gap",
        paper="Sajadmanesh, Shamsabadi, Bellet, Gatica-Perez, GAP: Differentially Private Graph Neural \
Networks with Aggregation Perturbation",
    )  # fmt: skip

    def trainings(self) -> int:
        """As :meth:`GraphOwner.trainings`: encoder and classifier; without a graph one network."""
        return 2 if self.hops else 1

    def trained(self, work: Work) -> tuple[IntArray, nn.Module]:
        """As :meth:`GraphOwner.trained`."""
        encoder = work.network(Encoder)
        work.train(encoder, [work.features])
        with torch.no_grad():
            cached = [encoder.encoded(*as_read([work.features]))]
        for _ in range(self.hops):
            cached.append(torch.from_numpy(rows_of_norm_1(work.hop(cached[-1]))))
        classifier = work.network(Classifier, self.hops + 1, *work.sizes[1:])
        work.train(classifier, cached)
        return work.classes_of(classifier, cached), nn.ModuleDict({"encoder": encoder, "classifier": classifier})
