#!/bin/sh
# Turns a PDF into Markdown: sh examples/02_pdf_to_markdown.sh [INPUT] [OUTPUT]
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
input=${1:-$here/heading_and_list.pdf}
output=${2:-heading_and_list.md}
ocrcli transcribe "$input" --format md -o "$output" --force
cat "$output"
