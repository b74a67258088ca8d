"""The answerer without a model: it quotes the book's own sentences."""
