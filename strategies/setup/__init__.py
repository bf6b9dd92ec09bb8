"""Options, settings and checks of a run, before anybody is asked."""
