"""From a source to chunks in the index. The way of a page, file by file:

1. `ingestion` runs the five steps of a change; `book_sources` reads or recalls each source.
2. `loaders.load_source` opens the source (`sources`: a folder, a repository, a site), finds its generator
   (`generators/known_generators`), and reads its files (`source_files`) with the loader of each format (`formats`).
3. `generators/generator.Generator` is the rules of a site: which files are pages, their titles, addresses, anchors and
   links. Each generator overrides what it does differently, such as `generators/mkdocs`.
4. `Generator.convert` writes a page as plain Markdown: files that it includes are put in (`includes`), code (`fences`)
   is masked (`page_draft`), the generator's syntax (`dialects` has what several share), `tags` and `links`
   are rewritten, and code comes back. MDX has its own way (`mdx`, `mdx_values`), as do reStructuredText (`rst_syntax`,
   `rst_terms`, `rst_markdown`). `text_form` is the one form of
   all text, and `literal_signs` tells which signs of it need a backslash.
5. `chunking` cuts the Markdown (`page`) at its headings; `splitting` packs its blocks into chunks.
6. `plan` compares the chunks with the index, `chunk_vectors` embeds those that are new, and `ingestion` writes them.
"""
