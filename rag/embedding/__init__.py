"""Embedding models: packaged or hosted, dense or sparse, and the cache of their vectors."""
