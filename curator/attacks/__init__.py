"""What a curious curator computes from the reports of people, and how a mechanism is put to the test.

Attackers, on plain arrays:

- :mod:`averaging`: majority vote and likelihood averaging over repeated reports of bits and labels;
- :mod:`recovery`: how often these are right, exactly (binomial and multinomial laws);
- :mod:`edges`: edge membership from both ends' reports and a prior;
- :mod:`linkage`: whose are the rows of two pseudonymised collections;
- :mod:`differencing`: one person's features from two exact neighbourhood aggregates (LPGNN, Figure 3).

Audit:

- :mod:`laws`: the exact law of what a mechanism's code draws, by walking through all its draws;
- :mod:`bounds`: lower bounds on the privacy loss from trials (Clopper and Pearson);
- :mod:`examples`, :mod:`mechanism_audit`, :mod:`method_audit`: the claimed loss beside both.

Whole devices (secret, ledger, keys of the noise, refusals) are audited in ``strategies``.
"""
