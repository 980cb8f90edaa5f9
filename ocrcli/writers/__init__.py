"""Transcripts as text, Markdown or JSON lines, written page by page."""

from ocrcli.writers.jsonl import JsonLinesWriter
from ocrcli.writers.markdown import MarkdownWriter, page_markdown
from ocrcli.writers.registry import Writer, new_writer, suffix_of
from ocrcli.writers.text import TextWriter, page_text

__all__ = [
    "JsonLinesWriter",
    "MarkdownWriter",
    "TextWriter",
    "Writer",
    "new_writer",
    "page_markdown",
    "page_text",
    "suffix_of",
]
