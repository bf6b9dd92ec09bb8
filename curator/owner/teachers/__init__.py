"""Teachers of an owner: networks trained on raw private data, whose noisy votes are released.

======================  ===============================================================
:mod:`.graph`           an owner's plain graph, and its subgraphs
:mod:`.sage`            GraphSAGE networks, many trained at once
:mod:`.answering`       one query: sample, nearest people, subgraph, teacher, posterior
:mod:`.selection`       choice and order of the public nodes to ask about
:mod:`.release`         noise and arg max: the released labels
:mod:`.perceptron`      PATE-M's teachers
======================  ===============================================================
"""
