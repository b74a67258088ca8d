"""The books of an index: list, show, rename, delete and fill them."""
