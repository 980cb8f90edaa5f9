"""Models by name: `org/name` or `org/name@revision`, fetched once and then read from the cache.

Only weights in safetensors, settings and tokenizer files are fetched, so nothing that a repository
holds is ever run. The variables `HF_HOME`, `HF_HUB_OFFLINE` and `HF_TOKEN` have their usual
meaning.
"""

import fnmatch
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from ocrcli.errors import ModelError
from ocrcli.paths import Kind, kind_of

WANTED = (
    "config.json",
    "generation_config.json",
    "*.safetensors",
    "*.safetensors.index.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
)
"""Patterns of the files that are fetched."""

_NAME = re.compile(
    r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@(?P<revision>[\w./-]+))?", re.ASCII
)
_INSTALL = "pip install huggingface_hub"


def is_name(model: Path) -> bool:
    """Return whether a model may be meant by name."""
    return _NAME.fullmatch(str(model)) is not None


def local_model(model: Path | None, say: Callable[[str], None] | None = None) -> Path | None:
    """Return where a model lies on this computer, fetching it if it is named and not there.

    Args:
        model: A folder, a file, or a name; None for the shipped model.
        say: Told in one line what is fetched and how large it is.

    Raises:
        ModelError: There is no such model, or it cannot be fetched.
    """
    if model is None or kind_of(model) is not Kind.ABSENT:
        return model
    name = _NAME.fullmatch(str(model))
    if name is None:
        raise ModelError("no such model", source=str(model))
    try:
        import huggingface_hub
        import huggingface_hub.constants
    except ImportError as error:
        raise ModelError(
            "no such model on this computer, and fetching it by name needs huggingface_hub",
            source=str(model),
            next_action=_INSTALL,
        ) from error
    return fetched(name["repo"], name["revision"], huggingface_hub, say or (lambda line: None))


def fetched(repo: str, revision: str | None, hub: ModuleType, say: Callable[[str], None]) -> Path:
    """Return the folder of a model's files, complete.

    Args:
        repo: `org/name`.
        revision: Branch, tag or commit; None for the default branch.
        hub: The module huggingface_hub.
        say: Told in one line what is fetched and how large it is.

    Raises:
        ModelError: The model is unknown, not reachable, or not cached while offline.
    """
    name = repo if revision is None else f"{repo}@{revision}"
    try:
        if not hub.constants.HF_HUB_OFFLINE:
            info = hub.HfApi().model_info(repo, revision=revision, files_metadata=True)
            sizes = {file.rfilename: file.size or 0 for file in info.siblings or ()}
            wanted = [file for file in sizes if _is_wanted(file)]
            total = sum(sizes[file] for file in wanted)
            say(f"fetching {name}: {len(wanted)} files, {total / 1e9:.2f} GB, unless cached")
        folder = hub.snapshot_download(repo, revision=revision, allow_patterns=list(WANTED))
    # The library's errors share no base, and it passes on those of its transport, of which there
    # have been two; whatever it is, the model has not come.
    except Exception as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        cached = _cached(repo, revision, hub)
        if cached is None:
            raise ModelError(
                f"the model cannot be fetched: {reason}",
                source=name,
                next_action="check the name and the network, or give a folder",
            ) from error
        say(f"{name} is taken from the cache, since nothing can be fetched: {reason}")
        folder = cached
    return Path(folder)


def _cached(repo: str, revision: str | None, hub: ModuleType) -> str | None:
    """Return the folder of what was fetched before, or None."""
    try:
        folder: str = hub.snapshot_download(
            repo, revision=revision, allow_patterns=list(WANTED), local_files_only=True
        )
    except Exception:
        return None
    return folder


def _is_wanted(file: str) -> bool:
    return any(fnmatch.fnmatch(file, pattern) for pattern in WANTED)
