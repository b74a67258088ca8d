"""The nodes wired into a machine, its memory, and the entry points for programs."""
