"""The commands of the terminal, one file each; `run.py` reads the command line and calls them."""
