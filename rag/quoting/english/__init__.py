"""Every word list and every pattern of English, each once."""
