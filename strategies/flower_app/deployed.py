"""Collection from deployed devices, by a curator that knows public facts only.

The truth is not known, so nothing is evaluated. The result is the reports, a model, its
predictions for everybody, and a ``result.json`` without what only a simulation knows.

The facts are a JSON file:

    {"facts": {"n": 4, "d": 256, "classes": 5}, "labels": {"0": 3, "2": 1}}

Where SuperNodes are registered with keys, ``"nodes": {"0": 8412073611204, "1": ...}`` beside them names each person's
node, by the id that ``flwr supernode register`` printed. No other node speaks for a person then.
``facts`` are those of the devices' enrolment (``enrolment.json`` has them under ``policy``;
``devices/enrolment/record_file.py`` documents the optional ones). ``labels`` are the public labels.
Without public labels, devices are asked for theirs under randomised response, at ``eps-labels``.

In place of labels the file may name volunteers, by their public numbers:

    {"facts": {"n": 9, "d": 256, "classes": 5}, "volunteers": [0, 4, 7]}

Their devices give label and features in clear and answer nothing else, if they agreed to that at enrolment. Beside them
``"labelled": [1, 3]`` names other people who know their label: their devices answer it under noise, in place of a vote.
"""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ldpsim.devices.atomic_files import ldpsim_home, private_file, private_folder, read_file
from ldpsim.devices.curator_key import CuratorKey, SignedTerms, read_public
from ldpsim.devices.data.splits import LEAST_VOLUNTEERS, train_and_validate
from ldpsim.devices.facts import IntArray, PublicFacts, PublicKnowledge, Split
from ldpsim.devices.foreign.packages import nothing_imported
from ldpsim.devices.foreign.strict_json import by_number, number_below, read_json
from ldpsim.devices.policy.policy import OnRequery, Policy, policy_for
from ldpsim.devices.policy.terms import collection_of, facts_of, terms_of
from ldpsim.devices.query import canonical
from ldpsim.strategies.results import folder as run_folder
from ldpsim.strategies.setup.option_spec import OptionSpec, declared
from ldpsim.strategies.setup.options import AUTO, NOTHING, RunOptions, Seeds

if TYPE_CHECKING:
    from ldpsim.curator.methods import Method, Question
    from ldpsim.curator.methods.base import Budget
    from ldpsim.strategies.engines.collect import Connect
    from ldpsim.strategies.outputs.run_result import RunResult
    from ldpsim.strategies.setup.run_setup import Setup
    from ldpsim.strategies.setup.settings import Settings


