"""Knowledge of a curator, in one form for every method, null model and estimator."""
