"""Text as every room reads it: sentences, markup, what is visible, terms."""
