"""Work of a server on the reports that it received: plain numpy, scipy and torch on arrays.

Nothing here imports Flower, Ray, ``strategies`` or ``cli``, and from ``devices`` only
``query``, ``mechanisms`` and ``facts``: a curator cannot reach a device. A local method
is given :class:`~ldpsim.curator.reports.reports.Reports` and public knowledge, nothing else.
"""
