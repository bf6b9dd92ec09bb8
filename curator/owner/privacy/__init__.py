"""Privacy accounting for an owner who answers queries or publishes networks.

==================  ================================================================
``account``         what released labels lose beside what the papers print
``label``           the released label: exact loss of one query, exact composition
``vector``          Laplace noise on vectors: what holds, and the papers' analyses
``aggregation``     noisy sums over neighbours and private training (GAP, ProGAP)
``graph_account``   what these methods lose, level by level beside their claim
==================  ================================================================

Everywhere: ``loss`` is sensitivity / noise scale, so 2 lambda for a posterior under
Lap(1 / lambda); ``gamma`` is the probability with which a person is drawn into the data
that answer a query, 1 without sampling; neighbouring data differ by one person.
"""
