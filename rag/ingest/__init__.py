"""From a source to chunks in the index. The way of a page, file by file:

1. `ingestion` runs the five steps of a change; `book_sources` reads or recalls each source.
2. `loaders.load_source` opens the source (`sources`: a folder, a repository, a site), finds its generator
   (`sites/detection`), and reads its files (`source_files`) with the loader of each format (`formats`).
3. `sites/site_rules.Site` is the rules of a site: which files are pages, their titles, addresses, anchors and links.
   Each generator overrides what it does differently, such as `sites/mkdocs`.
4. `Site.convert` writes a page as plain Markdown: files that it includes are put in (`includes`), blocks of dialects
   become text (`dialects`), code (`fences`) is masked (`page_draft`), `tags` and `links` are rewritten, and code comes
   back. MDX has its own way (`sites/mdx`). `text_form` is the one form of all text.
5. `chunking` cuts the Markdown (`page`) at its headings; `splitting` packs its blocks into chunks.
6. `plan` compares the chunks with the index, `chunk_vectors` embeds those that are new, and `ingestion` writes them.
"""
