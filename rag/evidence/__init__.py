"""Whether passages support a sentence. The way of a sentence, file by file:

1. `words` splits it into tokens; `numbers` reads its quantities, which `quantity` compares; `analyzed_text` keeps both,
   and reads each text once.
2. `mentions` looks up what has no other wording: numbers, names, code words, addresses. What no text
   has contradicts the passages.
3. `word_contexts` finds each word in the passages, and how well the words around it fit.
4. `number_check` looks for numbers that no passage has; `doubts` compares: another number or name in the same place,
   a denial, a reversed comparison.
5. `verdict.check` gives the standing of the worst finding.
"""
