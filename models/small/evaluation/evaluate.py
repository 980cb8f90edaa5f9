r"""Scores the shipped checkpoint, through the real engine, on pages it has never seen.

    python -m ocrcli.models.small.evaluation.evaluate

reads the few pages of set "quick", which need nothing but the repository. With `--text`, `--fonts`,
`--packages` and `--files` every set of `sets.py` that has what it needs is made, read and scored;
the others are reported as not run. `--work DIR` keeps pages, readings and scores, and the three
steps can be taken one by one, reading on another machine:

    evaluate --work DIR --prepare --text DATA/text/heldout --fonts DATA/fonts/heldout \
        --packages DEBS --files FILES --pages 200,files=1
    evaluate --work DIR --read --device cuda --pages-in-flight 64
    evaluate --work DIR --baseline tesseract,rapidocr
    evaluate --work DIR --score

Tables for the model card go to stdout as Markdown, figures to `DIR/scores.json`.
"""

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ocrcli.errors import OcrError
from ocrcli.models.small.evaluation.page_set import set_names

_QUICK_PAGES = 12


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="evaluate", description="Score a checkpoint on pages it has never seen."
    )
    steps = parser.add_argument_group("steps; all but baselines are taken if none is named")
    steps.add_argument("--prepare", action="store_true", help="make the pages")
    steps.add_argument("--read", action="store_true", help="read them with the engine")
    steps.add_argument("--baseline", default="", help='comma-separated: "tesseract", "rapidocr"')
    steps.add_argument("--score", action="store_true", help="score what was read")
    parser.add_argument("--work", type=Path, help="folder of pages, readings and scores")
    parser.add_argument("--sets", help="comma-separated names (default: all, or what is prepared)")
    made = parser.add_argument_group("what sets are made of")
    made.add_argument("--text", type=Path, help="folder of held-out books")
    made.add_argument("--fonts", type=Path, help="folder of held-out fonts")
    made.add_argument("--packages", type=Path, help="folder of Debian packages, see README.md")
    made.add_argument("--files", type=Path, help="folder of documents with their texts")
    made.add_argument("--pages", default="200", help='pages of a set: "50" or "50,tables=20,…"')
    made.add_argument("--seed", type=int, default=1)
    made.add_argument("--no-prints", action="store_true", help="leave out 300-dpi pictures")
    reading = parser.add_argument_group("how pages are read")
    reading.add_argument("--model", type=Path, help="model folder or file (default: shipped)")
    reading.add_argument("--device", default="cpu", help='"cpu", "cuda" or "auto"')
    reading.add_argument("--dtype", default="auto", help='"auto", "float32" or "bfloat16"')
    reading.add_argument("--threads", type=int, help="CPU threads")
    reading.add_argument("--pages-in-flight", type=int, help="pages worked on at once")
    reading.add_argument("--attempts", type=int, default=3, help="readings of a doubtful page")
    reading.add_argument("--readings", type=Path, help="file to write (default: in --work)")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    """Run the command line described in the module docstring."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    steps = arguments.prepare or arguments.read or arguments.score or bool(arguments.baseline)
    if not steps:
        arguments.prepare = arguments.read = arguments.score = True
    try:
        if arguments.work is not None:
            _run(arguments, arguments.work)
        elif arguments.prepare and arguments.score:
            with tempfile.TemporaryDirectory() as scratch:
                _run(arguments, Path(scratch))
        else:
            raise ValueError("single steps need --work, the folder they share")
    except (ValueError, OcrError) as error:
        parser.error(str(error))
    except ModuleNotFoundError as error:
        parser.error(f"{error.name} is missing: pip install '.[evaluate]'")


def _run(arguments: argparse.Namespace, work: Path) -> None:
    if arguments.prepare:
        _prepare(arguments, work)
    names = arguments.sets.split(",") if arguments.sets else set_names(work)
    names = [name for name in names if (work / "pages" / name).is_dir()]
    readers = [name for name in arguments.baseline.split(",") if name]
    if arguments.readings and len(readers) + arguments.read > 1:
        raise ValueError("--readings names the file of one reader; give one step, or leave it out")
    if arguments.read:
        _read(arguments, work, names)
    for name in readers:
        from ocrcli.models.small.evaluation import baselines

        output = arguments.readings or work / "readings" / f"{name}.jsonl"
        try:
            baselines.read_sets(name, work, names, output)
        except baselines.MissingBaselineError as error:
            sys.stderr.write(f"{name}: not run: {error}\n")
    if arguments.score:
        from ocrcli.models.small.evaluation.card import card
        from ocrcli.models.small.evaluation.page_set import write_json
        from ocrcli.models.small.evaluation.scoring import score_folder

        scores = score_folder(work, arguments.seed)
        write_json(work / "scores.json", scores)
        sys.stdout.write(card(scores))


def _prepare(arguments: argparse.Namespace, work: Path) -> None:
    from ocrcli.models.small.evaluation.prepare import Order, prepare
    from ocrcli.models.small.evaluation.sets import SETS

    has_data = arguments.text or arguments.packages or arguments.files
    names = list(SETS) if has_data else ["quick"]
    if arguments.sets:
        names = arguments.sets.split(",")
    prepare(
        Order(
            names=names,
            counts=page_counts(arguments.pages if has_data else str(_QUICK_PAGES), list(SETS)),
            text=arguments.text,
            fonts=arguments.fonts,
            files=arguments.files,
            packages=arguments.packages,
            seed=arguments.seed,
            with_prints=not arguments.no_prints,
        ),
        work,
    )


def page_counts(wanted: str, names: Sequence[str]) -> dict[str, int]:
    """Return the number of pages of every set.

    Args:
        wanted: A number for all sets and exceptions, such as "50,tables=20".
        names: Names of all sets.

    Raises:
        ValueError: A number is not positive, or a set is unknown.

    Example:
        >>> page_counts("50,tables=20", ["clean", "tables"])
        {'clean': 50, 'tables': 20}
    """
    counts = dict.fromkeys(names, 200)
    for entry in wanted.split(","):
        name, _, number = entry.rpartition("=")
        if not number.isdecimal() or int(number) < 1 or (name and name not in counts):
            raise ValueError(f'pages must be like "50" or "50,tables=20", got "{entry}"')
        counts.update({name: int(number)} if name else dict.fromkeys(names, int(number)))
    return counts


def _read(arguments: argparse.Namespace, work: Path, names: Sequence[str]) -> None:
    from ocrcli.models.small.evaluation.reading import read_sets
    from ocrcli.options import Device, Dtype, Options, choice

    options = Options(
        model=arguments.model,
        device=choice(Device, "device", arguments.device),
        dtype=choice(Dtype, "dtype", arguments.dtype),
        threads=arguments.threads,
        pages_in_flight=arguments.pages_in_flight,
        attempts=arguments.attempts,
    )
    output = arguments.readings or work / "readings" / "ocrcli.jsonl"
    read_sets(work, names, options, output)


if __name__ == "__main__":
    main()
