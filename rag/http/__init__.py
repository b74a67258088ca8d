"""HTTP clients of a Qdrant server."""
