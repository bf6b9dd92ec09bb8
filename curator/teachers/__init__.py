"""An owner's teachers: networks trained on raw private data whose votes are released under noise.

======================  ===============================================================
:mod:`.graph`           a plain graph in an owner's hands, and the subgraphs cut out of it
:mod:`.weights`         the network's weights, as one vector with named parts
:mod:`.randomness`      every draw of a teacher from its query's number alone
:mod:`.sage`            training and inference, one network at a time (CPU)
:mod:`.stacked`         the same for many networks of one size at once (GPU)
:mod:`.answering`       one query: sample, nearest people, subgraph, teacher, posterior
:mod:`.selection`       which public nodes are asked about
:mod:`.release`         noise, arg max, and what is given away
:mod:`.perceptron`      PATE-M's teachers
======================  ===============================================================
"""
