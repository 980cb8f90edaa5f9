"""Commands that measure a model: `calibrate-router`."""

from pathlib import Path
from typing import Annotated

import typer

from ocrcli.errors import ExitCode
from ocrcli.guard import guarded
from ocrcli.options import Device

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
            typer.echo(line)
        return ExitCode.OK

    return guarded(work, verbose)
