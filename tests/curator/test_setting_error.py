"""Refused settings: their text is made of fields, and the error comes back from a worker process."""

from __future__ import annotations

import pickle

from ldpsim.curator.setting_error import SettingError


def test_it_comes_back_from_a_worker_process() -> None:
    error = SettingError("lr=0", "must be above 0").named("--grid")
    back = pickle.loads(pickle.dumps(error))
    assert (back.setting, back.reason, back.option) == ("lr=0", "must be above 0", "--grid")
    assert str(back) == "--grid lr=0: must be above 0"
