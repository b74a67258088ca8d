project = "Sample"
extensions = ["myst_parser"]
exclude_patterns = ["left/*"]
myst_enable_extensions = ["colon_fence", "attrs_block", "attrs_inline", "deflist"]
