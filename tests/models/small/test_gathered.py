"""Prose and code that training pages are set from are gathered clean, once, and partly held out."""

import gzip
import json

import pytest

from ocrcli.models.small.training import gathered
from ocrcli.models.small.training.charset import untaught
from ocrcli.models.small.training.gathered import (
    RECORD,
    TextRecord,
    clean_marked,
    code_lines,
    read_records,
    write_code,
    write_prose,
)
from ocrcli.models.small.training.paragraphs import extract
from ocrcli.models.small.training.typeset import BOLD, PLAIN, SLANTED, TYPEWRITER, unmarked

COMMON = {
    "en": {"the", "of", "and", "to", "is", "a", "in", "it", "that", "was"},
    "de": {"der", "die", "und", "ist", "das", "in", "zu", "den", "mit", "es"},
}


def found_in(tmp_path, name, text):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return extract(path)


def test_html_gives_paragraphs_with_styles_and_displays_with_lines(tmp_path):
    found = found_in(
        tmp_path,
        "page.html",
        "<head><title>No</title></head><nav><p>Skip</p></nav><h1>No</h1>"
        "<p>Call <code>f(x)</code> with\n <em>x</em>, <b>bold <i>too</i></b>.</p>"
        "<pre>if x:\n    y()\n</pre><ul><li>An item</li></ul><div>No</div>",
    )
    assert found.paragraphs == [
        f"Call {TYPEWRITER}f(x){PLAIN} with {SLANTED}x{PLAIN}, {BOLD}bold too{PLAIN}.",
        "An item",
    ]
    assert found.displays == [["if x:", "    y()"]]


def test_pod_codes_become_styles(tmp_path):
    found = found_in(
        tmp_path,
        "page.pod",
        "=head1 No\n\nUse C<< $x->y >> or C<a E<lt> b>, see L<perlre>.\n\n    my $x;\n    $x++;\n",
    )
    assert [unmarked(text) for text in found.paragraphs] == ["Use $x->y or a < b, see perlre."]
    assert found.paragraphs[0].startswith(f"Use {TYPEWRITER}$x->y{PLAIN}")
    assert found.displays == [["    my $x;", "    $x++;"]]


def test_info_quotes_hold_typewriter(tmp_path):
    line = "This line is long enough to be taken for running text, ‘as’ it"
    found = found_in(tmp_path, "page.info.gz", f"* Menu::\n\n{line}\n{line}\nis.\n")
    assert len(found.paragraphs) == 1
    assert f"‘{TYPEWRITER}as{PLAIN}’ it This" in found.paragraphs[0]


def test_cleaning_keeps_marks_and_folds_the_rest():
    text = f"a\u00a0{TYPEWRITER}b\u2011c{PLAIN}, d ¶"
    assert clean_marked(text) == f"a {TYPEWRITER}b-c{PLAIN}, d"
    assert clean_marked(f"a {TYPEWRITER}日本{PLAIN}") == ""


def test_code_lines_are_taught_and_narrow():
    assert code_lines(["\tx = 1  ", "", "日本", "y" * 200]) == ["    x = 1"]


@pytest.fixture
def root(tmp_path, monkeypatch):
    record = TextRecord("some-doc", "1.0", "MIT", {"de": ["doc/*.html"]}, {"c": ["src/*.h"]})
    monkeypatch.setattr(gathered, "read_records", lambda: (record,))
    root = tmp_path / "root"
    (root / "doc").mkdir(parents=True)
    (root / "src").mkdir()
    german = "Der Satz {} ist lang genug und es ist das, was in den Text mit soll."
    english = "The sentence is long enough and it is that of the text that was in a file."
    for index in range(120):
        text = f"<p>{german.format(index)}</p><p>{english}</p><p>Kurz.</p>"
        (root / "doc" / f"{index}.html").write_text(text * 2)
    (root / "src" / "x.h").write_text("int x;\nint y;\n\nint z;\nint w;\n")
    return root


def test_prose_is_translated_unique_and_partly_held_out(root, tmp_path):
    counts = write_prose([root], tmp_path / "out", COMMON, 10**6)
    train = (tmp_path / "out/prose/de.txt").read_text().splitlines()
    held_out = (tmp_path / "out/heldout/prose/de.txt").read_text().splitlines()
    assert len(train) + len(held_out) == 120
    assert not set(train) & set(held_out)
    assert 0 < len(held_out) < 20
    assert all(line.startswith("Der Satz") for line in train)
    assert counts["de"] == sum(len(line) + 1 for line in train)


def test_no_more_is_taken_than_wanted(root, tmp_path):
    write_prose([root], tmp_path / "out", COMMON, 500)
    assert (tmp_path / "out/prose/de.txt").stat().st_size < 700


def test_code_comes_from_packages_and_the_interpreter(root, tmp_path):
    counts = write_code([root], tmp_path / "out", 50_000)
    assert counts["python"] > 40_000
    assert "def " in (tmp_path / "out/code/python.txt").read_text(encoding="utf-8")
    pieces = [
        (tmp_path / "out" / folder / "c.txt").read_text().strip()
        for folder in ("code", "heldout/code")
    ]
    assert sorted("\n\n".join(filter(None, pieces)).split("\n\n")) == [
        "int x;\nint y;",
        "int z;\nint w;",
    ]
    assert not untaught((tmp_path / "out/code/python.txt").read_text(encoding="utf-8"))


def test_missing_packages_are_named(root, tmp_path):
    with pytest.raises(ValueError, match=r"files of some-doc 1\.0"):
        write_prose([tmp_path / "nothing"], tmp_path / "out", COMMON, 100)


def test_every_package_is_recorded_with_version_and_licence():
    records = read_records()
    assert len({record.name for record in records}) == len(records)
    assert all(record.version and record.licence for record in records)
    assert all(record.prose or record.code for record in records)
    languages = {language for record in records for language in record.prose}
    assert languages == {"en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "pl"}


def test_unknown_fields_are_refused(tmp_path):
    path = tmp_path / "texts.json"
    path.write_text(json.dumps({"packages": [{"name": "a"}]}))
    with pytest.raises(ValueError, match="keys"):
        read_records(path)


def test_no_package_of_the_evaluation_is_gathered():
    evaluated = RECORD.parents[1] / "evaluation" / "debian_docs.json"
    names = {entry["name"] for entry in json.loads(evaluated.read_text())["packages"]}
    gathered_names = {record.name for record in read_records()}
    assert not gathered_names & names
    assert not any(name.startswith("manpages") for name in gathered_names)
