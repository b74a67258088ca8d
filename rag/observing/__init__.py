"""What an operator sees of running turns: lines of a log, and spans. Never a text of a person, a book or a model."""
