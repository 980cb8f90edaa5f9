"""The tokenizer that lies beside a model's weights, held against the model's settings."""

from typing import TYPE_CHECKING

from ocrcli.errors import ModelError

if TYPE_CHECKING:
    from ocrcli.models import LoadedModel
    from ocrcli.tokenizer import Tokenizer


def tokenizer_of(loaded: "LoadedModel") -> "Tokenizer":
    """Return the tokenizer of a model.

    Args:
        loaded: The model; where its settings do not name the id of `<PAGE>`, it is told here.

    Raises:
        ModelError: The tokenizer is missing, damaged, or belongs to another model.
    """
    from ocrcli.tokenizer import Tokenizer

    config, tokens = loaded.config, loaded.config.tokens
    name = loaded.files.name
    try:
        tokenizer = Tokenizer.from_file(loaded.files.tokenizer)
        found = {"eos": tokenizer.eos_id, "image": tokenizer.image_id}
        # The first generation writes its page marker as text.
        if config.has_markers:
            found["page"] = tokenizer.page_id
    except (OSError, ValueError) as error:
        raise ModelError(f"{name}: {error}") from error
    for marker, id_ in found.items():
        expected = getattr(tokens, marker)
        if expected not in (None, id_):
            raise ModelError(
                f"{name}: id of {marker} is {id_} in tokenizer.json and {expected} in "
                "config.json; they must be equal"
            )
    size = config.decoder.vocab_size
    if tokenizer.vocab_size > size:
        raise ModelError(
            f"{name}: tokenizer.json has {tokenizer.vocab_size} ids and the model {size}; use the "
            "tokenizer.json that belongs to the model"
        )
    if config.has_markers and tokens.page is None:
        loaded.model.use_page_id(tokenizer.page_id)
    return tokenizer
