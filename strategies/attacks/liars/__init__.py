"""Lying devices of ``ldpsim poison``: an edited ClientApp, its attacks, and the Grid in which it stands."""
