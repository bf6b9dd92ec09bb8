"""Ledger of a device: what was released, under which loss, entered before it leaves."""
