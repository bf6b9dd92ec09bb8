"""Attacks of a curious curator on the reports of people, and audits of mechanisms and methods.

- :mod:`recovery`: guesses from repeated reports of bits, labels and edges, and how often they are right, exactly;
- :mod:`released_model`: a person's data from what a run publishes;
- :mod:`distributions`: the exact output distribution of a mechanism's code, by enumeration of all its draws;
- :mod:`bounds`: lower bounds on the privacy loss from trials (Clopper and Pearson);
- :mod:`examples`, :mod:`mechanism_audit`, :mod:`method_audit`, :mod:`owner_audit`: the claim beside both, as rows;
- :mod:`randomiser_audit`: anybody's callable, by its reports alone or with stated probabilities.
"""
