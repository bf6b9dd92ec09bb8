"""Collection from deployed devices, by a curator that knows public facts only.

The truth is not known, so nothing is evaluated. The result is the reports, a model and its
predictions for everybody.

The facts are a JSON file:

    {"facts": {"n": 4, "d": 256, "classes": 5}, "labels": {"0": 3, "2": 1}}

``facts`` are those of the devices' enrolment (``enrolment.json`` has them under ``policy``;
``devices/enrolment/record_file.py`` documents the optional ones). ``labels`` are the public labels.
Without public labels, devices are asked for theirs under randomised response, at ``eps-labels``.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from devices.atomic_files import write_atomically
from devices.facts import IntArray, PublicFacts, PublicKnowledge, Split
from devices.policy.policy import OnRequery, Policy, policy_for
from strategies.results import folder as run_folder
from strategies.rounds.batches import ask_in_batches
from strategies.rounds.collect_once import Collected
from strategies.rounds.reading import read_reports
from strategies.rounds.stages import Stages, at_stage, stages_of
from strategies.setup.options import Seeds

if TYPE_CHECKING:
    from curator.methods import Method, Question
    from curator.methods.base import Budget


@dataclass(frozen=True, eq=False)
class PublicFile:
    """Public facts and labels of a deployment.

    Args:
        facts: Sizes, ranges and domains.
        labels: int64 (n,), the public labels, -1 for people without one.
    """

    facts: PublicFacts
    labels: IntArray = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> PublicFile:
        """Read the file.

        Raises:
            ValueError: one line, if it is missing or not of this form.
        """
        try:
            given = json.loads(path.read_text())
            facts = PublicFacts.from_dict({"domains": (), "class_names": (), **given["facts"]})
            labels = np.full(facts.n, -1, np.int64)
            for node, label in given.get("labels", {}).items():
                if not 0 <= int(node) < facts.n or type(label) is not int or not 0 <= label < facts.classes:
                    raise ValueError(f"person {node} with label {label} does not fit the facts")
                labels[int(node)] = label
        except OSError as error:
            raise ValueError(f"facts {path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise ValueError(f"facts {path}: not a file of public facts ({reason})") from error
        return cls(facts, labels)

    def split(self, seed: int) -> Split:
        """Return the division: two thirds of the people with a public label train, one third validates.

        The others are only predicted. Without public labels half of all people train and a quarter
        validates.
        """
        known = np.flatnonzero(self.labels >= 0)
        share = 2 / 3
        if not len(known):
            known, share = np.arange(self.facts.n), 1 / 2
        order = np.random.Generator(np.random.PCG64(seed)).permutation(known)
        trained = round(share * len(order))
        scored = trained + (len(order) - trained if share > 1 / 2 else round(len(order) / 4))
        train, val = np.sort(order[:trained]), np.sort(order[trained:scored])
        rest = np.setdiff1d(np.arange(self.facts.n), np.concatenate([train, val]))
        return Split(train, val, rest)


def agreed_policy(
    config: Mapping[str, Any],
    public: PublicFile,
    *,
    on_requery: OnRequery = "refuse",
    caps: Mapping[str, float] | None = None,
    only_this: bool = False,
) -> Policy:
    """Return the policy of a device that answers the question which :func:`run_deployed` asks, once.

    Args:
        config: ``method``, ``epsilon`` and ``eps-labels`` of the run.
        public: What is public.
        on_requery, caps: As in :func:`devices.policy.policy.policy_for`.
        only_this: Whether it accepts this question alone.

    Raises:
        ValueError: for a method that asks nobody there, or a budget or cap that is not allowed.
    """
    _, method, budget = _method_of(config, public)
    questions = _questions(method, public, public.split(0), budget, "any")
    queries = [question.query for question in questions]
    return policy_for(queries, public.facts, on_requery=on_requery, caps=caps, only_these=only_this)


def _method_of(config: Mapping[str, Any], public: PublicFile) -> tuple[type[Method], Method, Budget]:
    from curator.methods import Reference, find
    from curator.methods.base import Budget

    kind = find(str(config.get("method") or "hogs"))
    method = kind.from_settings({})
    if isinstance(method, Reference):
        raise ValueError(f"--method {kind.name}: a reference asks nobody and needs raw data")
    if kind.public_features:
        raise ValueError(f"--method {kind.name}: its features are public, and the file of public facts holds none")
    if kind.public_graph:
        raise ValueError(f"--method {kind.name}: its graph is public, and the file of public facts holds no edges")
    budget = Budget(private_labels=not np.any(public.labels >= 0))
    if config.get("epsilon"):
        budget = replace(budget, epsilon=float(config["epsilon"]))
    if config.get("eps-labels"):
        budget = replace(budget, eps_labels=float(config["eps-labels"]))
    return kind, method, budget


def _questions(
    method: Method, public: PublicFile, split: Split, budget: Budget, collection: str
) -> tuple[Question, ...]:
    from strategies.setup.sampler import chosen_sampler, drawn_by

    facts = public.facts
    return drawn_by(method.questions(facts, split, budget, collection), chosen_sampler(None, method, facts.n))


def run_deployed(config: Mapping[str, Any], public: PublicFile, out: Path, collect: Callable[..., Collected]) -> Path:
    """Collect reports, reconstruct the graph, train, and write the result to a folder of its own.

    Args:
        config: The run's configuration (:mod:`strategies.flower_app.alone`). ``collection``
            continues an interrupted collection by the id that it printed.
        public: Public facts and labels.
        out: Parent of the folder.
        collect: Sends questions to the devices.

    Raises:
        ValueError: for a mistake of the user, in one line.
        Refused: if no device reported.
    """
    from curator.learning.training import TrainingSettings
    from strategies.runs.simulate import Refused

    seeds = Seeds.derive(int(config.get("seed") or 0))
    kind, method, budget = _method_of(config, public)
    split = public.split(seeds.split)
    collection = str(config.get("collection") or uuid.uuid4().hex)
    questions = _questions(method, public, split, budget, collection)
    print(f"collection {collection}: to go on with it, --run-config 'collection=\"{collection}\"'", flush=True)
    folder = out / f"{kind.name}-{collection}"
    stages = Stages(method, public.facts, folder)
    known = PublicKnowledge(public.facts, split, public.labels)

    def ask(asked: Sequence[Question]) -> Collected:
        return collect(out, asked, devices=public.facts.n, silent=frozenset[int](), stages=stages)

    if method.in_batches:
        questions, collected = ask_in_batches(method, known, budget, questions, folder, ask)
    else:
        collected = ask(questions)
    questions = at_stage(questions, stages_of(questions) - 1, collected.grouping)
    counts = {name: getattr(collected, name) for name in ("asked", "reported", "replayed", "silent", "failed")}
    print(", ".join(f"{name} {number}" for name, number in counts.items()), dict(collected.refused), flush=True)
    if not collected.reported + collected.replayed:
        raise Refused(f"none of {collected.asked:,} devices reported ({dict(collected.refused)})")
    folder.mkdir(parents=True, exist_ok=True)
    reports = read_reports(public.facts, questions, collected)
    reports.save(folder / "reports")
    graph = method.reconstruct(reports, known)
    settings = TrainingSettings(gnn=kind.default_gnn)
    trained = method.train(graph, settings=settings, classes=public.facts.classes, seed=seeds.training, device="auto")
    run_folder.write_model(folder, trained.model.state_dict())
    np.save(folder / "predictions.npy", trained.predictions, allow_pickle=False)
    guarantee = method.guarantee(public.facts, questions, budget)
    summary = {
        "method": kind.name,
        "collection": collection,
        "devices": {**counts, "refused": sum(collected.refused.values()), "reports_sha256": collected.reports_sha256},
        "privacy": guarantee.to_dict(),
        "validation_accuracy": trained.val_accuracy if len(graph.val) else None,
    }
    write_atomically(folder / "summary.json", json.dumps(summary, indent=1) + "\n")
    print(f"result: {folder}/summary.json", flush=True)
    return folder
