"""From the model's tokens to the answer that a reader sees. The way of a sentence, file by file:

1. `writer.AnswerWriter` takes the tokens; `cutter` gives back blocks and sentences that are complete, and `units` reads
   them as sentences, rows, code and headings.
2. `citations` resolves what each of them cites, by number or by name; `lines` keeps both together.
3. `check` compares it with the passages, which `evidence` reads: what is certain, and five signals.
4. `judge` holds what the judge is asked about it, and reads the reply. `nodes.judge` sends it.
5. `shown` joins what is shown to the answer, and `render` writes citations, the list of sources and notices.
"""
