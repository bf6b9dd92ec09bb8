"""Audits of other libraries' randomisers, through small wrappers of our own (``docs/results/audits.md``)."""
