"""The loaders: how the bytes of a file in one format become text. The files in reading order:

1. `file_format`: a `Loader` and the `LoadedText` that it makes; `known_formats` lists the loaders by endings.
2. `text_files`: Markdown, MDX, plain text and notebooks, and front matter.
3. `html_files`: pages without what stands around their text, brought into form by `html_tree` and written by
   `html_markdown`. `epub_files`: the chapters of a book.
4. `rst_files` goes through docutils' HTML and the same steps, `office_files` through the library anydoc.
5. `pdf_files`: from characters (`page_characters`) to lines (`printed_lines`), without running titles and page numbers
   (`page_furniture`), to paragraphs, headings, lists and code (`printed_text`).
6. `reader_process`: the process in which all but Markdown, plain text and notebooks are read.
"""
