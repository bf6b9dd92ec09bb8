"""Privacy accounting for an owner who answers queries: one bound a module.

===============  ===================================================================
``label``        the released label: exact loss of one query, exact composition
``shared``       labels that one set of teachers gave under several lambdas
``laplace``      the noisy posterior: the Laplace mechanism's privacy loss distribution
``rdp``          the same by Rényi divergences, which is the analysis of the PrivGnn paper
``pate``         the moments bound behind the PATE rows of that paper
``sampling``     one Poisson sample shared by all queries
``aggregation``  noisy sums over neighbours and private training steps (GAP, ProGAP)
``graph_account``what these methods lose, level by level beside their claim
``release``      what is answered, and the record of all figures about it
===============  ===================================================================

The front door is :mod:`ldpsim.curator.owner.privacy.accountant`.

Everywhere: ``loss`` is sensitivity / noise scale, so 2 lambda for a posterior under
Lap(1 / lambda); ``gamma`` is the probability with which a person is drawn into the data
that answer a query, 1 without sampling; neighbouring data differ by one person.
"""
