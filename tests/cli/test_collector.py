from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import Result
from typer.testing import CliRunner

from ldpsim.cli.main import app
from ldpsim.devices.collector import CollectorKey, SignedTerms, read_public
from ldpsim.devices.policy.terms import collection_of
from ldpsim.strategies.flower_app.alone import default_config


def ldpsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_key_is_made_once(tmp_path: Path) -> None:
    made = ldpsim("collector", "keygen", tmp_path / "key")
    assert made.exit_code == 0
    assert made.stdout.strip() == CollectorKey.load(tmp_path / "key").public == read_public(tmp_path / "key.pub")
    again = ldpsim("collector", "keygen", tmp_path / "key")
    assert again.exit_code == 2 and again.stderr.count("\n") == 1 and "exists already" in again.stderr


def test_the_flower_app_is_written_whole_and_once(tmp_path: Path) -> None:
    """A wheel has no pyproject.toml: the command writes the folder that `flwr run` takes."""
    made = ldpsim("collector", "app", tmp_path / "app")
    assert made.exit_code == 0 and made.stdout.strip() == str(tmp_path / "app")
    project = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text())
    app = project["tool"]["flwr"]["app"]
    assert app["config"] == default_config()
    for component in app["components"].values():
        assert (tmp_path / "app" / (component.partition(":")[0].replace(".", "/") + ".py")).is_file()
    assert (tmp_path / "app" / "ldpsim" / "curator" / "tuned" / "hogs.toml").is_file()
    assert not (tmp_path / "app" / "ldpsim" / "cli").exists()
    again = ldpsim("collector", "app", tmp_path / "app")
    assert again.exit_code == 2 and "exists already" in again.stderr and again.stderr.count("\n") == 1


def test_terms_are_signed_where_the_key_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed configuration has the facts and the signed terms as text, and no secret."""
    monkeypatch.chdir(tmp_path)
    ldpsim("collector", "keygen", "key")
    Path("facts.json").write_text('{"facts": {"n": 4, "d": 16, "classes": 2}, "labels": {"0": 0, "1": 1}}\n')
    Path("run.toml").write_text('method = "hogs"\nepsilon = 8.0\nfacts = "facts.json"\nminimum-nodes = 2\n')
    shown = ldpsim("collector", "sign", "run.toml", "--collector-key", "key", "--collection", "one")
    assert shown.exit_code == 0 and shown.stderr.startswith("collection one: signed by ")
    config = tomllib.loads(shown.stdout)
    assert (
        set(config) == {"method", "epsilon", "facts", "minimum-nodes", "collection", "terms"} <= set(default_config())
    )
    key, terms = CollectorKey.load(Path("key")), SignedTerms.from_text(config["terms"])
    assert terms.is_signed_by(key.public) and collection_of(terms.terms) == "one"
    assert json.loads(config["facts"])["facts"]["n"] == 4
    assert key.seed.hex() not in shown.stdout and "PRIVATE" not in shown.stdout
    fresh = [ldpsim("collector", "sign", "run.toml", "--collector-key", "key").stdout for _ in range(2)]
    assert len({tomllib.loads(text)["collection"] for text in fresh}) == 2
