"""Work of a server on the reports that it received: plain numpy, scipy and torch on arrays.

Nothing here imports Flower, Ray, ``strategies`` or ``cli``. From ``devices`` come the ``facts``, what a question, a
report and a training are (``query``, ``mechanisms``, ``training_task``), the model that a device predicts from
(``prediction``), and three tools (``array_types``, ``atomic_files``, ``foreign``). All of these lie below ``draw`` and
``ledger``: a curator cannot reach a device. ``docs/layers.py`` has the list, and ``tests/test_layers.py`` holds it.

A local method is given :class:`~ldpsim.curator.reports.reports.Reports` and public knowledge, nothing else.
"""
