"""The index: Qdrant in the process or on a server, what a collection holds and how it is laid out."""
