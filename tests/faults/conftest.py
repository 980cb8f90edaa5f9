"""What every row of the fault matrix checks."""

import pytest


@pytest.fixture
def leftovers():
    """Return the names of all files below a folder, hidden ones too, but for the manifest."""

    def names(folder):
        return sorted(
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file() and path.name != "ocrcli-manifest.jsonl"
        )

    return names


@pytest.fixture
def one_line():
    """Check that stderr is one line that names the file, without a traceback."""

    def check(done, *words):
        assert done.stderr.startswith("ocrcli: error: ")
        assert done.stderr.count("\n") == 1
        assert all(word in done.stderr for word in words)

    return check
