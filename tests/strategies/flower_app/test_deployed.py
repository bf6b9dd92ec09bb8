"""Whole runs inside Flower, on a Grid of our own: what the curator does, and what it refuses to do."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from flwr.app import Context, Message, RecordDict
from rich.console import Console

from ldpsim.cli.report.gather import checked
from ldpsim.cli.summary import first_screen
from ldpsim.curator.learning.training import TrainingSettings
from ldpsim.curator.methods import find
from ldpsim.devices.curator_key import CuratorKey, SignedTerms, generate
from ldpsim.devices.data.population import Population
from ldpsim.devices.enrolment.state import State, enrol
from ldpsim.devices.mechanisms import ClearFeatures
from ldpsim.devices.prediction import DeviceModel
from ldpsim.devices.query import Query
from ldpsim.strategies import Refused, simulate
from ldpsim.strategies.engines.grids import LocalGrid
from ldpsim.strategies.flower_app import simulation
from ldpsim.strategies.flower_app.deployed import (
    PublicFile,
    agreed_policy,
    questions_of,
    results_folder,
    signed_config,
)
from ldpsim.strategies.flower_app.simulation import run_on_grid
from ldpsim.strategies.results.folder import read_result
from ldpsim.strategies.setup.options import RunOptions

Enrolled = Callable[..., State]


def context(**config: object) -> Context:
    return Context(1, 0, {}, RecordDict(), {key.replace("_", "-"): value for key, value in config.items()})  # type: ignore[misc]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LDPSIM_HOME", str(tmp_path))


def test_public_facts_are_enough(tmp_path: Path, enrolled: Enrolled, facts: Path) -> None:
    state = enrolled()
    settings = {"facts": facts.read_text(), "epsilon": 8.0, "collection": "mine"}
    result = run_on_grid(LocalGrid(state.folder, 40), context(**settings))
    folder = tmp_path / "flwr" / "hogs-mine"
    record = json.loads((folder / "result.json").read_text())
    assert result.folder == folder and result.record["devices"] == record["devices"]
    assert len(result.graph) == 40 and result.graph.about["edges"] == "reconstructed"
    assert record["devices"]["reported"] == 40
    assert record["privacy"]["holds"]["bit_adjacency"]["value"] == pytest.approx(7.2)
    predictions = np.load(folder / "predictions.npy", allow_pickle=False)
    assert predictions.shape == (40,) and predictions.max() < state.policy.facts.classes
    assert DeviceModel.read((folder / "device-model.json").read_text()).people == 40
    # the same collection again gives the stored bytes; another is refused
    run_on_grid(LocalGrid(state.folder, 40), context(**settings))
    again = json.loads((folder / "result.json").read_text())
    assert again["devices"]["replayed"] == 40
    assert again["devices"]["reports_sha256"] == record["devices"]["reports_sha256"]
    with pytest.raises(Refused, match="REPORT_COLLECTED"):
        run_on_grid(LocalGrid(state.folder, 40), context(**{**settings, "collection": "another"}))
    assert not (tmp_path / "flwr" / "hogs-another").exists()


def test_a_deployment_writes_the_record_of_a_run_without_what_it_cannot_know(tmp_path: Path, facts: Path) -> None:
    """The same devices give the same reports, losses and network as in a simulation; nothing there is a truth."""
    options = RunOptions(clients=40, epsilon=8.0, state=tmp_path / "state", out=None, settings={"epochs": "3"},
                         on_requery="replay", nulls=False, groups=False, reference=False)  # fmt: skip
    run = simulate(options).record
    settings = {"facts": facts.read_text(), "epsilon": 8.0, "settings": "epochs=3", "collection": "mine"}
    run_on_grid(LocalGrid(tmp_path / "state", 40), context(**settings))
    folder = tmp_path / "flwr" / "hogs-mine"
    record = read_result(folder / "result.json")
    assert record.keys() - run.keys() == {"deployment"} and run.keys() - record.keys() == {"groups"}
    for part in run.keys() & record.keys():
        if isinstance(run[part], dict):
            assert run[part].keys() == record[part].keys(), part
    assert record["devices"]["replayed"] == 40 and record["engine"] == "flower"
    assert record["devices"]["reports_sha256"] == run["devices"]["reports_sha256"]
    assert (
        record["privacy"]["claimed"] == run["privacy"]["claimed"]
        and record["privacy"]["holds"] == run["privacy"]["holds"]
    )
    accuracy = dict(record["accuracy"])
    assert accuracy.pop("val") is not None and accuracy.pop("per_repeat") == [None]
    unknown = [*accuracy.values(), *record["reference"].values(), *record["reconstruction"].values(),
               record["nulls"], record["verdict"], record["seeds"]["noise"],
               *(record["dataset"][name] for name in ("edges", "homophily")),
               *(record["config"][name] for name in ("dataset", "split", "clients"))]  # fmt: skip
    assert not any(value is not None for value in unknown)
    assert not record["simulation_seeded"] and record["privacy"]["lifetime_per_device"]["complete"] is False
    files = {path.name for path in folder.iterdir()}
    assert files >= {"model.safetensors", "device-model.json", "reports", "predictions.npy"}
    screen = Console(width=80)
    with screen.capture() as shown:
        screen.print(first_screen(record, folder=folder))
    assert "Simulated" not in shown.get() and "epsilon = 8" in shown.get()
    with pytest.raises(ValueError, match="a result of a deployment, whose accuracy nobody knows"):
        checked(record)


def test_the_id_of_a_collection_names_no_other_folder(tmp_path: Path, enrolled: Enrolled, facts: Path) -> None:
    """Whoever reaches the server writes it: it is checked before anything is read or written there."""
    (tmp_path / "flwr" / "hogs-..").mkdir(parents=True)
    with pytest.raises(ValueError, match="the collection id is malformed"):
        run_on_grid(LocalGrid(enrolled().folder, 40), context(facts=facts.read_text(), collection="../../elsewhere"))
    assert not (tmp_path / "elsewhere").exists() and not list(tmp_path.glob("flwr/*/*"))


class Impersonated(LocalGrid):
    """Node 900 claims the number of device 2, and has a device of its own that would answer."""

    def get_node_ids(self) -> Iterable[int]:
        return [*super().get_node_ids(), 900]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        for message in list(messages):
            node = message.metadata.dst_node_id
            message.metadata.dst_node_id = 3 if node == 900 else node
            for reply in super().send_and_receive([message], timeout=timeout):
                reply.metadata.__dict__["_src_node_id"] = node
                yield reply


@pytest.mark.parametrize("bound", [False, True])
def test_a_node_that_claims_the_number_of_somebody_else(
    tmp_path: Path, enrolled: Enrolled, facts: Path, capsys: pytest.CaptureFixture[str], bound: bool
) -> None:
    """Neither counts and both are named; where the facts name each person's node, that one counts."""
    state = enrolled()
    grid = Impersonated(state.folder, 40)
    if bound:
        nodes = {str(device): str(device + 1) for device in range(40)}
        facts.write_text(json.dumps({**json.loads(facts.read_text()), "nodes": nodes}))
    run_on_grid(grid, context(facts=facts.read_text(), epsilon=8.0, collection="mine"))
    record = json.loads((tmp_path / "flwr" / "hogs-mine" / "result.json").read_text())
    assert record["devices"]["reported"] == 39 + bound and record["devices"]["silent"] == 1 - bound
    assert record["deployment"]["refused_claims"] == {"2": ["900"] if bound else ["3", "900"]}
    claimed = "node 900" if bound else "node 3, node 900"
    assert f"number 2 is claimed by {claimed}: no such claim counts" in capsys.readouterr().out
    assert len(state.ledger(2).answers(2)) == bound


