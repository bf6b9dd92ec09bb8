"""Attacks of a curious curator on the reports of people, and audits of mechanisms and methods.

Attackers, on plain arrays:

- :mod:`averaging`: majority vote and likelihood averaging over repeated reports of bits and labels;
- :mod:`recovery`: how often these are right, exactly (binomial and multinomial laws);
- :mod:`edges`: edge membership from both ends' reports and a prior;
- :mod:`released_model`: a person's data from what a run publishes.

Audit:

- :mod:`laws`: the exact law of a mechanism's code, by enumeration of all its draws;
- :mod:`bounds`: lower bounds on the privacy loss from trials (Clopper and Pearson);
- :mod:`examples`, :mod:`mechanism_audit`, :mod:`method_audit`, :mod:`owner_audit`, :mod:`stream_audit`:
  the claimed loss beside both, as rows (:mod:`audit_row`);
- :mod:`randomiser_audit`, :mod:`report_views`: anybody's callable, by its reports alone or with a stated law.
"""
