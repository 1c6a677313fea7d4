"""Queues from one writer to its readers."""
