"""English: every word list and every pattern that knows the language, each once."""
