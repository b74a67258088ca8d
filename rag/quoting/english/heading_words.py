"""Words by which a heading becomes a question, and headings that say nothing about what is below them."""

from __future__ import annotations

from typing import Final

_ORDERS: Final = """
access activate add allow apply attach avoid build call change check choose clean clear clone combine compile compute
configure connect convert copy create customize debug declare define delete deploy develop disable discover download
edit enable exclude execute export extend find fix format generate get handle host ignore implement import include
initialize inspect install integrate launch learn list load lock log make manage measure migrate modify monitor mount
move name open optimize organize override pass pin plan prepare prevent print process profile protect publish query read
rebuild record reduce register release remove rename render replace reset resolve restart reuse run save schedule
secure select send serve set share show sign simulate split start stop store structure switch sync synchronize test
track train transform troubleshoot try turn understand uninstall update upgrade upload use validate verify view
visualize wait work wrap write
"""
ORDERS: Final = frozenset(_ORDERS.split())  # a heading that begins with one tells the reader to do something

_VAGUE: Final = """
about advanced appendix background basics changelog conclusion configuration contents contributing credits details
discussion example examples exercises faq features further glossary help history how-to index install installation
introduction license links more motivation next notes options overview parameters prerequisites questions quickstart
reading recap references related requirements resources results setup solution steps summary support syntax testing
tips troubleshooting tutorial usage
"""
VAGUE: Final = frozenset(_VAGUE.split())  # a heading of such words alone could stand on any page

# What follows "How to" in a heading that lacks its verb, such as "How to for Debian".
_NO_VERBS: Final = "a an and at by for from in into of on or our the this to under using via with without your"
NO_VERBS: Final = frozenset(_NO_VERBS.split())
