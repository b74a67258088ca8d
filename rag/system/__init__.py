"""The operating system and the installation: private files, extras, Ctrl-C, the name of the program."""
