"""Attacks: by curators who ask again, by devices that lie, and on what a mechanism or a method claims.

=========  ===============  ======================================  ==========================
attacker   attacks          measured by                             command
=========  ===============  ======================================  ==========================
curator    ``adversaries``  ``stress``: recovered private values    ``ldpsim stress``
device     ``liars``        ``poison``: accuracy of honest people   ``ldpsim poison``
anybody    a stated loss    ``audit``: lower bounds from trials     ``ldpsim audit``
=========  ===============  ======================================  ==========================
"""
