"""The rules of the site generators: which files are pages, their titles, addresses and anchors, and their syntax."""
