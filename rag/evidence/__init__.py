"""Whether passages support a sentence: its words, numbers, names and denials compared with theirs."""
