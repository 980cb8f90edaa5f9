"""What is written about the command agrees with the command."""

import re

import pytest

from ocrcli.errors import ExitCode


@pytest.fixture(scope="module")
def options():
    import typer

    from ocrcli.cli import app

    command = typer.main.get_command(app).commands["transcribe"]
    return [name for option in command.params for name in option.opts if name.startswith("--")]


def test_man_page_names_every_option(repository, options):
    page = (repository / "docs" / "ocrcli.1").read_text().replace("\\-", "-")
    assert [name for name in options if name not in page] == []


def test_exit_codes_are_listed_everywhere(repository, run_process):
    readme = (repository / "README.md").read_text().partition("### Exit codes")[2]
    page = (repository / "docs" / "ocrcli.1").read_text().partition("EXIT STATUS")[2]
    shown = run_process("--help").stdout.partition("Exit codes")[2]
    for text in (readme, page, shown):
        found = {int(number) for number in re.findall(r"\b\d+\b", text)}
        assert {int(code) for code in ExitCode} <= found


def test_changes_name_the_version(repository):
    from ocrcli import __version__

    assert f"## {__version__}" in (repository / "CHANGELOG.md").read_text()


def test_list_of_faults_names_tests_that_exist(repository):
    listed = (repository / "tests" / "faults" / "README.md").read_text()
    code = "".join(path.read_text() for path in (repository / "tests").rglob("test_*.py"))
    named = set(re.findall(r"`(test_\w+)`", listed))
    assert len(named) > 50
    assert {name for name in named if f"def {name}(" not in code} == set()
