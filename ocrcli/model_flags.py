"""Flags by which several commands choose a model and where it runs."""

from pathlib import Path
from typing import Annotated

import typer

from ocrcli.options import Device, Dtype

ModelFlag = Annotated[
    Path | None,
    typer.Option(
        # Typer 0.27 would make the option --MODEL, after the word below.
        "--model",
        metavar="MODEL",
        help="Folder, safetensors file or org/name[@revision] [default: shipped].",
    ),
]
DeviceFlag = Annotated[Device, typer.Option(help="Where the model runs.")]
DtypeFlag = Annotated[
    Dtype, typer.Option(help="auto is float32 on CPU, bfloat16 on GPU; int8 saves memory.")
]
MaxTokensFlag = Annotated[int | None, typer.Option(metavar="N", help="Cut a page after N tokens.")]
ThreadsFlag = Annotated[int | None, typer.Option(metavar="N", help="CPU threads.")]
