"""How far words lie from where they are printed."""

import re

from ocrcli.document import Block, BlockType, Page, PageFacts, PageStatus
from ocrcli.line_boxes import Line
from ocrcli.models.small.evaluation import word_places


def test_words_that_were_not_read_have_no_pair():
    printed = [("one", (0, 0, 10, 10)), ("two", (20, 0, 30, 10)), ("three", (40, 0, 50, 10))]
    read = [("one", (1, 0, 11, 10)), ("too", (20, 0, 30, 10)), ("three", (41, 0, 51, 10))]
    assert word_places.common(printed, read) == [
        ((0, 0, 10, 10), (1, 0, 11, 10)),
        ((40, 0, 50, 10), (41, 0, 51, 10)),
    ]


def test_words_are_placed_in_points():
    line = Line((99.9, 499.5, 499.5, 549.45), ((99.9, 199.8), (249.75, 499.5)))
    block = Block(BlockType.TEXT, "two words", (100, 500, 500, 550), lines=(line,))
    facts = PageFacts(1, None, 600.0, 800.0, 1200, 1600, 144.0)
    words = list(word_places.read_words(Page(1, PageStatus.OK, blocks=(block,), facts=facts)))
    assert words == [("two", (60, 400, 120, 440)), ("words", (150, 400, 300, 440))]


def test_words_of_an_example_lie_on_their_ink(repository, monkeypatch, capsys):
    path = repository / "examples" / "heading_and_list.pdf"
    monkeypatch.setattr("sys.argv", ["word_places", str(path), "--threads", "1"])
    word_places.main()
    report = capsys.readouterr().out
    found = re.search(r"(\d+) of (\d+) words, ([\d.]+) pt off \(half\), ([\d.]+) pt", report)
    assert found is not None, report
    read, printed, usual, far = map(float, found.groups())
    assert read >= 0.95 * printed
    assert usual < 2
    assert far < 5
