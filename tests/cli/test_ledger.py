"""``ldpsim ledger`` and ``ldpsim curator``: what was released, and keys and terms of a curator."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.ledger import states_in
from ldpsim.cli.main import app
from ldpsim.devices.curator_key import CuratorKey, SignedTerms, read_public
from ldpsim.devices.data.population import build_population
from ldpsim.devices.enrolment.state import enrol
from ldpsim.devices.mechanisms import AnalyticGaussian, OneBit, RandomizedResponse
from ldpsim.devices.policy.policy import policy_for
from ldpsim.devices.policy.terms import collection_of
from ldpsim.devices.query import Ask, Query
from ldpsim.devices.report import Report
from ldpsim.strategies.flower_app.simulation import default_config

Listing = Callable[[Path], dict[str, str]]
N, D = 12, 5


def show(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["ledger", "show", *map(str, arguments)])


def error_line(*arguments: object) -> str:
    shown = show(*arguments)
    assert (shown.exit_code, shown.stdout) == (2, ""), shown.output
    assert len(shown.stderr.splitlines()) == 1
    return shown.stderr


def question(collection: str) -> Query:
    row = RandomizedResponse.from_epsilon(2.0, n=N, reporting="both")
    bits = OneBit.from_epsilon(0.5, d=D)
    return Query(collection, ((Ask("adjacency", (row,)), Ask("features", (bits,))),))


def make(folder: Path, query: Query | None = None, *, silent: int = 2, residents: Sequence[int] | None = None) -> None:
    """Enrol N devices, or some of them; all but the last ones answer the same question."""
    population = build_population(
        "tiny", n=N, d=D, edges=np.array([[0, 1, 2], [1, 2, 3]]), feature_indptr=np.arange(N + 1),
        feature_indices=np.arange(N) % D, feature_values=None, labels=np.arange(N) % 2, classes=2,
    )  # fmt: skip
    query = query or question("the-first")
    state = enrol(folder, population, policy_for([query], population.facts), seed=7, residents=residents)
    for index in state.residents[: len(state.residents) - silent]:
        assert isinstance(state.device(index).answer(query), Report)
    state.close()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    make(tmp_path / "run" / "state")
    return tmp_path / "run" / "state"


def test_summed_over_all_devices(state: Path, listing: Listing) -> None:
    before = listing(state)
    shown = show(state)
    assert shown.exit_code == 0
    text = " ".join(shown.stdout.split())
    for words in ("12 devices", "mode report", "asked again: refuse", "one_bit, randomized_response", "not private",
                  "the-first", "adjacency 2 22 22", "features 0.5 2.5 2.5",
                  "a list entry 2 1.6667",
                  "a person: all that a person reports 24.5 20.4167"):  # fmt: skip
        assert words in text, words
    assert all(len(line) <= 80 for line in shown.stdout.splitlines() if str(state) not in line)
    assert listing(state) == before


def test_a_loss_stands_with_its_delta_and_a_level_that_has_a_delta_alone_is_shown(tmp_path: Path) -> None:
    """At delta 0.05 one feature alone has epsilon 0: the noise covers it, except with that chance."""
    noise = AnalyticGaussian.from_epsilon(0.06, delta=0.05, d=D)
    make(tmp_path / "state", Query("the-first", ((Ask("features", (noise,)),),)))
    everybody, one = (" ".join(show(tmp_path / "state", *device).stdout.split()) for device in ((), ("--device", 3)))
    bit, whole, mean = "0 (δ 5e-2)", "0.06 (δ 5e-2)", "0.05 (δ 5e-2)"
    for text in (everybody, one):
        assert f"as a user's features {bit} {whole} {whole}" in text, text
        for level, figure in (("a feature", bit), ("all features", whole), ("all that a person reports", whole)):
            assert f"{level} {figure}" in text, text
    assert f"a feature {bit} {bit} all features {whole} {mean}" in everybody, everybody
    assert f"one entry {bit}, the whole {whole}, bytes" in one, one


def test_a_runs_folder_means_its_devices(state: Path) -> None:
    assert show(state.parent).stdout == show(state).stdout
    make(state.parent / "state-1")
    assert [s.folder.name for s in states_in(state.parent)] == ["state", "state-1"]


def test_as_json(state: Path) -> None:
    (whole,) = json.loads(show(state, "--json").stdout)["states"]
    assert whole["devices"] == N
    assert whole["simulation_seeded"] is True
    assert whole["policy"]["caps"]["adjacency"]["bit"] == 2.0
    assert [(r["attribute"], r["collection"], r["devices"]) for r in whole["releases"]] == [
        ("adjacency", "the-first", N - 2), ("features", "the-first", N - 2),
    ]  # fmt: skip
    assert whole["lifetime_per_device"]["user"] == {"max": 24.5, "mean": pytest.approx(24.5 * (N - 2) / N, abs=1e-6)}
    (one,) = json.loads(show(state, "--device", 3, "--json").stdout)["states"]
    assert [(e["attribute"], e["loss_bit"], e["loss_vector"]) for e in one["entries"]] == [
        ("adjacency", 2.0, 22.0), ("features", 0.5, 2.5),
    ]  # fmt: skip
    assert one["lifetime_per_device"]["vector"]["max"] == 2.5
    assert "device 3 released" in show(state, "--device", 3).stdout
    assert "device 11: nothing" in show(state, "--device", 11).stdout


def test_those_who_live_in_a_folder_are_its_devices(tmp_path: Path) -> None:
    """A vault has the public facts of everybody and the devices of a few."""
    make(tmp_path / "vault", silent=1, residents=[3, 4, 8])
    (vault,) = json.loads(show(tmp_path / "vault", "--json").stdout)["states"]
    assert vault["devices"] == 3
    assert vault["lifetime_per_device"]["user"] == {"max": 24.5, "mean": pytest.approx(24.5 * 2 / 3, abs=1e-6)}
    assert "3 devices, mode report" in show(tmp_path / "vault").stdout
    assert "device 8: nothing" in show(tmp_path / "vault", "--device", 8).stdout
    assert "has 3 devices: 3 to 8" in error_line(tmp_path / "vault", "--device", 5)
    make(tmp_path / "one", silent=0, residents=[3])
    assert "1 device, mode report" in show(tmp_path / "one").stdout
    assert "has 1 device: 3" in error_line(tmp_path / "one", "--device", 0)


def test_mistakes(state: Path) -> None:
    assert "no such folder" in error_line(state / "ledger.sqlite")
    assert f"has {N} devices: 0 to {N - 1}" in error_line(state, "--device", N)
    assert "--device -1" in error_line(state, "--device", "-1")


@pytest.mark.parametrize("file", ["ledger.sqlite", "enrolment.json", "secrets.bin"])
@pytest.mark.parametrize("how", ["gone", "empty", "cut", "rubbish"])
def test_damage_is_told_and_not_touched(state: Path, file: str, how: str, listing: Listing) -> None:
    path = state / file
    data = path.read_bytes()
    if how == "gone":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "cut": data[: len(data) // 2], "rubbish": b"\x07rubbish" * 50}[how])
    before = listing(state.parent)
    line = error_line(state)
    assert str(state) in line or "enrolled" in line
    assert "damaged" in line or "missing" in line or "enrolled" in line
    assert listing(state.parent) == before


@pytest.mark.parametrize(
    "change", ["number = 1", "body = x'00'", "device = 11", "kind = 'update'", "collection = 'second'"]
)
def test_an_edited_row_is_found(state: Path, change: str) -> None:
    with sqlite3.connect(state / "ledger.sqlite") as db:
        db.execute(f"UPDATE answer SET {change} WHERE device = 3")
    db.close()
    line = error_line(state)
    assert "does not carry its seal" in line or "is missing" in line
    assert "LEDGER_DAMAGED" in line


def ldpsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_key_is_made_once(tmp_path: Path) -> None:
    made = ldpsim("curator", "keygen", tmp_path / "key")
    assert made.exit_code == 0
    assert made.stdout.strip() == CuratorKey.load(tmp_path / "key").public == read_public(tmp_path / "key.pub")
    again = ldpsim("curator", "keygen", tmp_path / "key")
    assert again.exit_code == 2 and again.stderr.count("\n") == 1 and "exists already" in again.stderr


def test_the_flower_app_is_written_whole_and_once(tmp_path: Path) -> None:
    """A wheel has no pyproject.toml: the command writes the folder that `flwr run` takes."""
    made = ldpsim("curator", "app", tmp_path / "app")
    assert made.exit_code == 0 and made.stdout.strip() == str(tmp_path / "app")
    project = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text())
    app = project["tool"]["flwr"]["app"]
    assert app["config"] == default_config()
    for component in app["components"].values():
        assert (tmp_path / "app" / (component.partition(":")[0].replace(".", "/") + ".py")).is_file()
    assert (tmp_path / "app" / "ldpsim" / "curator" / "tuned" / "hogs.toml").is_file()
    assert not (tmp_path / "app" / "ldpsim" / "cli").exists()
    again = ldpsim("curator", "app", tmp_path / "app")
    assert again.exit_code == 2 and "exists already" in again.stderr and again.stderr.count("\n") == 1


def test_terms_are_signed_where_the_key_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed configuration has the facts and the signed terms as text, and no secret."""
    monkeypatch.chdir(tmp_path)
    ldpsim("curator", "keygen", "key")
    Path("facts.json").write_text('{"facts": {"n": 4, "d": 16, "classes": 2}, "labels": {"0": 0, "1": 1}}\n')
    Path("run.toml").write_text('method = "hogs"\nepsilon = 8.0\nfacts = "facts.json"\nminimum-nodes = 2\n')
    shown = ldpsim("curator", "sign", "run.toml", "--curator-key", "key", "--collection", "one")
    assert shown.exit_code == 0 and shown.stderr.startswith("collection one: signed by ")
    config = tomllib.loads(shown.stdout)
    assert (
        set(config) == {"method", "epsilon", "facts", "minimum-nodes", "collection", "terms"} <= set(default_config())
    )
    key, terms = CuratorKey.load(Path("key")), SignedTerms.from_text(config["terms"])
    assert terms.is_signed_by(key.public) and collection_of(terms.terms) == "one"
    assert json.loads(config["facts"])["facts"]["n"] == 4
    assert key.seed.hex() not in shown.stdout and "PRIVATE" not in shown.stdout
    fresh = [ldpsim("curator", "sign", "run.toml", "--curator-key", "key").stdout for _ in range(2)]
    assert len({tomllib.loads(text)["collection"] for text in fresh}) == 2
