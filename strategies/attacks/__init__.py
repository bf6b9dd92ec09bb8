"""Attacks: by curators who ask again, by devices that lie, and on what a mechanism or a method claims.

=========  ===============  ======================================  ==========================
attacker   attacks          measured by                             command
=========  ===============  ======================================  ==========================
curator    ``adversaries``  ``stress``: recovered private values    ``ldpsim stress``
device     ``poison``       ``poison``: accuracy of honest people   ``ldpsim poison``
anybody    a stated loss    ``audit``: lower bounds from trials     ``ldpsim audit``
=========  ===============  ======================================  ==========================

:mod:`campaign` runs the attacks of ``stress`` and ``poison`` as cells and writes their rows. It runs the cells of
``audit``, too.
"""