def test_devices_that_pin_their_curator(tmp_path: Path, enrolled: Enrolled, facts: Path, key: CuratorKey) -> None:
    """A stranger's run, and one with the curator's terms and another question, spend nothing."""
    text = facts.read_text()
    state = enrolled(collector=key.public)
    own = {"epsilon": 8.0, "collection": "mine"}
    signed = signed_config(own, text, key)
    strangers = [
        {**own, "facts": text},
        {**signed, "epsilon": 0.01}, {**signed, "epsilon": 7.9}, {**signed, "method": "fp-ldpgen"},
        {**signed, "method": "vote"}, {**signed, "collection": "another"}, {**signed, "reporting": "one-end"},
    ]  # fmt: skip
    for config in strangers:
        with pytest.raises(Refused, match=r"none of (\d+) devices reported \(COLLECTOR_REFUSED \1\)"):
            run_on_grid(LocalGrid(state.folder, 40), context(**config))
    assert not any(state.ledger(device).answers(device) for device in range(40))
    assert "key" not in signed and key.seed.hex() not in json.dumps(signed)
    del signed["collection"]  # the terms have it
    for counted in ("reported", "replayed"):  # whoever has the terms gets what they allow, once
        run_on_grid(LocalGrid(state.folder, 40), context(**signed))
        (path,) = tmp_path.glob("flwr/signed-*/hogs-mine/result.json")
        assert json.loads(path.read_text())["devices"][counted] == 40
    with pytest.raises(Refused, match="REPORT_COLLECTED 40"):
        run_on_grid(LocalGrid(state.folder, 40), context(**signed_config({**own, "collection": "two"}, text, key)))
    with pytest.raises(ValueError, match="terms are not signed terms"):
        run_on_grid(LocalGrid(state.folder, 40), context(**{**signed, "terms": str(tmp_path / "key")}))


