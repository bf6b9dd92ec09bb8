"""Teachers of an owner: networks trained on raw private data, whose noisy votes are released.

======================  ===============================================================
:mod:`.graph`           an owner's plain graph, and its subgraphs
:mod:`.sage`            GraphSAGE networks, many trained at once
:mod:`.selection`       the public nodes to ask about, and their order
:mod:`.answering`       one query: sample, nearest people, subgraph, teacher, posterior
:mod:`.release`         the arg max of a noisy posterior, or of noisy votes
:mod:`.student`         the network that is trained on the released labels
:mod:`.perceptron`      PATE-M's teachers
======================  ===============================================================
"""
