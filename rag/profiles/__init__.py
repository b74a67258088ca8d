"""Profiles: what a profile's file may hold, how it is loaded, and which profiles people may choose."""
