#!/bin/sh
# Makes a virtual environment with the CPU build of PyTorch, this package and its test tools.
# Does nothing if that was done before. OCRCLI_VENV names another place for it, PYTHON another
# interpreter.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
venv=${OCRCLI_VENV:-$root/.venv}
python=${PYTHON:-python3}

if [ "$venv/installed" -nt "$root/pyproject.toml" ]; then
    exit 0
fi
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    echo "Python 3.11 or newer is needed; name it with PYTHON=..." >&2
    exit 1
fi
if [ ! -x "$venv/bin/python" ]; then
    "$python" -m venv "$venv"
fi

# The builds with CUDA are the default on Linux. The suffix keeps pip from taking one of them.
case $(uname -s) in
    Linux) torch='torch==2.13.0+cpu' ;;
    *) torch='torch==2.13.0' ;;
esac
"$venv/bin/python" -m pip install --no-deps \
    --extra-index-url https://download.pytorch.org/whl/cpu "$torch"
"$venv/bin/python" -m pip install -e "$root[test]"
touch "$venv/installed"
