from __future__ import annotations

import re
from pathlib import Path

from ldpsim.cli.report.plan_page import render_plan, write_plan_page
from ldpsim.strategies.estimate.graph_facts import GraphFacts
from ldpsim.strategies.planning.plan import RULE, Wishes
from ldpsim.strategies.setup.options import RunOptions
from tests.strategies.planning.on_paper import plan_on_paper


def test_the_page_is_one_file_without_a_script_and_has_every_row(tmp_path: Path) -> None:
    made = plan_on_paper(["hogs", "vote", "pate-m"], RunOptions(), GraphFacts(40_000), Wishes(holds=4.0))
    write_plan_page(tmp_path / "plan.html", made)
    text = (tmp_path / "plan.html").read_text()
    assert "<script" not in text and "default-src" in text
    assert not re.search(r"""(src|href)=["'](?!data:)""", text)
    said = " ".join(text.replace("\u00a0", " ").replace("&#39;", "'").split())
    for row in made.rows:
        assert row.command in said and f"Asks {row.asks}" in said
    assert said.count('<span class="badge">choice</span>') == 1 and f"In this order: {RULE}." in said
    assert "<small>(central)</small>" in said and "Its worth is not measured" in said


def test_a_page_without_a_choice_says_why() -> None:
    made = plan_on_paper(["hogs"], RunOptions(), GraphFacts(40_000), Wishes(max_bytes=1))
    text = render_plan(made)
    assert "<strong>No choice:</strong> none, because no method meets every wish" in text
    assert "More than 1 bytes a device" in text and "badge" not in text.partition("<main>")[2]
