"""Makes `python -m ocrcli` the same as `ocrcli`."""

import sys

from ocrcli.cli import main

if __name__ == "__main__":
    sys.exit(main())
