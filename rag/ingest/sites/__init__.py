"""The rules of site generators: which files are pages, their titles, addresses, anchors and syntax.

1. `detection` finds the generator of a source by its configuration file.
2. `site_rules.Site` has the rules of a folder that no generator publishes; `docusaurus` (with `mdx` and `javascript`),
   `mkdocs`, `mdbook` and `hugo` override what they do differently.
"""
