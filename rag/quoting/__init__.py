"""The answerer without a model: it quotes the book's own sentences. The way of a question, file by file:

1. `blocks` splits the passages into blocks: a definition, a list with its lead-in, a command with the line before it.
2. `relevance` scores each block by the terms and the meaning of the question.
3. `answerer` decides whether the book answers at all, and chooses blocks in their order. `follow_up` joins a question
   that needs the ones before it with them.
4. `excerpt` writes them as Markdown with citations, and "[…]" where something is left out. `snippet`
   cuts code that is too long.
"""
