"""Curators who ask again, against devices with and without protection: what ``ldpsim stress`` does.

- :mod:`protections`: what stands between a second question and a second answer, and the
  devices *without* a ledger, which exist for this comparison alone;
- :mod:`grids`: where their messages go, with Flower's order of reading and writing state;
- :mod:`repeating`: the plain adversaries, each a Flower strategy;
- :mod:`tallies`: what all of them add up;
- :mod:`registered`: adversaries and faults against the real devices;
- :mod:`options`, :mod:`running`: what is compared, and the whole comparison;
- :mod:`writing`, :mod:`figure`: its table and its figure.
"""