@pytest.mark.parametrize(("method", "few"), [("hogs", False), ("fp-ldpgen", False), ("vote", False), ("vote", True)])
def test_every_question_of_a_collection_is_inside_its_terms(
    tmp_path: Path, population: Population, facts: Path, volunteers: Path, key: CuratorKey, method: str, few: bool
) -> None:
    """Also those that earlier answers make: tables, models and groups."""
    text = (volunteers if few else facts).read_text()
    if few:
        text = json.dumps({**json.loads(text), "labelled": list(range(12, 19))})
    config = {"method": method, "epsilon": 4.0, "seed": 3, "settings": "batches=3" if method == "vote" else ""}
    policy = replace(agreed_policy(config, PublicFile.read(text)), collector=key.public)
    state = enrol(tmp_path / "state", population, policy, seed=5)
    run_on_grid(LocalGrid(state.folder, 40), context(**signed_config(config, text, key)))
    (path,) = tmp_path.glob("flwr/*/*/result.json")
    assert json.loads(path.read_text())["devices"]["reported"] == 40


def test_a_stranger_s_run_of_the_same_name_writes_elsewhere(
    tmp_path: Path, enrolled: Enrolled, facts: Path, key: CuratorKey
) -> None:
    """Else a stranger would leave a table there, and the curator's next run would send it with the terms."""
    text = facts.read_text()
    own = {"method": "vote", "epsilon": 4.0, "collection": "mine"}
    state = enrolled(collector=key.public)
    with pytest.raises(Refused):
        run_on_grid(LocalGrid(state.folder, 40), context(**own, facts=text))
    terms = SignedTerms.from_text(signed_config(own, text, key)["terms"])
    assert len(list((tmp_path / "flwr" / "vote-mine").glob("round-mine-*-0.json"))) == 1
    assert results_folder(terms).parent == tmp_path / "flwr" and not results_folder(terms).exists()


@pytest.mark.parametrize("stranger", ["zeros", "own key", "other facts", "no server key"])
def test_a_stranger_who_knows_the_terms_makes_no_group_of_a_staged_question(
    tmp_path: Path, population: Population, facts: Path, key: CuratorKey, monkeypatch: pytest.MonkeyPatch, stranger: str
) -> None:
    """Nodes of his own would answer the first stage, and the curator's collection would take over the groups."""
    config = {"method": "fp-ldpgen", "epsilon": 8.0, "collection": "mine"}
    nodes = {str(device): str(device + 1) for device in range(40)}
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "nodes": nodes}))
    text = facts.read_text()
    signed = signed_config(config, text, key)
    terms = SignedTerms.from_text(signed["terms"])
    asked = {"collection": "mine", "facts": signed["facts"], "terms": signed["terms"], "method": "fp-ldpgen"}
    hostile, says = {**asked, "epsilon": 8.0}, "did not sign them"
    if stranger == "zeros":
        hostile["terms"] = SignedTerms(bytes(64), terms.terms).to_text()
    elif stranger == "own key":
        generate(tmp_path / "other")
        hostile["terms"] = CuratorKey.load(tmp_path / "other").sign(terms.terms).to_text()
    elif stranger == "other facts":
        hostile["facts"] = json.dumps({name: value for name, value in json.loads(text).items() if name != "nodes"})
        says = "signed for other facts"
    else:
        monkeypatch.delenv("LDPSIM_CURATOR_KEY")
        says = "names no public key of a curator"
    policy = agreed_policy(config, PublicFile.read(text))
    theirs = enrol(tmp_path / "theirs", population, policy, seed=9)
    with pytest.raises(ValueError, match=says) as caught:
        run_on_grid(LocalGrid(theirs.folder, 40), context(**hostile))
    assert "\n" not in str(caught.value)
    assert not any(tmp_path.glob("flwr/**/round-*")) and not theirs.ledger(0).answers(0)
    monkeypatch.setenv("LDPSIM_CURATOR_KEY", str(tmp_path / "key.pub"))
    state = enrol(tmp_path / "state", population, replace(policy, collector=key.public), seed=5)
    run_on_grid(LocalGrid(state.folder, 40), context(**signed))
    (path,) = tmp_path.glob("flwr/signed-*/fp-ldpgen-mine/round-mine-*-1.json")
    again = enrol(tmp_path / "again", population, replace(policy, collector=key.public), seed=5)
    monkeypatch.setenv("LDPSIM_HOME", str(tmp_path / "alone"))
    run_on_grid(LocalGrid(again.folder, 40), context(**signed))
    (alone,) = tmp_path.glob("alone/flwr/signed-*/fp-ldpgen-mine/round-mine-*-1.json")
    assert (
        path.read_text() == alone.read_text()
        and len(set(json.loads(json.loads(path.read_text())[0][0])["grouping"])) > 1
    )


