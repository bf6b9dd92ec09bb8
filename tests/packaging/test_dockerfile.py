"""The Dockerfile, read as text: no Docker runs where the tests run. ``make lint-docker`` has two linters for it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Dockerfile").read_text()


def _instructions() -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n", " ", "\n".join(line for line in TEXT.splitlines() if not line.lstrip().startswith("#")))
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in lines.splitlines() if line)]


def test_two_stages_and_a_user_without_rights_at_the_end() -> None:
    kinds = [kind for kind, _ in _instructions()]
    assert kinds.count("FROM") == 2 and kinds[0] == "FROM"
    after = _instructions()[len(kinds) - kinds[::-1].index("FROM") - 1 :]
    assert [rest for kind, rest in after if kind == "USER"] == ["ldpsim"]
    users = [number for number, (kind, _) in enumerate(after) if kind == "USER"]
    runs = [number for number, (kind, _) in enumerate(after) if kind in ("RUN", "COPY", "ADD")]
    assert max(runs) < users[-1]
    assert ("ENTRYPOINT", '["ldpsim"]') in after


def test_what_it_copies_is_here_and_let_through() -> None:
    """.dockerignore leaves everything out but what it names, so no data set can get in."""
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line[1:] for line in ignored if line.startswith("!")}
    copied = {
        name.rstrip("/")
        for kind, rest in _instructions()
        if kind == "COPY" and "--from" not in rest
        for name in rest.split()[:-1]
    }
    assert "*" in ignored and copied == allowed
    assert all((ROOT / name).exists() for name in copied)
