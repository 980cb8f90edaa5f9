"""The estimate of a dry run."""

import re

import pytest

from ocrcli.forecast import forecast
from ocrcli.inputs import Input
from ocrcli.options import Options
from ocrcli.tokenizer import Tokenizer


@pytest.mark.weights
def test_tokens_of_the_samples_are_estimated_within_a_factor_of_two(repository):
    tokenizer = Tokenizer.from_file(repository / "models" / "small" / "tokenizer.json")
    for path in (repository / "examples").glob("*.pdf"):
        line, total = forecast([(Input(path.name, path, path.name), None)], Options())
        estimate = int(re.search(r"about (\d+) tokens", line.text)[1])
        wanted = len(tokenizer.encode(path.with_suffix(".txt").read_text()))
        assert wanted / 2 < estimate < wanted * 2
        assert total.text.startswith("1 files: ")


def test_input_that_cannot_be_opened_is_told_with_its_code(tmp_path):
    missing = Input("none.pdf", tmp_path / "none.pdf", "none.pdf")
    line, total = forecast([(missing, None)], Options())
    assert line.exit_code == 3
    assert "none.pdf: cannot be read" in line.text
    assert "0 pages" in total.text


def test_further_readings_take_their_time(repository):
    path = repository / "examples" / "report.pdf"

    def seconds(attempts):
        (line, _) = forecast(
            [(Input(path.name, path, path.name), None)], Options(attempts=attempts)
        )
        return float(re.search(r"about ([\d.]+) s", line.text)[1])

    once, twice, thrice = map(seconds, (1, 2, 3))
    assert once < twice < thrice < 3 * once
