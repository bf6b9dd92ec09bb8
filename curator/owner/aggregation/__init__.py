"""GAP and ProGAP: networks that read noisy sums over neighbours, and their training by an owner.

=============  ==================================================================
``sums``       who sends to whom under a cap, rows of norm 1, one noisy hop
``layers``     perceptrons, and the networks of both methods
``training``   full-batch training, and training on clipped gradients under noise
=============  ==================================================================
"""
