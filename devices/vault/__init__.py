"""Vault: a process of the device's own that alone has its data, secret and ledger."""
