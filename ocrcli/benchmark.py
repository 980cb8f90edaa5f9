"""The `--benchmark` report: seconds per stage, rates, memory, and what they were measured on."""

import json
import os
import platform
import resource
import sys
import time
from pathlib import Path

from ocrcli import __version__
from ocrcli.batch import Batch
from ocrcli.document import ModelFacts, PageSeconds, PageStatus, TokenCounts
from ocrcli.outputs import WholeFile

SCHEMA = "ocrcli-benchmark/1"
"""Name and version of the report's schema."""

_IMPORTED = time.monotonic()


def seconds_since_start() -> float:
    """Return the wall time since the process was created, so that starting up is counted too.

    Where the system does not tell, the time since this module was imported is returned.
    """
    try:
        # The command's name stands in parentheses and may hold blanks; field 22 is the start time.
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, IndexError, AttributeError):
        return time.monotonic() - _IMPORTED


def peak_memory_bytes() -> int:
    """Return the largest amount of memory that the process has held."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def build_report(
    batch: Batch, model: ModelFacts | None, load_seconds: float, total_seconds: float
) -> dict[str, object]:
    """Return the report as a JSON object.

    Args:
        batch: The account of the run.
        model: The model that was used, or None.
        load_seconds: Time it took to load the model.
        total_seconds: Wall time of the whole run, start included.
    """
    stages = sum((document.stages for document in batch.documents), PageSeconds())
    tokens = sum((document.tokens for document in batch.documents), TokenCounts())
    pages = sum(document.num_pages for document in batch.documents)
    statuses = {
        str(status): sum(document.count(status) for document in batch.documents)
        for status in PageStatus
    }
    # Everything but start and load: what a longer run would take per page.
    working = stages.total + batch.write_seconds
    return {
        "schema": SCHEMA,
        "version": __version__,
        "files": batch.num_inputs,
        "files_failed": len(batch.errors),
        "pages": pages,
        "statuses": {name: count for name, count in statuses.items() if count},
        "tokens": {"prompt": tokens.prompt, "output": tokens.output},
        "seconds": {
            "total": _rounded(total_seconds),
            "load": _rounded(load_seconds),
            "render": _rounded(stages.render),
            "encode": _rounded(stages.encode),
            "prefill": _rounded(stages.prefill),
            "decode": _rounded(stages.decode),
            "write": _rounded(batch.write_seconds),
        },
        "prefill_tokens_per_second": _rate(tokens.prompt, stages.prefill),
        "decode_tokens_per_second": _rate(tokens.output, stages.decode),
        "pages_per_minute": _rate(60 * pages, working),
        "pages_per_minute_total": _rate(60 * pages, total_seconds),
        "peak_rss_bytes": peak_memory_bytes(),
        "peak_gpu_bytes": _peak_gpu_bytes(),
        "model": model
        and {
            "id": model.id,
            "sha256": model.sha256,
            "dtype": model.dtype,
            "device": model.device,
        },
        "machine": _machine(),
        "inputs": [
            {"source": document.source.name, "sha256": document.source.sha256}
            for document in batch.documents
        ],
    }


def format_report(report: dict[str, object]) -> str:
    """Return the report as a table for people.

    Args:
        report: As `build_report` made it.
    """
    seconds, tokens = report["seconds"], report["tokens"]
    assert isinstance(seconds, dict) and isinstance(tokens, dict), "reports have these sections"
    peak = report["peak_rss_bytes"]
    assert isinstance(peak, int), "memory is counted in bytes"
    rows = [(f"{stage} seconds", f"{value:.2f}") for stage, value in seconds.items()]
    rows += [
        ("pages", str(report["pages"])),
        ("pages per minute", f"{report['pages_per_minute']:.1f}"),
        ("prompt tokens", str(tokens["prompt"])),
        ("output tokens", str(tokens["output"])),
        ("decode tokens per second", f"{report['decode_tokens_per_second']:.1f}"),
        ("peak memory MB", f"{peak / 1e6:.0f}"),
    ]
    name_width = max(len(name) for name, _ in rows)
    value_width = max(len(value) for _, value in rows)
    return "\n".join(f"{name:<{name_width}}  {value:>{value_width}}" for name, value in rows)


def save_report(report: dict[str, object], path: Path) -> None:
    """Write the report's JSON object to a file.

    Args:
        report: As `build_report` made it.
        path: The file; it is replaced if it exists.

    Raises:
        OutputError: It cannot be written.
    """
    with WholeFile(path) as file:
        file.write(json.dumps(report) + "\n")
        file.finish()


def _machine() -> dict[str, object]:
    torch = sys.modules.get("torch")
    return {
        "platform": platform.platform(),
        "processor": _processor(),
        "cpus": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "threads": torch.get_num_threads() if torch else None,
        "gpu": _gpu_name(),
        "python": platform.python_version(),
        "torch": str(torch.__version__) if torch else None,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _gpu_name() -> str | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return str(torch.cuda.get_device_name())


def _peak_gpu_bytes() -> int | None:
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_initialized():
        return None
    return int(torch.cuda.max_memory_allocated())


def _rounded(seconds: float) -> float:
    return round(seconds, 4)


def _rate(amount: float, seconds: float) -> float:
    return round(amount / seconds, 2) if seconds > 0 else 0.0
