"""The loaders: how the bytes of a file in one format become text."""
