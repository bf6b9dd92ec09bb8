from __future__ import annotations

from strategies.setup.fingerprint import config_hash


def test_hash_is_over_values_and_not_their_order() -> None:
    assert config_hash({"a": 1, "b": 2.5}) == config_hash({"b": 2.5, "a": 1})
    assert config_hash({"a": 1}) != config_hash({"a": 2})
    assert len(config_hash({})) == 12
