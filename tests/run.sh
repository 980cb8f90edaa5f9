#!/bin/sh
# Runs every check: style, types, tests. Makes the environment first if need be. Arguments are
# passed on to pytest.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
cd "$root"
sh examples/install.sh
bin=${OCRCLI_VENV:-$root/.venv}/bin

"$bin/ruff" check .
"$bin/ruff" format --check .
# Type checkers do not follow the import hook of an editable installation; they follow links.
"$bin/python" tests/link_tree.py
(cd build/typing && "$bin/mypy" --config-file "$root/pyproject.toml" -p ocrcli)
# -P keeps the checkout off the import path, so that the installed package is what is tested.
exec "$bin/python" -P -m pytest "$@"
