#!/bin/sh
# Measures the program on one document: sh examples/04_benchmark.sh [INPUT] [REPORT]
# The transcript is thrown away, the table appears on stderr, the report becomes a JSON file.
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
input=${1:-$here/report.pdf}
report=${2:-benchmark.json}
ocrcli transcribe "$input" --benchmark-output "$report" --quiet >/dev/null
echo "$report"
