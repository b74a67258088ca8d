"""The states of the machine, one file each."""
