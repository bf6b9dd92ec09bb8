from __future__ import annotations

import tomllib
from pathlib import Path

from click.testing import Result
from typer.testing import CliRunner

from cli.main import app
from devices.collector import CollectorKey, read_public
from strategies.flower_app.alone import default_config


def ldpsim(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_key_is_made_once(tmp_path: Path) -> None:
    made = ldpsim("collector", "keygen", tmp_path / "key")
    assert made.exit_code == 0
    assert made.stdout.strip() == CollectorKey.load(tmp_path / "key").public == read_public(tmp_path / "key.pub")
    again = ldpsim("collector", "keygen", tmp_path / "key")
    assert again.exit_code == 2 and again.stderr.count("\n") == 1 and "exists already" in again.stderr


def test_a_bad_key_file_is_one_line_before_anybody_is_asked(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("nothing")
    (tmp_path / "key").chmod(0o600)
    ldpsim("collector", "keygen", tmp_path / "open")
    (tmp_path / "open").chmod(0o640)
    cases = {"none": "No such file", "key": "no secret key", "open": "other users can read it"}
    for name, says in cases.items():
        shown = ldpsim("run", "--clients", "60", "--out", tmp_path / "runs", "--state", tmp_path / "state",
                       "--collector-key", tmp_path / name)  # fmt: skip
        assert shown.exit_code == 2 and shown.stdout == "" and says in shown.stderr
        assert shown.stderr.count("\n") == 1
    assert not (tmp_path / "runs").exists() and not (tmp_path / "state").exists()


def test_the_flower_app_is_written_whole_and_once(tmp_path: Path) -> None:
    """A wheel has no pyproject.toml: the command writes the folder that `flwr run` takes."""
    made = ldpsim("collector", "app", tmp_path / "app")
    assert made.exit_code == 0 and made.stdout.strip() == str(tmp_path / "app")
    project = tomllib.loads((tmp_path / "app" / "pyproject.toml").read_text())
    app = project["tool"]["flwr"]["app"]
    assert app["config"] == default_config()
    for component in app["components"].values():
        assert (tmp_path / "app" / (component.partition(":")[0].replace(".", "/") + ".py")).is_file()
    assert (tmp_path / "app" / "curator" / "tuned" / "hogs.toml").is_file()
    assert not (tmp_path / "app" / "cli").exists()
    again = ldpsim("collector", "app", tmp_path / "app")
    assert again.exit_code == 2 and "exists already" in again.stderr and again.stderr.count("\n") == 1
