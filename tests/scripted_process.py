"""Runs the command with a recogniser that follows a script, in a process that loads no PyTorch.

The script is JSON in the variable SCRIPT:
    turned: how far pages were turned, by number
    figures: boxes of figures, by page number, behind the text
    loop, long, error: numbers of pages that end so; retry: pages whose second reading is good
    kill: pages to read before the process kills itself
    signal: like kill, with the number of the signal
    kill_after_rename: whether the process kills itself when an output has got its name
    wait: seconds that each page takes
    log: file that gets a line per page that is read
"""

import json
import os
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import ocrcli.recogniser
import ocrcli.resumption
from ocrcli.cli import main
from ocrcli.confidence import TokenTrace
from ocrcli.document import ModelFacts

SCRIPT = json.loads(os.environ.get("SCRIPT", "{}"))


@dataclass(frozen=True)
class Seconds:
    encode: float = 0.1
    prefill: float = 0.1
    decode: float = 0.1


@dataclass(frozen=True)
class Result:
    page_number: int
    markup: str
    finish: str = "eos"
    error: str | None = None
    prompt_tokens: int = 10
    output_tokens: int = 5
    seconds: Seconds = Seconds()
    rotation: int = 0
    line_starts: tuple = ()
    notices: tuple = ()
    trace: TokenTrace | None = None

    def __post_init__(self) -> None:
        """Give it two tokens unless it has some: all but the last character, and that one."""
        length = len(self.markup)
        two = TokenTrace((length - 1, length), (1.0, 0.98)) if length else TokenTrace()
        object.__setattr__(self, "trace", self.trace or two)


def look(pixels) -> str:
    """Return where on the page there is much ink, as sixteen signs."""
    height, width = (side // 4 for side in pixels.shape)
    cells = pixels[: height * 4, : width * 4].reshape(4, height, 4, width)
    dark = (cells < 128).mean(axis=(1, 3)) > 0.05
    return "".join("#" if cell else "o" for cell in dark.ravel())


class Recogniser:
    def __init__(self, options) -> None:
        self.facts, self.load_seconds, self.unknown_keys = None, 0.1, ()
        self.page_size = None
        self.read = 0

    def load(self):
        pass

    def transcribe(self, pages):
        for page in pages:
            self.facts = ModelFacts("scripted", "0" * 64, "float32", "cpu")
            self._stop()
            self.read += 1
            time.sleep(SCRIPT.get("wait", 0))
            if "log" in SCRIPT:
                with Path(SCRIPT["log"]).open("a") as log:
                    log.write(f"{page.page_number}\n")
            yield self._result(page)

    def again(self, page, first):
        if page.page_number in SCRIPT.get("retry", ()):
            return Result(page.page_number, self._markup(page))
        return None

    def _stop(self) -> None:
        if self.read == SCRIPT.get("kill"):
            os.kill(os.getpid(), signal.SIGKILL)
        if self.read == SCRIPT.get("signal", (None,))[0]:
            os.kill(os.getpid(), SCRIPT["signal"][1])

    def _markup(self, page) -> str:
        number, sight = page.page_number, look(page.pixels)
        figures = "".join(
            f"\n<|det|>image {box}<|/det|>"
            for box in SCRIPT.get("figures", {}).get(str(number), ())
        )
        return f"<|det|>text [50, 50, 950, 950]<|/det|>{number} {sight}{figures}"

    def _result(self, page) -> Result:
        number = page.page_number
        if number in SCRIPT.get("error", ()):
            return Result(number, "", "error", "scores are not finite")
        for name, finish in (("loop", "loop"), ("long", "length")):
            if number in SCRIPT.get(name, ()):
                return Result(number, self._markup(page), finish)
        rotation = SCRIPT.get("turned", {}).get(str(number), 0)
        return Result(number, self._markup(page), rotation=rotation)


ocrcli.recogniser.ModelRecogniser = Recogniser

if SCRIPT.get("kill_after_rename"):
    ocrcli.resumption.Resumption.done = lambda *_: os.kill(os.getpid(), signal.SIGKILL)

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
