"""Names of the options of a run that only some methods read, by what a method does.

A method names its options in ``MethodSpec.options``, in these groups and one by one. An option is declared, with its
meaning and default, in ``strategies/setup/options.py``; a test reads that these are names of options there.
"""

from __future__ import annotations

SPLIT = frozenset({"split", "label_rate", "volunteers"})  # of a method whose people train, validate and test
DEVICES = frozenset({"dropout", "state", "caps", "engine", "workers", "ray_address"})  # devices are enrolled
QUESTION = DEVICES | {"on_requery", "collector_key"}  # devices answer a question of one collection
ASKING = QUESTION | {"save_reports"}  # nobody is asked beside kept reports
REPORTS = ASKING | {"defence", "false_alarm", "from_reports"}  # answers under noise that are kept
LABELS = frozenset({"private_labels", "eps_labels", "label_mechanism"})  # labels are public, or have their own budget
PARTS = ("eps_adjacency", "eps_features", "eps_labels")  # finer budgets
BUDGET = frozenset({"epsilon", "feature_share", "public_features", "reporting", *LABELS, *PARTS})
NETWORK = frozenset({"gnn"})  # a network that can be chosen
OF_METHODS = SPLIT | REPORTS | BUDGET | NETWORK  # every other option is read by every run
