"""Wiring: the nodes joined to a machine, its memory, and the doors through which programs enter."""
