"""The text of a level has exactly the figures of its fields."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, fields

from hypothesis import given, settings
from hypothesis import strategies as st

from ldpsim.curator.privacy.level import JOINS, LABEL, REPLACED, TOLD, Level, OfOne

_FIGURE = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])")
LOSS = st.floats(1e-9, 1e9).map(lambda value: float(f"{value:.10g}"))


@st.composite
def levels(draw: st.DrawFn) -> Level:
    """Any level that the builders can make, and more."""
    public = draw(st.sets(st.sampled_from(("adjacency", "features")), max_size=2))
    status = draw(st.sampled_from(("bounded", "unprotected", "not asked")))
    private = draw(LOSS) if status == "unprotected" and public and draw(st.booleans()) else None
    own, per_list = (draw(LOSS), draw(LOSS)) if draw(st.booleans()) else (None, None)
    one = (
        OfOne(draw(LOSS), draw(st.sampled_from((0.0, 1e-6))), draw(st.integers(2, 9))) if draw(st.booleans()) else None
    )
    figures = draw(st.dictionaries(st.sampled_from("abc"), LOSS, max_size=3))
    counted = draw(st.sets(st.sampled_from(("adjacency", "features", "label", TOLD)), min_size=1))
    return Level(
        status, draw(LOSS) if status == "bounded" else None,  # type: ignore[arg-type]
        counted=tuple(sorted(counted)), public=tuple(sorted(public)) if status == "unprotected" else (),
        not_counted=tuple(draw(st.sets(st.sampled_from((LABEL,))))), private_value=private,
        private_delta=draw(st.sampled_from((0.0, 1e-6))) if private is not None else 0.0, own=own, per_list=per_list,
        reason=", ".join(f"{name} {{{name}}}" for name in figures), figures=figures,
        relation=draw(st.sampled_from(("", JOINS, REPLACED))), of_one=one,
    )  # fmt: skip


@given(levels())
@settings(deadline=None, max_examples=60)
def test_the_text_has_every_figure_of_the_fields_and_no_other(level: Level) -> None:
    wanted = [level.private_value, level.private_delta or None, level.own, level.per_list, *level.figures.values()]
    found = [float(figure) for figure in _FIGURE.findall(level.detail)]
    assert sorted(found) == sorted(figure for figure in wanted if figure is not None)


@given(levels())
@settings(deadline=None, max_examples=20)
def test_json_has_every_field(level: Level) -> None:
    made = level.to_dict()
    for name in ("value", "status", "delta", "kind", "private_value", "private_delta", "own", "per_list", "relation"):
        assert made[name] == getattr(level, name)
    for name in ("counted", "public", "not_counted"):
        assert made[name] == list(getattr(level, name))
    assert (made["figures"], made["detail"]) == (level.figures, level.detail)
    assert made["of_one"] == (None if level.of_one is None else asdict(level.of_one))
    names = {each.name for each in fields(level)} - {"reason"}  # its text is in the detail
    assert made.keys() == names | {"detail"} and json.loads(json.dumps(made)) == made
