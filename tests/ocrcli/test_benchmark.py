"""The benchmark report."""

import json

import pytest

from ocrcli.batch import Batch
from ocrcli.benchmark import (
    build_report,
    format_report,
    peak_memory_bytes,
    save_report,
    seconds_since_start,
)
from ocrcli.document import (
    Document,
    ModelFacts,
    Page,
    PageSeconds,
    PageStatus,
    Source,
    TokenCounts,
)
from ocrcli.errors import OutputError


@pytest.fixture
def report():
    document = Document(Source("a.pdf", "f" * 64, 2, 2))
    for number in (1, 2):
        document.add(
            Page(
                number,
                PageStatus.OK,
                tokens=TokenCounts(1000, 300),
                seconds=PageSeconds(0.1, 0.4, 0.5, 2.0),
            )
        )
    document.add(Page(3, PageStatus.BLANK))
    batch = Batch(1, [document], write_seconds=0.25)
    model = ModelFacts("small", "a" * 64, "float32", "cpu")
    return build_report(batch, model, load_seconds=1.5, total_seconds=9.0)


def test_stages_and_rates_add_up(report):
    assert report["seconds"] == {
        "total": 9.0,
        "load": 1.5,
        "render": 0.2,
        "encode": 0.8,
        "prefill": 1.0,
        "decode": 4.0,
        "write": 0.25,
    }
    assert report["decode_tokens_per_second"] == 150.0
    assert report["prefill_tokens_per_second"] == 2000.0
    assert report["pages_per_minute"] == pytest.approx(180 / 6.25, abs=0.01)
    assert report["pages_per_minute_total"] == 20.0
    assert report["statuses"] == {"ok": 2, "blank": 1}


def test_report_says_what_it_was_measured_on(report):
    assert report["model"]["device"] == "cpu"
    assert report["machine"]["cpus"] >= 1
    assert report["peak_rss_bytes"] > 1_000_000
    assert report["inputs"] == [{"source": "a.pdf", "sha256": "f" * 64}]


def test_report_of_nothing_has_no_infinite_rates():
    report = build_report(Batch(1), None, 0.0, 0.5)
    assert report["decode_tokens_per_second"] == 0.0
    assert "pages per minute" in format_report(report)


def test_table_is_aligned(report):
    lines = format_report(report).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert any(line.startswith("decode tokens per second") for line in lines)


def test_report_is_saved_as_one_line_of_json(report, tmp_path):
    save_report(report, tmp_path / "b.json")
    text = (tmp_path / "b.json").read_text()
    assert text.count("\n") == 1
    assert json.loads(text)["schema"] == "ocrcli-benchmark/1"


def test_unwritable_report_is_an_output_error(report, tmp_path):
    with pytest.raises(OutputError):
        save_report(report, tmp_path / "none" / "b.json")


def test_process_started_in_the_past_and_takes_memory():
    assert seconds_since_start() > 0
    assert peak_memory_bytes() > 0
