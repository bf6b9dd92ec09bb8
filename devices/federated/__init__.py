"""Federated training on a device: messages, local steps, ledger rows."""
