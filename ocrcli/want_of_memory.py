"""Want of memory as an error that a user can act on."""

import contextlib
from collections.abc import Iterator

from ocrcli.errors import DeviceError

LESS = "use --pages-in-flight 1, --dtype bfloat16 or --device cpu"
"""What takes less memory."""


class GpuFullError(DeviceError):
    """A GPU without memory for what it was to do."""


@contextlib.contextmanager
def memory_reported(message: str | None = None) -> Iterator[None]:
    """Turn want of memory into `DeviceError`; no other page would fare better.

    Args:
        message: What is said of it; None: that there is none left.

    Raises:
        GpuFullError: A GPU is full.
        DeviceError: The computer's memory is full.
    """
    import torch

    try:
        yield
    except (RuntimeError, MemoryError) as error:
        # Only GPUs have a class of errors for it; on CPUs the message has to tell.
        is_gpu = isinstance(error, torch.cuda.OutOfMemoryError)
        if not (is_gpu or isinstance(error, MemoryError) or "allocate memory" in str(error)):
            raise
        if is_gpu:
            raise GpuFullError(message or "the GPU has no memory left", next_action=LESS) from error
        raise DeviceError(message or "the computer has no memory left", next_action=LESS) from error


def loading_reported() -> contextlib.AbstractContextManager[None]:
    """Return the same for a model that is being loaded."""
    return memory_reported("the model does not fit into memory")
