"""People of a plan: their facts on paper, and those on whom it is rehearsed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ldpsim.devices import datasets
from ldpsim.strategies.estimate.graph_facts import GraphFacts, known_before, measured
from ldpsim.strategies.planning.rehearsal import Like
from ldpsim.strategies.setup.options import RunOptions

FACTS = ("mean_degree", "homophily", "classes", "features")  # of made-up people, fields of GraphFacts


def planned_people(
    options: RunOptions, given: Mapping[str, float], feature_rate: float | None = None
) -> tuple[GraphFacts, Like]:
    """Return the facts of the people who are planned for, and the people on whom the plan is rehearsed.

    Args:
        options: Options with the data set of these people.
        given: Facts by name (of :data:`FACTS`) in place of those of the generated graph.
        feature_rate: Share of a person's features that are not 0; None: that of the data.

    Raises:
        ValueError: one line, for data that cannot be read, or facts that do not fit.
    """
    if (given or feature_rate is not None) and options.dataset != "generated":
        raise ValueError(f"--like {options.dataset}: its people have their own facts; no other ones can be given")
    if feature_rate is not None and not 0 < feature_rate <= 1:
        raise ValueError(f"--feature-rate {feature_rate:g}: must be a share, above 0 and at most 1")
    if options.dataset not in datasets.GENERATED:
        data = datasets.load(options.dataset, data_dir=options.data_dir, option="--like")
        facts = measured(data)
        facts = facts if options.clients is None else replace(facts, n=options.clients)
        like = Like(options, len(data), digest=data.digest)
    else:
        known = known_before(options)
        assert known is not None
        facts, like = known, Like(options, by_facts=bool(given) or feature_rate is not None)
    wanted = given.get("features", facts.features)
    rate = facts.words / facts.features if feature_rate is None else feature_rate
    words = facts.words if feature_rate is None and wanted == facts.features else max(1.0, rate * wanted)
    return replace(facts, **given, words=min(words, max(wanted, 1))), like  # type: ignore[arg-type]
