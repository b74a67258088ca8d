"""What can be given as a source: a folder, a file, a repository of git, or a site."""
