"""Signing imports no code of other packages: a run's configuration may come from somebody else than the key's owner."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

FACTS = '{"facts": {"n": 8, "d": 16, "classes": 2}, "labels": LABELS}'
CODE = """
import pathlib, torch
from ldpsim.devices.mechanisms import GRR
pathlib.Path(PLACE, "imported").write_text("by the module itself")
class Net(torch.nn.Module): pass
class Mechanism(GRR): name = "spy_label"
"""
ENTRY_POINTS = """
[ldpsim.methods]
spymethod = spy:Method
hogss = spy:Method
[ldpsim.mechanisms]
spy_label = spy:Mechanism
[ldpsim.networks]
spynet = spy:Net
"""
# Commands of one real process, whose entry points nobody has read before: (exit code, error line, file of the spy).
SCRIPT = """
import json, pathlib, sys
from typer.testing import CliRunner
from ldpsim.cli.main import app
told = []
for words in json.loads(sys.argv[1]):
    done = CliRunner().invoke(app, ["curator", *words])
    told.append((done.exit_code, done.stderr, pathlib.Path("imported").exists()))
print(json.dumps(told))
"""
Sign = Callable[..., list[tuple[int, str, bool]]]


@pytest.fixture
def sign(tmp_path: Path) -> Sign:
    """Signs configurations, in a folder with an installed package of somebody else."""
    (tmp_path / "spy.py").write_text(CODE.replace("PLACE", repr(str(tmp_path))))
    information = tmp_path / "spy-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: spy\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(ENTRY_POINTS)
    for name, labels in (("facts.json", '{"0": 0, "1": 1}'), ("unlabelled.json", "{}")):
        (tmp_path / name).write_text(FACTS.replace("LABELS", labels))

    def signed(*configs: str, more: tuple[str, ...] = ()) -> list[tuple[int, str, bool]]:
        commands = [["keygen", "key"]]
        for number, config in enumerate(configs):
            (tmp_path / f"{number}.toml").write_text(config)
            commands.append(["sign", f"{number}.toml", "--curator-key", "key", *more])
        done = subprocess.run([sys.executable, "-c", SCRIPT, json.dumps(commands)], cwd=tmp_path, capture_output=True,
                              text=True, check=True)  # fmt: skip
        return [tuple(told) for told in json.loads(done.stdout.splitlines()[-1])[1:]]

    return signed


def test_no_name_of_a_configuration_is_imported_beside_the_key(sign: Sign) -> None:
    """A class, an installed name of each kind, and lists of all names in an error line."""
    accepted = (
        'gnn = "spy:Net"',
        'gnn = "spynet"',
        'facts = "unlabelled.json"\neps-labels = 1.0',  # a label mechanism of our own is looked for among all
    )
    refused = {
        'method = "spymethod"': "spymethod is code of another package",
        'method = "spymethode"': "unknown method 'spymethode'; did you mean spymethod",
        'facts = "unlabelled.json"\neps-labels = 1.0\nlabel-mechanism = "spy_label"': "spy_label is code of another",
        'facts = "unlabelled.json"\neps-labels = 1.0\nlabel-mechanism = "grrr"': "must be grr, or a mechanism about",
        'method = "vote"\nepsilon = 4.0\nfeature-share = 0.5': "it takes no --feature-share",
        'gnn = "spy_net"': "must be one of gcn, sage, gat, or a class",
    }
    told = sign(*accepted, *refused)
    for config, (code, line, imported) in zip((*accepted, *refused), told, strict=True):
        says = refused.get(config)
        assert code == (0 if says is None else 2) and not imported, (config, line)
        assert line.count("\n") == 1 and (says or "signed by") in line, config


def test_the_owner_of_the_key_may_allow_an_installed_package(sign: Sign) -> None:
    """Power: the file is written where the package is imported."""
    config = 'facts = "unlabelled.json"\neps-labels = 1.0\nlabel-mechanism = "spy_label"'
    ((code, line, imported),) = sign(config, more=("--import-packages",))
    assert imported and code == 0, line