def test_a_folder_is_named_by_terms_and_signature(tmp_path: Path, facts: Path, key: CuratorKey) -> None:
    """Also where a server did not check it, nobody without the signature writes where the collection looks."""
    config = {"epsilon": 8.0, "collection": "mine"}
    terms, again = (SignedTerms.from_text(signed_config(config, facts.read_text(), key)["terms"]) for _ in range(2))
    spaced = json.dumps(json.loads(facts.read_text()), indent=3)  # the same facts in another form
    other_form = SignedTerms.from_text(signed_config(config, spaced, key)["terms"])
    assert results_folder(terms) == results_folder(again) == results_folder(other_form)
    unsigned = SignedTerms(bytes(64), terms.terms)
    assert len({results_folder(each) for each in (terms, unsigned, None)}) == 3


@pytest.fixture(scope="module")
def opened() -> list[str]:
    """All files that this process opens, from now on."""
    found: list[str] = []
    sys.addaudithook(lambda event, told: found.append(str(told[0])) if event == "open" else None)
    return found


@pytest.mark.parametrize("name", ["facts", "terms", "dataset", "settings", "collection", "method", "split", "gnn"])
def test_no_path_in_a_configuration_is_opened(
    tmp_path: Path, enrolled: Enrolled, facts: Path, opened: list[str], name: str
) -> None:
    """Nor are the keys read that once named a file."""
    state, text, named = enrolled(), facts.read_text(), tmp_path / "named.npz"
    named.write_text("{}")
    assert opened[-1] == str(named)
    opened.clear()
    old = dict.fromkeys(("job", "state-dir", "data-dir", "out", "collector-key"), str(named))
    config = {**old, **({} if name == "dataset" else {"facts": text}), "epsilon": 8.0, name: str(named)}
    with pytest.raises((ValueError, Refused)):
        run_on_grid(LocalGrid(state.folder, 40), context(**config))
    assert not any(str(named) in path for path in opened)


