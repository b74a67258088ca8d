"""reStructuredText: docutils writes HTML, which is read as any page is.

Sphinx's directives and roles, which docutils does not know, keep their text. No file is read and no program is run.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, Final

from rag.ingest.formats.file_format import LoadedText, decoded
from rag.ingest.formats.html_files import drop_furniture, parsed_html
from rag.ingest.formats.html_markdown import markdown_of
from rag.ingest.formats.html_tree import named, shape

MARKS: Final = 3_000  # of markup in one paragraph: docutils takes quadratic time where none of them is closed
_MARKS: Final = re.compile(r"[`*|]|_(?!\w)")
_DIRECTIVE: Final = re.compile(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w.:+-]{1,60}?)::(?:[ \t]|$)", re.MULTILINE)
_ROLE: Final = re.compile(r":([a-zA-Z][\w.:+-]{0,60}?):`|`:([a-zA-Z][\w.:+-]{0,60}?):(?!`)")
# Directives that docutils reads as Sphinx does, those that stand for code, and those that have no text of the page.
_OWN: Final = re.compile(
    "admonition|attention|caution|danger|error|hint|important|note|tip|warning|compound|container|csv-table|date|epigraph|"
    "figure|highlights|image|line-block|list-table|math|parsed-literal|pull-quote|replace|role|rubric|sidebar|table|topic|"
    "unicode"
)
_CODE: Final = re.compile("code|code-block|sourcecode|code-cell|prompt|ipython|testcode|testoutput|console|doctest")
_NO_TEXT: Final = re.compile(
    r"toctree|contents|index|highlight|default-\w+|tabularcolumns|auto\w+|(?:current|py:current)?module|raw|meta|include|"
    r"literalinclude|testsetup|testcleanup|ifconfig|bibliography|(?:di)?graph\w*|mermaid|plot|sectnum|program|title|class"
)
_VERSIONS: Final = {
    "versionadded": "Added in version", "versionchanged": "Changed in version", "seealso": "See also",
    "versionremoved": "Removed in version", "deprecated": "Deprecated since version",
}  # fmt: skip
_PROSE: Final = re.compile(
    "ref|doc|numref|term|guilabel|menuselection|abbr|pep|rfc|cite.*|eq|any|download|dfn|issue|user|pr|strong|emphasis|"
    "sub|sup|subscript|superscript|math|title"
)
_OWN_ROLES: Final = re.compile("strong|emphasis|sub|sup|subscript|superscript|math|literal|pep|rfc|title")
_TITLED: Final = re.compile(r"(.*?)\s*<[^<>]+>\s*", re.DOTALL)
_SETTINGS: Final = {
    "file_insertion_enabled": False, "raw_enabled": False, "_disable_config": True, "report_level": 5, "halt_level": 5,
    "embed_stylesheet": False, "stylesheet_path": "", "syntax_highlight": "none", "math_output": "LaTeX",
    "input_encoding": "unicode", "output_encoding": "unicode", "line_length_limit": 1_000_000,
    "doctitle_xform": False, "initial_header_level": 1,
}  # fmt: skip


def rst_texts(raw: bytes) -> list[LoadedText]:
    """The page as one text. What it includes from other files is left out.

    Raises `ValueError` for bytes that are no text, and for a paragraph with more than `MARKS` marks.
    """
    from docutils.core import publish_string

    text = decoded(raw)
    if any(len(_MARKS.findall(paragraph)) > MARKS for paragraph in text.split("\n\n")):
        raise ValueError(f"a paragraph of it has more than {MARKS:,} marks of markup")
    _learn(text)
    html: str = publish_string(text, writer="html5", settings_overrides=_SETTINGS)
    page = parsed_html(html.encode("utf-8", "replace"))
    main = page.find(".//main")
    drop_furniture(main)
    for one in list(main.iter("dl", "pre", "span", "tt", "img")):
        kinds = named(one)
        if {"docinfo", "label", "fn-bracket"} & set(kinds):
            one.drop_tree()
        elif one.tag == "pre":
            language = "python" if "doctest" in kinds else "math" if "math" in kinds else one.get("lang", "")
            one.set("class", f"language-{language}")
        elif one.tag == "img":
            one.set("alt", "" if one.get("alt") == one.get("src") else one.get("alt", ""))
        elif "math" in kinds:
            one.tag, one.text = "tex", f"${one.text}$"
        elif "literal" in kinds:
            one.tag = "code"
    shape(main)
    return [LoadedText(markdown_of(main), "plain")]


def _learn(text: str) -> None:
    """Make docutils read every directive and role of a text."""
    from docutils import nodes
    from docutils.parsers.rst import Directive, directives, roles
    from docutils.utils import unescape

    class AnyDirective(Directive):
        has_content = True
        optional_arguments = 1
        final_argument_whitespace = True
        option_spec = defaultdict(lambda: str, {"class": str})  # noqa: RUF012  # docutils' own form

        def run(self) -> list[nodes.Node]:
            name, said = self.name.lower(), " ".join("".join(self.arguments).split())
            if _NO_TEXT.fullmatch(name):
                return []
            if _CODE.fullmatch(name):
                return [nodes.literal_block("", "\n".join(self.content), classes=[f"language-{said or 'none'}"])]
            title: list[nodes.Node] = []
            if name in _VERSIONS:
                words, messages = self.state.inline_text(f"{_VERSIONS[name]} {said}".strip(), self.lineno)
                end = ":" if self.content else "" if said.endswith(".") else "."
                title = [nodes.paragraph("", "", *words, nodes.Text(end)), *messages]
            elif said:  # such as the signature of a function, or the label of a tab
                lines = [line.strip() for line in self.arguments[0].split("\n")]
                title = [nodes.paragraph("", "", nodes.literal("", line)) for line in lines if line]
            holder = nodes.container()
            self.state.nested_parse(self.content, self.content_offset, holder)
            return [*title, *holder.children]

    def any_role(
        name: str, rawtext: str, text: str, lineno: int, inliner: Any, options: Any = None, content: Any = None
    ) -> Any:
        words = _TITLED.sub(r"\1", unescape(text)).lstrip("!")
        words = words[1:].rpartition(".")[2] if words.startswith("~") else words
        is_prose = _PROSE.fullmatch(name.rpartition(":")[2])
        return [nodes.inline("", words) if is_prose else nodes.literal("", words)], []

    for name in {found.lower() for found in _DIRECTIVE.findall(text) if not _OWN.fullmatch(found.lower())}:
        directives.register_directive(name, AnyDirective)
    for name in {(one or other).lower() for one, other in _ROLE.findall(text)}:
        if not _OWN_ROLES.fullmatch(name):
            roles.register_local_role(name, any_role)
