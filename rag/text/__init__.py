"""Reading text: sentences, markup, visible characters, terms, language."""
