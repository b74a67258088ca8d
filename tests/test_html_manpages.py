"""A manual page of Unix in one block of typewriter text is read as prose with headings; other blocks stay code."""

from __future__ import annotations

import time

import pytest

from rag.ingest.formats.html_files import page_texts

PAGE = """
QUEUE(1)                                                              QUEUE(1)

<b>NAME</b>
       queue - look after the queue

<b>SYNOPSIS</b>
       <b>queue</b> [<b>-v</b>]
               [<b>-d</b> <i>id</i>]

<b>DESCRIPTION</b>
       The <a href="q"><b>queue</b>(1)</a> command does maintenance  jobs  with  one  <b><a href="r">recipi-</a></b>
       <b><a href="r">ent</a></b> and well-known names.

   <b>Options:</b>
       <b>-d</b> <i>id</i>
              Delete  the  message  with this id from the queue, and put a well-
              known one there. For example:

              list | grep '^ *(' | awk '{
                  print $1 }' | queue -d -

              This takes all.

       <b>-v</b>     Be verbose. Several of these make the program more and more  ver-
              bose.

       <b>-x</b>     Exit.

       The possible values are as follows:

       <b>o</b>      One that is described in this line and in the next one, for it goes
              on.

       <b>o</b>      Two.

<b>FILES</b>
       /etc/queue.cf
       /var/queue

                                                                      QUEUE(1)
"""
MARKDOWN = """## NAME {#}

queue - look after the queue

## SYNOPSIS {#}

```
queue [-v]
        [-d id]
```

## DESCRIPTION {#}

The [**queue**(1)](q) command does maintenance jobs with one **[recipient](r)** and well-known names.

### Options {#}

- **-d** *id*: Delete the message with this id from the queue, and put a well-known one there. For example:

  ```
  list | grep '^ *(' | awk '{
      print $1 }' | queue -d -
  ```

  This takes all.
- **-v**: Be verbose. Several of these make the program more and more verbose.
- **-x**: Exit.

The possible values are as follows:

- One that is described in this line and in the next one, for it goes on.
- Two.

## FILES {#}

```
/etc/queue.cf
/var/queue
```"""


def body(html: str) -> str:
    return page_texts(f"<html><head><title>queue(1)</title></head><body>{html}</body></html>".encode())[0].body


def test_a_manual_page_has_headings_paragraphs_and_lists() -> None:
    assert body(f"<pre>{PAGE}</pre>") == MARKDOWN


@pytest.mark.parametrize(
    "html",
    [
        f"<h1>Reading manuals</h1><p>{'Manuals have sections, as you see in this example. ' * 40}</p><pre>{PAGE}</pre>",
        "<pre><b>DESCRIPTION</b>\n   = 'text'\nNAMES\n   = []</pre>",
    ],
)
def test_a_manual_page_that_is_an_example_and_other_blocks_stay_code(html: str) -> None:
    assert body(html).count("```") == 2
    assert "\n## " not in body(html)


def test_long_manual_pages_take_linear_time() -> None:
    long = "NAME\n   x\n\nDESCRIPTION\n" + "       -a     b\n              c\n" * 8_000
    began = time.monotonic()
    assert body(f"<pre>{long}</pre>")
    assert time.monotonic() - began < 20
