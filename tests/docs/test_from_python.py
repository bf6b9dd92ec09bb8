"""Pages about Python and trackers: their examples run, and what they list exists."""

from __future__ import annotations

import doctest
import re
import tomllib
from pathlib import Path

import pytest

from devices import NO_TELEMETRY
from docs.rooms import ROOT
from strategies.outputs.graph_files import FORMS
from strategies.tracking.targets import TRACKERS

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("from-python", "tracking")}


def test_the_examples_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGES["from-python"].replace("```", "")
    test = doctest.DocTestParser().get_doctest(text, {}, "from-python", "docs/from-python.md", 0)
    assert len(test.examples) > 20
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL).run(test, out=said.append)
    assert not said, "".join(said)


def test_the_pages_name_every_tracker_form_and_variable() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in TRACKERS:
        assert f"pip install 'ldpsim[{name}]'" in PAGES["tracking"] and name in extras
    for form in FORMS:
        assert f"`{form}`" in PAGES["from-python"]
    ours = {f"{name}={value}" for name, value in NO_TELEMETRY.items() if re.match("MLFLOW|WANDB", name)}
    assert len(ours) == 2 and all(f"`{entry}`" in PAGES["tracking"] for entry in ours)
