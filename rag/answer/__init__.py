"""From the model's tokens to the answer that a reader sees. The way of a sentence, file by file:

1. `writer.AnswerWriter` takes the tokens and returns the pieces that may be shown.
2. `pieces` splits the stream into sentences, rows of tables and blocks of code; `lines` makes lines of them: items,
   headings, lead-ins, statements.
3. `citations` turns the citation forms of a profile, such as `(from Chapter 2: Installation)`, into `[n]`.
4. `writer` decides which citations count for a line: its own, those of its paragraph, or those of its lead-in.
5. `line_check` checks the line against these passages. `sanitizer` removes addresses, tags and citations that are not
   the book's; `cited_passage` says what counts as evidence in a passage; `rag.evidence.verdict` compares the words.
6. `judge_prompt` asks the judge about sentences in doubt. `nodes.judge` sends it while the answer goes on.
7. `shown_answer` keeps a line back until it is decided, and builds the text and the footer that are shown.
"""
