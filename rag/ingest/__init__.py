"""From a source to an index."""
