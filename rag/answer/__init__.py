"""From the model's tokens to the answer that a reader sees. The way of a sentence, file by file:

1. `writer.AnswerWriter` takes the tokens and returns the pieces that may be shown.
2. `pieces` splits the stream into sentences, rows of tables and blocks of code; `lines` makes lines of them: items,
   headings, lead-ins, statements.
3. `citations` turns the citation forms of a profile, such as `(from Chapter 2: Installation)`, into `[n]`.
4. `pending_lines.LineCitations` decides which citations count for a line: its own, those of its paragraph, or those of
   its lead-in.
5. `line_check` tells a line that claims nothing from a claim, and checks the claim. `sanitizer` removes addresses, tags
   and citations that are not the book's; `cited_passage` says what counts as evidence in a passage, and checks a
   sentence against passages; `rag.evidence.verdict` compares the words.
6. `judge_prompt` asks the judge about sentences that are neither quotations nor contradicted. `nodes.judge` sends it
   while the answer goes on.
7. `pending_lines.PendingLines` keeps a line back until it is known whether it is shown; `shown_answer` builds the text,
   the citations and the footer.
"""
