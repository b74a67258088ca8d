"""The nodes wired into a graph, its memory, and the entry points for programs."""
