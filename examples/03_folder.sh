#!/bin/sh
# Transcribes every PDF of a folder: sh examples/03_folder.sh [FOLDER] [OUTPUT_FOLDER]
# A file that fails does not stop the others; the exit code is 1 then.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
ocrcli transcribe "${1:-$here}"/*.pdf -o "${2:-transcripts}/" --force
