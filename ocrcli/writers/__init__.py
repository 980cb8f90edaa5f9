"""Transcripts as text, Markdown, JSON lines, hOCR or ALTO, written page by page."""

from ocrcli.writers.alto import AltoWriter
from ocrcli.writers.hocr import HocrWriter
from ocrcli.writers.jsonl import JsonLinesWriter
from ocrcli.writers.markdown import MarkdownWriter, page_markdown
from ocrcli.writers.registry import Writer, new_writer, suffix_of
from ocrcli.writers.schema import json_schema
from ocrcli.writers.text import TextWriter, page_text

__all__ = [
    "AltoWriter",
    "HocrWriter",
    "JsonLinesWriter",
    "MarkdownWriter",
    "TextWriter",
    "Writer",
    "json_schema",
    "new_writer",
    "page_markdown",
    "page_text",
    "suffix_of",
]
