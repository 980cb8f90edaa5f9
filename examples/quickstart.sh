#!/bin/sh
# Sets everything up in .venv and transcribes a letter of two pages.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
sh "$root/examples/install.sh" >&2
exec "${OCRCLI_VENV:-$root/.venv}/bin/ocrcli" transcribe "$root/examples/letter.pdf"
