from __future__ import annotations

from curator.methods import BUILT_IN, find
from strategies.planning.listed import LISTED


def test_the_list_has_every_method_with_one_private_report_and_other_trust() -> None:
    local = {name for name, path in BUILT_IN.items() if path.startswith("local.")}
    assert local <= set(LISTED) <= set(BUILT_IN)
    for name, entry in LISTED.items():
        other = find(name).trust == "trusted curator" or not BUILT_IN[name].startswith("local.")
        assert (entry.group == "other trust") == other
