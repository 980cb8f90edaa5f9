"""Commands that measure a model: `calibrate-router` and `verify`."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ocrcli.errors import ExitCode
from ocrcli.guard import guarded, print_error
from ocrcli.model_flags import DeviceFlag, DtypeFlag, MaxTokensFlag, ModelFlag, ThreadsFlag
from ocrcli.options import Device, Options, ReadingMode
from ocrcli.settings import chosen_model
from ocrcli.streams import write_stdout

if TYPE_CHECKING:
    from ocrcli.verification import Comparison

_Verbosity = Annotated[
    int,
    typer.Option("--verbose", "-v", count=True, show_default=False, help="-vv: tracebacks."),
]


def calibrate_router(
    document: Annotated[str, typer.Argument(help="A PDF or picture whose transcript is known.")],
    reference: Annotated[
        Path, typer.Option(metavar="FILE", help="Its transcript, <PAGE> before each page.")
    ],
    model: Annotated[
        Path, typer.Option(metavar="MODEL", help="Unlimited-OCR of the second generation.")
    ],
    device: Annotated[Device, typer.Option(help="Where the model runs.")] = Device.AUTO,
    verbose: _Verbosity = 0,
) -> int:
    """Measure which of a large model's open settings make a known document most likely."""

    def work() -> int:
        from ocrcli.known_document import calibration_report
        from ocrcli.recogniser import chosen_device

        for line in calibration_report(document, reference, model, chosen_device(device)):
            write_stdout(sys.stdout, f"{line}\n")
        return ExitCode.OK

    return guarded(work, verbose)


def verify(
    pages: Annotated[
        Path, typer.Option(metavar="DIR", help="Page images, each with its text: a.png and a.txt.")
    ],
    references: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Where the texts lie [default: --pages].")
    ] = None,
    model: ModelFlag = None,
    device: DeviceFlag = Options.device,
    dtype: DtypeFlag = Options.dtype,
    mode: Annotated[
        ReadingMode, typer.Option(help="Large models: onepass reads pages without tiles.")
    ] = Options.mode,
    max_crops: Annotated[
        int | None, typer.Option(metavar="N", help="Large models: most tiles of a page.")
    ] = None,
    max_tokens: MaxTokensFlag = None,
    threads: ThreadsFlag = None,
    verbose: _Verbosity = 0,
) -> int:
    """Read page images whose text is known and print the character error rate of each.

    Texts that hold <|det|> or <PAGE> are compared with what the model writes, .md files with the
    Markdown made of it, others with plain text. Images that cannot be read are listed, not counted
    in the total, and make the exit code 10 (a lone image) or 1 (one of several).
    """

    def work() -> int:
        from ocrcli.verification import exit_code, known_pages, report, verify

        options = Options(
            model=chosen_model(model),
            device=device,
            dtype=dtype,
            mode=mode,
            max_crops=max_crops,
            max_tokens=max_tokens,
            threads=threads,
        )
        done: list[Comparison] = []

        def told() -> "Iterator[Comparison]":
            for each in verify(known_pages(pages, references), options):
                done.append(each)
                if each.failure is not None:
                    print_error(each.failure)
                yield each

        for line in report(told()):
            write_stdout(sys.stdout, f"{line}\n")
        return exit_code(done)

    return guarded(work, verbose)
