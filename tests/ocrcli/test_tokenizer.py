from importlib import resources

import pytest

from ocrcli.tokenizer import Tokenizer

LABELS = [
    "title",
    "text",
    "list",
    "table",
    "formula",
    "figure",
    "caption",
    "header",
    "footer",
    "page_number",
    "footnote",
    "aside",
    "code",
]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(resources.files("ocrcli.models.small") / "tokenizer.json"))


def test_ids_are_laid_out_as_the_model_expects(tokenizer: Tokenizer) -> None:
    assert tokenizer.vocab_size == 6144
    controls = [
        tokenizer.pad_id,
        tokenizer.bos_id,
        tokenizer.eos_id,
        tokenizer.image_id,
        tokenizer.page_id,
        tokenizer.det_id,
        tokenizer.end_det_id,
    ]
    assert controls == [0, 1, 2, 3, 4, 5, 6]
    assert [tokenizer.label_ids[label] for label in LABELS] == list(range(7, 20))
    assert len(tokenizer.tag_ids) == 12
    first = tokenizer.integer_id(0)
    assert [tokenizer.integer_id(value) for value in range(1000)] == list(
        range(first, first + 1000)
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Plain words, and “quoted” ones — it’s 3.14 % of £1,234.56.",
        "Zażółć gęślą jaźń; Ærø, façade, Straße, ¿qué?, œuvre",
        "two\n\nbreaks \n and  spaces\t",
        "outside the alphabet: 漢字 🙂 \u0000 e\u0301",
        "<PAGE> <|det|>title [1, 2, 3, 4]<|/det|> <pad><eos><image><td> <|int:5|> <|label:text|>",
    ],
)
def test_text_survives_and_its_markers_stay_text(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    # Ids below the first byte belong to markers, which text must not be able to write.
    assert all(id_ >= tokenizer.encode("!")[0] for id_ in ids)


def test_digits_and_line_breaks_stand_alone(tokenizer: Tokenizer) -> None:
    pieces = [tokenizer.decode([id_]) for id_ in tokenizer.encode("in 2026, 10,000\n\nmen\n99")]
    for piece in pieces:
        assert len(piece) == 1 or not any(char.isdigit() or char == "\n" for char in piece)
    assert tokenizer.encode("\n") == [tokenizer.newline_id]


def test_block_header_is_written_as_public_markup(tokenizer: Tokenizer) -> None:
    ids = [
        tokenizer.page_id,
        *tokenizer.encode_det("page_number", (0, 34, 560, 999)),
        *tokenizer.encode("12"),
        tokenizer.eos_id,
    ]
    expected = "<PAGE><|det|>page_number [0, 34, 560, 999]<|/det|>12"
    assert tokenizer.decode(ids) == expected


def test_header_with_missing_parts_is_written_as_far_as_it_goes(tokenizer: Tokenizer) -> None:
    header = tokenizer.encode_det("title", (1, 2, 3, 4))
    word = tokenizer.encode("word")
    assert tokenizer.decode(header[:4] + word) == "<|det|>title [1, 2]word"
    assert tokenizer.decode(header[:1] + header[6:] + word) == "<|det|><|/det|>word"
    assert tokenizer.decode(header[:1] + header[2:4] + header[6:]) == "<|det|>[1, 2]<|/det|>"
    # Where no header began, coordinates are the places of lines, which spell nothing.
    assert tokenizer.decode(header[1:] + word) == "<|/det|>word"


def test_cells_carry_their_spans(tokenizer: Tokenizer) -> None:
    ids = [
        *tokenizer.encode_tag("<td>", columns=2, rows=3),
        *tokenizer.encode("x"),
        *tokenizer.encode_tag("</td>"),
    ]
    assert tokenizer.decode(ids) == '<td colspan="2" rowspan="3">x</td>'
    assert tokenizer.decode(ids[:2]) == "<td>"


def test_any_ids_decode(tokenizer: Tokenizer) -> None:
    everything = list(range(-2, tokenizer.vocab_size + 2))
    assert tokenizer.decode(everything)
    assert tokenizer.decode(everything[::-1])
    assert tokenizer.decode([tokenizer.pad_id, tokenizer.image_id, 10**9, -1]) == ""


def test_broken_characters_become_replacement_characters(tokenizer: Tokenizer) -> None:
    ids = tokenizer.encode("漢")
    assert len(ids) > 1
    assert tokenizer.decode([*ids[:-1], tokenizer.page_id]) == "\ufffd<PAGE>"


def test_ends_tell_which_characters_an_id_wrote(tokenizer: Tokenizer) -> None:
    header = tokenizer.encode_det("text", (1, 2, 3, 4))
    half = tokenizer.encode("漢")
    cell = tokenizer.encode_tag("<td>", columns=2)
    ids = [*header, *tokenizer.encode("a"), *half, *cell, -1, *half[:-1]]
    markup, ends = tokenizer.decode_with_ends(ids)
    assert markup == tokenizer.decode(ids)
    assert markup == '<|det|>text [1, 2, 3, 4]<|/det|>a漢<td colspan="2">\ufffd'
    assert len(ends) == len(ids)
    assert ends == sorted(ends)
    # A header is written as a whole, a character by its last byte.
    place = {text: markup.index(text) + len(text) for text in ("4]", "/det|>", "a", "漢", '2">')}
    wanted = [place["4]"]] * 6 + [place["/det|>"], place["a"]]
    wanted += [place["a"]] * (len(half) - 1) + [place["漢"]] + [place['2">']] * 4
    assert ends[: len(wanted)] == wanted
    assert ends[-1] == len(markup)
    assert tokenizer.decode_with_ends([]) == ("", [])


def test_unknown_names_are_refused_with_the_choices(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="label must be one of .*'aside'.*got 'heading'"):
        tokenizer.encode_det("heading", (0, 0, 1, 1))
    with pytest.raises(ValueError, match="value must be one of the 1000 .* got 1000"):
        tokenizer.encode_det("text", (0, 0, 1, 1000))
    with pytest.raises(ValueError, match="columns and rows must be 1 for <tr>"):
        tokenizer.encode_tag("<tr>", columns=2)


def test_bad_file_is_named(tmp_path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text("{}", encoding="utf-8")
    for path in (file, tmp_path / "none.json"):
        with pytest.raises(ValueError, match="path must be a tokenizer.json file"):
            Tokenizer.from_file(path)


def test_tokenizer_that_spells_headers_out_gives_the_same_markup(tmp_path) -> None:
    from tokenizers import AddedToken, decoders, models, pre_tokenizers
    from tokenizers import Tokenizer as Backend

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Backend(models.BPE({letter: index for index, letter in enumerate(alphabet)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    names = ["<｜begin▁of▁sentence｜>", "<PAGE>", "<|det|>", "<|/det|>"]
    backend.add_special_tokens([AddedToken(name, special=True) for name in names])
    backend.add_tokens(["<td>"])
    backend.save(str(tmp_path / "tokenizer.json"))
    spelled = Tokenizer.from_file(tmp_path / "tokenizer.json")
    ids = [
        spelled.bos_id,
        spelled.page_id,
        spelled.det_id,
        *spelled.encode("text [1, 2, 3, 4]"),
        spelled.end_det_id,
        *spelled.encode("Hé"),
        spelled.tag_ids["<td>"],
    ]
    assert spelled.decode(ids) == "<PAGE><|det|>text [1, 2, 3, 4]<|/det|>Hé<td>"
    assert spelled.label_ids == {}
    with pytest.raises(ValueError, match="eos_id needs a token spelled"):
        _ = spelled.eos_id