def options_given(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run that a configuration gives, in their own types; empty text and 0 mean not given.

    Raises:
        ValueError: one line, for a value of another type or one that is not allowed, or settings of another form than
            ``KEY=VALUE,KEY=VALUE``.
    """
    entries = [(spec, config.get(spec.key)) for spec in declared(RunOptions).values() if spec.flower]
    return {spec.name: _read(spec, entry) for spec, entry in entries if entry or entry is False}


def _read(spec: OptionSpec, entry: Any) -> Any:
    if not spec.is_table:
        return spec.value(spec.read(entry))
    pairs = [text.partition("=") for text in entry.split(",")] if isinstance(entry, str) else [("", "", "")]
    for key, equals, value in pairs:
        if not (key.strip() and equals and value.strip()):
            raise ValueError(f"{spec.key} {entry}: must be KEY=VALUE, with commas between several")
    return {key.strip(): value.strip() for key, _, value in pairs}


_ELSEWHERE = ("seed",)  # read by the app itself
_OF_DATA = ("dataset", "split", "volunteers")
_PARTS = ("facts", "labels", "volunteers", "labelled", "nodes")  # of the file of public facts


@dataclass(frozen=True, eq=False)
class PublicFile:
    """Public facts and labels of a deployment.

    Args:
        facts: Sizes, ranges and domains.
        labels: int64 (n,), the public labels, -1 for people without one.
        volunteers: int64, sorted: people who give label and features in clear; None where nobody is asked to.
        ordinary: int64, sorted: other people who are asked for their label under noise; only beside volunteers.
        nodes: Flower's id of each person's node; None where it is not known.
        digest: SHA-256 of all values of the file, hexadecimal. Terms are bound to it.
    """

    facts: PublicFacts
    labels: IntArray = field(repr=False)
    volunteers: IntArray | None = field(default=None, repr=False)
    ordinary: IntArray = field(default_factory=lambda: np.zeros(0, np.int64), repr=False)
    nodes: Mapping[int, int] | None = field(default=None, repr=False)
    digest: str = ""

    @classmethod
    def load(cls, path: Path) -> PublicFile:
        """Read the file.

        Raises:
            ValueError: one line, if it is missing or not of this form.
        """
        try:
            return cls.read(read_file(path).decode(), f"facts {path}")
        except OSError as error:
            raise ValueError(f"facts {path}: {error.strerror}") from error

    @classmethod
    def read(cls, text: str, name: str = "facts") -> PublicFile:
        """Read the text of such a file; ``name`` is its name in an error.

        Raises:
            ValueError: one line, if it is not of this form.
        """
        try:
            content = read_json(text)
            for key in content:
                if key not in _PARTS:
                    raise ValueError(f"{key} does not belong there; {', '.join(_PARTS)} do")
            facts = PublicFacts.from_dict(content["facts"])
            labels = np.full(facts.n, -1, np.int64)
            for person, label in by_number(content.get("labels", {}), facts.n, "person").items():
                if type(label) is not int or not 0 <= label < facts.classes:
                    raise ValueError(f"person {person} with label {label} does not fit the facts")
                labels[person] = label
            volunteers = _volunteers(content.get("volunteers"), facts, labels)
            ordinary = _ordinary(content.get("labelled", []), facts, volunteers)
            nodes = _nodes(content["nodes"], facts) if "nodes" in content else None
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            reason = f"{error} is missing" if isinstance(error, KeyError) else error
            raise ValueError(f"{name}: not a file of public facts ({reason})") from error
        return cls(facts, labels, volunteers, ordinary, nodes, hashlib.sha256(canonical(content)).hexdigest())

    def split(self, seed: int) -> Split:
        """Return the division: of volunteers, or else of people with a public label, two thirds train, one validates.

        The others are only predicted. Without volunteers and public labels half of all people train and a
        quarter validates.
        """
        rng = np.random.Generator(np.random.PCG64(seed))
        if self.volunteers is not None:
            return self._with_rest(*train_and_validate(rng.permutation(self.volunteers)))
        people = np.flatnonzero(self.labels >= 0)
        share = 2 / 3
        if not len(people):
            people, share = np.arange(self.facts.n), 1 / 2
        order = rng.permutation(people)
        trained = round(share * len(order))
        scored = trained + (len(order) - trained if share > 1 / 2 else round(len(order) / 4))
        return self._with_rest(np.sort(order[:trained]), np.sort(order[trained:scored]))

    def _with_rest(self, train: IntArray, val: IntArray) -> Split:
        rest = np.setdiff1d(np.arange(self.facts.n), np.concatenate([train, val, self.ordinary]))
        return Split(train, val, rest, ordinary=self.ordinary)


def _volunteers(numbers: Any, facts: PublicFacts, labels: IntArray) -> IntArray | None:
    if numbers is None:
        return None
    people = _people("volunteers", numbers, facts)
    if not LEAST_VOLUNTEERS <= len(numbers) < facts.n:
        raise ValueError(f"{LEAST_VOLUNTEERS} to {facts.n - 1} of {facts.n} people can volunteer, not {len(numbers)}")
    if np.any(labels >= 0):
        raise ValueError("volunteers give their labels themselves: no labels may stand beside them")
    return people


def _ordinary(numbers: Any, facts: PublicFacts, volunteers: IntArray | None) -> IntArray:
    people = _people("labelled", numbers, facts)
    if len(people) and volunteers is None:
        raise ValueError("labelled people stand beside volunteers alone")
    both = np.intersect1d(people, [] if volunteers is None else volunteers)
    if len(both):
        raise ValueError(f"person {both[0]} is labelled and a volunteer; a volunteer gives the label in clear")
    return people


def _nodes(entries: Any, facts: PublicFacts) -> dict[int, int]:
    by_person = by_number(entries, facts.n, "nodes: person")
    # Flower writes an id as text or a number.
    node_of = {person: number_below(node, 1 << 64, "node") for person, node in by_person.items()}
    if len(set(node_of.values())) < len(node_of):
        raise ValueError("nodes: two people have the same node")
    return node_of


def _people(name: str, numbers: Any, facts: PublicFacts) -> IntArray:
    fits = isinstance(numbers, list) and all(type(person) is int and 0 <= person < facts.n for person in numbers)
    if not fits or len(set(numbers)) < len(numbers):
        raise ValueError(f"{name} are a list of different people, each 0 to {facts.n - 1}")
    return np.sort(np.array(numbers, np.int64))


def questions_of(config: Mapping[str, Any], public: PublicFile) -> tuple[Question, ...]:
    """Return the questions that :func:`run_deployed` asks; those of later batches have their losses alone.

    Args:
        config: The run's configuration: method, budget and parameters.
        public: What is public.

    Raises:
        ValueError: for a method that asks nobody there, or a budget that is not allowed.
    """
    settings, budget = _settings_of(config, public)
    collection = str(config.get("collection") or "any")
    return _questions(settings.method, public, _split(config, public), budget, collection)


def signed_config(config: Mapping[str, Any], facts: str, key: CuratorKey, *, packages: bool = False) -> dict[str, Any]:
    """Return a configuration of ``flwr run`` with the text of the facts, and the terms of its collection, signed.

    Args:
        config: The run's configuration; without a ``collection`` it gets an id.
        facts: Text of the public facts.
        key: The curator's key.
        packages: Whether the method or a mechanism may come from another package, which is imported beside the key. A
            network never is.

    Raises:
        ValueError: as :func:`questions_of`, for facts of another form or a malformed id, and for a name that another
            package has, unless ``packages``.
    """
    public = PublicFile.read(facts)
    full_config = {**config, "facts": facts, "collection": str(config.get("collection") or uuid.uuid4().hex)}
    with nullcontext() if packages else nothing_imported():
        pairs = [(question.query, question.devices) for question in questions_of(full_config, public)]
    return {**full_config, "terms": key.sign(terms_of(pairs, public.facts.n, facts=public.digest)).to_text()}


CURATOR_KEY = "LDPSIM_CURATOR_KEY"  # in the server's environment: the file of the curator's public key


def check_terms(terms: SignedTerms, public: PublicFile) -> None:
    """Refuse terms that the server's curator did not sign, or signed for other public facts.

    Whoever reaches the server writes the configuration, so the key is not in it.

    Raises:
        ValueError: one line.
    """
    if not (place := os.environ.get(CURATOR_KEY)):
        raise ValueError(f"terms: the SuperLink's environment names no public key of a curator ({CURATOR_KEY})")
    curator = read_public(Path(place), CURATOR_KEY)
    if not terms.is_signed_by(curator):
        raise ValueError(f"terms: the curator {curator}, whose server this is, did not sign them")
    if facts_of(terms.terms) != public.digest:
        raise ValueError("terms: they are signed for other facts than those of this run (ldpsim curator sign)")


def _split(config: Mapping[str, Any], public: PublicFile) -> Split:
    return public.split(Seeds.derive(_seed(config)).split)


def _seed(config: Mapping[str, Any]) -> int:
    return int(options_given(config).get("seed", 0))


def results_folder(terms: SignedTerms | None) -> Path:
    """Return the parent of the results' folders: one for these terms and their signature.

    So nobody writes there who has no signed terms.
    """
    home = ldpsim_home() / "flwr"
    signed = b"" if terms is None else terms.signature + terms.terms
    return home / f"signed-{hashlib.sha256(signed).hexdigest()[:16]}" if signed else home


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
        config, public: As in :func:`questions_of`.
        on_requery, caps: As in :func:`ldpsim.devices.policy.policy.policy_for`.
        only_this: Whether it accepts this question alone.

    Raises:
        ValueError: as :func:`questions_of`, for a cap that is not allowed, or for ``only_this`` where earlier
            answers make the questions.
    """
    from ldpsim.curator.methods import find

    name = _method_name(config)
    if only_this and find(name).spec.in_batches:
        raise ValueError(f"--only-this: the questions of {name} follow from earlier answers, so none can be named now")
    queries = [question.query for question in questions_of(config, public)]
    return policy_for(
        queries, public.facts, on_requery=on_requery, caps=caps, only_these=only_this, volunteers=public.volunteers
    )


def _settings_of(config: Mapping[str, Any], public: PublicFile) -> tuple[Settings, Budget]:
    """Return method and training, and the budget; ValueError of one line for what a deployment does not read.

    A network of a person's own is not imported: terms are signed without it.
    """
    from ldpsim.curator.methods import find
    from ldpsim.curator.methods.spec import SIMULATED_ONLY
    from ldpsim.strategies.setup.feature_share import divided
    from ldpsim.strategies.setup.read_options import check_read
    from ldpsim.strategies.setup.run_setup import budget_of
    from ldpsim.strategies.setup.settings import resolve

    kind = find(_method_name(config))
    if kind.spec.reads:
        raise ValueError(f"--method {kind.spec.name}: a reference asks no device and needs raw data")
    if kind.spec.trusted in SIMULATED_ONLY:
        raise ValueError(f"--method {kind.spec.name}: it trusts a {kind.spec.trusted}, which is simulated only")
    if kind.spec.public_features:
        raise ValueError(f"--method {kind.spec.name}: its features are public, and the file of public facts holds none")
    if kind.spec.public_graph:
        raise ValueError(f"--method {kind.spec.name}: its graph is public, and the file of public facts holds no edges")
    if public.volunteers is not None and not kind.spec.asks_volunteers:
        raise ValueError(f"--method {kind.spec.name}: it does not ask the volunteers that the facts name")
    options = _options_of(config, public)
    budget = budget_of(options, public_features=False)
    settings = resolve(options, kind, budget)
    check_read(options, settings.method)
    if options.feature_share == AUTO:
        settings, budget = divided(options, settings, budget, public.facts, len(public.split(0).train))
    return settings, budget


def _options_of(config: Mapping[str, Any], public: PublicFile) -> RunOptions:
    """Return the options of a deployment: nothing is measured against a truth."""
    values = {name: value for name, value in options_given(config).items() if name not in _ELSEWHERE}
    for name in _OF_DATA:
        spec = declared(RunOptions)[name]
        if name in values and spec.is_given(value := values[name]):
            raise ValueError(f"{spec.words(value)}: a deployment does not read it; its people are those of the facts")
    for spec in map(declared(RunOptions).__getitem__, ("friends_tell", "friends_share")):
        if (value := config.get(spec.key) or NOTHING) != NOTHING:
            raise ValueError(
                f"{spec.words(value)}: simulated only, as nothing carries messages between real devices yet"
            )
    unknown = dict.fromkeys(("reference", "nulls", "groups"), False)
    return RunOptions(**{**values, **_labels_of(public), **unknown})


def _method_name(config: Mapping[str, Any]) -> str:
    return str(config.get("method") or "hogs")


def _labels_of(public: PublicFile) -> dict[str, Any]:
    """Return the options that say from whom the labels come."""
    if public.volunteers is not None:
        return {"volunteers": len(public.volunteers) / public.facts.n, "private_labels": len(public.ordinary) > 0}
    return {"private_labels": not np.any(public.labels >= 0)}


def _questions(
    method: Method, public: PublicFile, split: Split, budget: Budget, collection: str
) -> tuple[Question, ...]:
    from ldpsim.curator.methods.base import questions_asked

    facts = public.facts
    questions = questions_asked(method, facts, split, budget, collection)
    if not questions:
        raise ValueError(
            f"--method {method.spec.name}: a deployment asks each device for one report, and this method asks for none"
        )
    return questions


def run_deployed(
    config: Mapping[str, Any], public: PublicFile, terms: SignedTerms | None, connect: Connect,
    refused_claims: Mapping[int, Sequence[int]],
) -> RunResult:  # fmt: skip
    """Ask, work and write the record, as :func:`ldpsim.strategies.runs.simulate.simulate` does, to a folder of its own.

    Args:
        config: The run's configuration (:mod:`ldpsim.strategies.flower_app.simulation`). ``collection``
            continues an interrupted collection by the id that it printed.
        public: Public facts and labels.
        terms: The terms of the collection; None where the devices answer any curator.
        connect: Opens the Grid of the devices.
        refused_claims: Nodes that claimed a person's number and did not count.

    Raises:
        ValueError: for a mistake of the user, in one line.
        Refused, RunFailed: if no device reported.
    """
    from ldpsim.strategies.engines.usage import cpu_seconds
    from ldpsim.strategies.outputs.run_result import RunResult
    from ldpsim.strategies.results.record import assemble
    from ldpsim.strategies.runs.asking import ask
    from ldpsim.strategies.runs.judging import without_truth
    from ldpsim.strategies.runs.kind import kind_of
    from ldpsim.strategies.runs.repeat import Repeat
    from ldpsim.strategies.runs.simulate import graph_or_reason
    from ldpsim.strategies.runs.spent import spent

    started, cpu = time.perf_counter(), cpu_seconds()
    own = collection_of(terms.terms) if terms is not None else uuid.uuid4().hex
    collection = str(config.get("collection") or own)
    setup = _prepare(config, public, collection)
    kind = kind_of(setup.method)
    print(f"collection {collection}: to go on with it, --run-config 'collection=\"{collection}\"'", flush=True)
    folder = results_folder(terms) / f"{setup.method.spec.name}-{collection}"
    repeat = Repeat(setup, setup.plans[0], 0, folder, folder, None, collection, False, connect=connect)
    collected = ask(repeat)
    counts = {name: getattr(collected, name) for name in ("asked", "reported", "replayed", "silent", "failed")}
    print(", ".join(f"{name} {number}" for name, number in counts.items()), dict(collected.refused), flush=True)
    private_folder(folder)  # the reports of volunteers are their records
    outcome = without_truth(kind.work(repeat, collected))
    predictions = outcome.predictions
    assert predictions is not None
    claims = {str(device): [str(node) for node in nodes] for device, nodes in refused_claims.items()}
    outcome = replace(
        outcome, extra={**outcome.extra, "deployment": {"collection": collection, "refused_claims": claims}}
    )
    seconds = {"population": 0.0, "total": time.perf_counter() - started, "cpu": cpu_seconds() - cpu}
    record = assemble(setup, [outcome], seconds, *spent(kind, setup, [outcome]))
    run_folder.write_outcome(folder, outcome)
    with private_file(folder / "predictions.npy", exist_ok=True) as file:
        np.save(file, predictions, allow_pickle=False)
    run_folder.write_result(folder, record)
    print(f"result: {folder}/result.json", flush=True)
    return RunResult(record, folder, graph_or_reason(setup, outcome))


def _prepare(config: Mapping[str, Any], public: PublicFile, collection: str) -> Setup:
    """Return the set-up of a deployment: what :func:`ldpsim.strategies.runs.prepare.prepare` makes, without people.

    Whoever reaches the server writes the collection's id: the queries check it before a folder has its name.
    """
    from ldpsim.strategies.setup.fingerprint import config_hash
    from ldpsim.strategies.setup.run_setup import DeployedPeople, RepeatPlan, Setup
    from ldpsim.strategies.setup.training_checks import check_gnn

    seeds = Seeds.derive(_seed(config), noise=None)  # the devices have secrets of their own
    settings, budget = _settings_of(config, public)
    check_gnn(settings, public.facts)
    split = public.split(seeds.split)
    questions = _questions(settings.method, public, split, budget, collection)
    plan = RepeatPlan(seeds, split, frozenset(), questions, released=questions)
    people = DeployedPeople(PublicKnowledge(public.facts, split, public.labels), public.digest)
    digest = config_hash({"method": settings.method.spec.name, "facts": public.digest, "budget": asdict(budget),
                          "parameters": settings.parameters(), "seeds": seeds.to_dict()})  # fmt: skip
    options = replace(_options_of(config, public), save_reports=True)
    return Setup(options, people, budget, settings, digest, (plan,))
