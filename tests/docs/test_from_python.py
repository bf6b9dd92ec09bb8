"""Pages about Python and trackers: what they list exists. ``test_pages_examples.py`` runs their examples."""

from __future__ import annotations

import re
import tomllib

from docs.layers import ROOT
from ldpsim.devices import NO_TELEMETRY
from ldpsim.strategies.outputs.graph import FORMS
from ldpsim.strategies.tracking.clients import TRACKERS

PAGES = {name: (ROOT / "docs" / f"{name}.md").read_text() for name in ("from-python", "tracking")}


def test_the_pages_name_every_tracker_form_and_variable() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name in TRACKERS:
        assert f"pip install 'ldpsim[{name}]'" in PAGES["tracking"] and name in extras
    for form in FORMS:
        assert f"`{form}`" in PAGES["from-python"]
    ours = {f"{name}={value}" for name, value in NO_TELEMETRY.items() if re.match("MLFLOW|WANDB", name)}
    assert len(ours) == 2 and all(f"`{entry}`" in PAGES["tracking"] for entry in ours)
