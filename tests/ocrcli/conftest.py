"""What several tests of the program use."""

import pytest

UNSURE = 0.97
"""A confidence that makes a page doubtful, but not suspect."""


@pytest.fixture
def doubtful(fakes):
    """First and second answers to doubtful pages."""

    def make(*numbers, second=0.99, **fields):
        return {
            "script": {
                n: fakes.result(n, fakes.block("First"), confidence=UNSURE) for n in numbers
            },
            "later": {
                n: fakes.result(n, fakes.block("Second"), confidence=second, **fields)
                for n in numbers
            },
        }

    return make
