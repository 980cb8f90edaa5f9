"""What tells pages apart in a transcript."""

from ocrcli.document import Page

RULE = "-" * 40
"""A line across plain text."""


def page_comment(page: Page) -> str:
    """Return an HTML comment with the page's number, and its label where that differs.

    Args:
        page: The page that follows.
    """
    label = page.facts.label
    if not label or label == str(page.page_number):
        return f"<!-- page: {page.page_number} -->"
    # Two hyphens would end the comment.
    return f"<!-- page: {page.page_number} label: {label.replace('--', '- -').strip('>')} -->"