def test_a_curator_enrols_nobody_who_lives_elsewhere(
    tmp_path: Path, enrolled: Enrolled, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = enrolled()
    for folder in ("", str(tmp_path / "empty")):
        monkeypatch.setenv("LDPSIM_STATE", folder)
        with pytest.raises(ValueError, match="a curator does not enrol"):
            run_on_grid(LocalGrid(state.folder, 40), context())
    assert not (tmp_path / "empty").exists() and not (tmp_path / "flwr").exists()


@pytest.mark.parametrize(
    ("key", "value"), [*(("friends-tell", kind) for kind in ("guess", "features", "label")), ("friends-share", 0.5)]
)
def test_what_friends_tell_is_refused_in_a_deployment(
    tmp_path: Path, enrolled: Enrolled, facts: Path, key: str, value: str | float
) -> None:
    """In one line, before a node is asked; without the key nobody tells, and the record says nothing of it."""
    settings = {"facts": facts.read_text(), key: value}
    with pytest.raises(ValueError, match=f"--{key} {value}: simulated only") as caught:
        run_on_grid(LocalGrid(enrolled().folder, 40), context(**settings))
    assert "\n" not in str(caught.value) and not (tmp_path / "flwr").exists()


@pytest.mark.parametrize("method", ["dp-fedavg", "ldp-fedavg", "fedgcn", "pate-m", "silo-fedgcn"])
def test_a_method_that_asks_for_no_report_is_refused(
    tmp_path: Path, enrolled: Enrolled, facts: Path, method: str
) -> None:
    settings = {"facts": facts.read_text(), "method": method}
    says = rf"--method {method}: .* one report"
    with pytest.raises(ValueError, match=says):
        run_on_grid(LocalGrid(enrolled().folder, 40), context(**settings))
    assert not (tmp_path / "flwr").exists()
    with pytest.raises(ValueError, match=says):  # nor does a device get a policy that allows nothing
        agreed_policy({"method": method}, PublicFile.load(facts))


def test_a_network_that_cannot_be_made_is_found_before_anybody_is_asked(enrolled: Enrolled, facts: Path) -> None:
    state = enrolled()
    with pytest.raises(ValueError, match="there is no module nowhere"):
        run_on_grid(LocalGrid(state.folder, 40), context(facts=facts.read_text(), epsilon=8.0, gnn="nowhere:Net"))
    assert not any(state.ledger(device).answers(device) for device in range(40))


@pytest.mark.parametrize("method", ["hogs", "solitude"])
def test_the_network_is_trained_with_the_method_s_own_settings(
    tmp_path: Path, population: Population, facts: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    """As in a simulation; what the configuration sets comes before them."""
    config = {"method": method, "epsilon": 8.0, "settings": "epochs=7"}
    state = enrol(tmp_path / "state", population, agreed_policy(config, PublicFile.load(facts)), seed=5)
    used: list[TrainingSettings] = []
    kind = find(method)
    train = kind.train  # type: ignore[attr-defined]

    def watched(self: object, graph: object, *, settings: TrainingSettings, **more: object) -> object:
        used.append(settings)
        return train(self, graph, settings=settings, **more)

    monkeypatch.setattr(kind, "train", watched)
    run_on_grid(LocalGrid(state.folder, 40), context(**config, facts=facts.read_text()))
    own = {"gnn": kind.spec.default_gnn, **kind.spec.training_defaults}
    assert used == [TrainingSettings(**{**own, "epochs": 7})] and own["weight_decay"] != TrainingSettings().weight_decay


VOLUNTEERS = (0, 2, 5, 6, 9, 11, 20, 31, 33)
VOTE = {"method": "vote", "epsilon": 4.0}


@pytest.fixture
def volunteers(tmp_path: Path, population: Population) -> Path:
    path = tmp_path / "volunteers.json"
    path.write_text(json.dumps({"facts": population.facts.to_dict(), "volunteers": VOLUNTEERS[::-1]}))
    return path


def test_a_range_in_whole_numbers_is_asked_as_any_other(population: Population) -> None:
    """Devices compare types: a volunteer would answer UNKNOWN_QUERY."""
    values = {**population.facts.to_dict(), "feature_low": 0, "feature_high": 1}
    public = PublicFile.read(json.dumps({"facts": values, "volunteers": VOLUNTEERS}))
    question, *_ = questions_of(VOTE, public)
    read = Query.from_bytes(question.query.to_bytes())
    assert read == question.query and read.asks[0].mechanisms == (ClearFeatures(population.facts.d, 0.0, 1.0),)


def test_another_user_reads_nothing_that_a_deployment_writes(
    tmp_path: Path, population: Population, volunteers: Path
) -> None:
    """Whatever the umask is: the reports of volunteers are their records."""
    public = PublicFile.load(volunteers)
    state = enrol(tmp_path / "state", population, agreed_policy(VOTE, public), seed=5)
    settings = {**VOTE, "facts": volunteers.read_text(), "settings": "batches=2", "collection": "mine"}
    before = os.umask(0)
    try:
        run_on_grid(LocalGrid(state.folder, 40), context(**settings))
    finally:
        os.umask(before)
    folder = tmp_path / "flwr" / "vote-mine"
    below = list(folder.rglob("*"))
    names = {path.name for path in below}
    assert names >= {"reports.json", "features_data.npy", "labels.npy", "predictions.npy", "part-0", "result.json"}
    assert {path.name for path in (folder, *below) if path.stat().st_mode & 0o077} == set()


def test_volunteers_are_asked_in_clear_and_everybody_else_votes(
    tmp_path: Path, population: Population, volunteers: Path
) -> None:
    policy = agreed_policy(VOTE, PublicFile.load(volunteers))
    assert policy.volunteers == set(VOLUNTEERS)
    assert {cap.vector for cap in policy.caps.values()} == {4.0}  # what is given in clear raises nobody's cap
    state = enrol(tmp_path / "state", population, policy, seed=5)
    settings = {**VOTE, "facts": volunteers.read_text(), "settings": "batches=2"}
    run_on_grid(LocalGrid(state.folder, 40), context(**settings, collection="mine"))
    folder = tmp_path / "flwr" / "vote-mine"
    record = json.loads((folder / "result.json").read_text())
    assert record["devices"]["asked"] == record["devices"]["reported"] == 40
    holds = record["privacy"]["holds"]
    assert holds["user"]["value"] == pytest.approx(4.0) and holds["user"]["not_counted"] == ["volunteers"]
    assert record["accuracy"]["val"] is not None
    for device in range(40):
        rows = state.ledger(device).answers(device)
        given = [part.attribute for row in rows for part in row.parts]
        assert sorted(given) == (["features", "label"] if device in VOLUNTEERS else ["adjacency", "features"])
    with pytest.raises(Refused, match="REPORT_COLLECTED 9"):
        run_on_grid(LocalGrid(state.folder, 40), context(**settings, collection="another"))


class Told:
    """What a run does with nodes that say these things of themselves: (device, whether its state is its own)."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, known: dict[int, tuple[int, bool]], connected: int) -> None:
        self.expected: list[int] = []
        self.simulated: list[tuple[Path, int]] = []
        self.deployed: list[object] = []

        def wait(grid: object, expected: int) -> list[int]:
            self.expected.append(expected)
            return list(range(connected))

        monkeypatch.setattr(simulation, "wait_for_nodes", wait)
        monkeypatch.setattr(simulation, "introduce", lambda grid, nodes, timeout: known)
        monkeypatch.setattr(
            simulation,
            "_simulate",
            lambda config, state, enrolled, nodes, collect: self.simulated.append((state, nodes)),
        )
        monkeypatch.setattr(simulation, "run_deployed", lambda config, public, terms, *_: self.deployed.append(terms))

    def run(self, **config: str | int) -> None:
        simulation.run_on_grid(None, SimpleNamespace(run_config=config, run_id=7))  # type: ignore[arg-type]


@pytest.mark.parametrize("own", [(True, True), (True, False), (False, True)])
def test_devices_of_nodes_are_not_enrolled_again(monkeypatch: pytest.MonkeyPatch, own: tuple[bool, bool]) -> None:
    """Also where one node alone has devices: a curator who enrols them would hold their secrets."""
    told = Told(monkeypatch, {1: (0, own[0]), 2: (1, own[1])}, connected=2)
    with pytest.raises(ValueError, match="have devices of their own, which a curator does not enrol"):
        told.run()
    assert not told.simulated and not told.deployed


def test_nodes_that_say_nothing_are_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Told(monkeypatch, {}, connected=2)
    with pytest.raises(ValueError, match="none of 2 nodes says which device it is"):
        told.run()
    assert not told.simulated


@pytest.mark.parametrize(("dataset", "everybody"), [("", 300), ("cora", 2708)])
def test_too_few_nodes_are_told_the_option_to_give(
    monkeypatch: pytest.MonkeyPatch, dataset: str, everybody: int
) -> None:
    """Flower's own default is two nodes."""
    monkeypatch.setattr(simulation, "wait_for_nodes", lambda grid, expected: [5, 6])
    monkeypatch.setattr(simulation, "introduce", lambda grid, nodes, timeout: {node: (node, False) for node in nodes})
    context = SimpleNamespace(run_config={"dataset": dataset}, run_id=7)
    with pytest.raises(ValueError, match="2 SuperNodes are 2 people, too few") as caught:
        simulation.run_on_grid(None, context)  # type: ignore[arg-type]
    assert f'--federation-config "num-supernodes={everybody} client-resources-num-cpus=1"' in str(caught.value)
