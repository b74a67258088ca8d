"""The nodes of the graph, and what they share: access to the turn, errors, the archive, model calls, the judge."""
