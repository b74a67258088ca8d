"""The rules of the site generators: which files are pages, their titles, addresses and anchors, and their syntax.

The files in reading order:

1. `generator`: the rules of a folder that no generator publishes, which each generator changes for itself.
2. `known_generators`: how the generator of a source is found; `config_files`: how its configuration is read.
3. `plain`: a folder of pages, a built site, and a site that was fetched.
4. `mdbook`, the shortest generator.
5. `mkdocs` with the Markdown of its extensions (`mkdocs_syntax`).
6. `docusaurus` with its versions and sidebars (`docusaurus_site`), which are in JavaScript (`js_literals`).
7. `hugo` with its `shortcodes`; `jekyll` with `liquid`; `sphinx` with `myst`.
"""
