"""Dates, times, prices, addresses and other words that no dictionary holds."""

import random
import string

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre "
    "diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre "
    "dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro "
    "dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "sv": "januari februari mars april maj juni juli augusti september oktober november december",
    "da": "januar februar marts april maj juni juli august september oktober november december",
    "pl": "stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października "
    "listopada grudnia",
}
_SHORT = {
    "en": "e.g. i.e. etc. Mr. Mrs. Dr. vs. No. pp. Fig. Ltd. Inc. a.m. p.m. cf. Jan. Dept.",
    "de": "z.B. d.h. usw. bzw. Nr. Str. Dr. GmbH ca. ggf. u.a. Abb. Tel. inkl. MwSt. vgl. S.",
    "fr": "p.ex. c.-à-d. etc. M. Mme Mlle n° env. tél. art. éd. vol. S.A. av. bd St-Étienne",
    "es": "p.ej. etc. Sr. Sra. Dña. n.º núm. pág. tel. EE.UU. S.A. Ud. Avda. dpto. 1.º 2.ª",
    "it": "ad es. ecc. Sig. Sig.ra dott. n. pag. tel. S.p.A. s.r.l. art. cfr. c.a. 1° P.IVA",
    "pt": "p.ex. etc. Sr. Sr.ª Dr. n.º pág. tel. Lda. Av. V. Ex.ª art.º séc. 1.ª",
    "nl": "bijv. d.w.z. enz. dhr. mevr. nr. blz. tel. B.V. N.V. o.a. m.b.t. i.p.v. t/m a.u.b.",
    "sv": "t.ex. d.v.s. osv. m.m. bl.a. nr tel. kl. AB s.k. f.d. ca p.g.a. t.o.m. resp.",
    "da": "f.eks. dvs. osv. m.m. bl.a. nr. tlf. kl. A/S ApS ca. pga. mht. jf. inkl.",
    "pl": "np. tj. itd. itp. m.in. ul. nr tel. sp. z o.o. S.A. ok. św. dr prof. zob. wg r.",
}
_UNITS = (
    "kg g mg t km m cm mm µm nm l ml dl h min s ms °C °F K W kW MW kWh V A mA Hz kHz MHz GHz "
    "B kB MB GB TB m² m³ km² km/h m/s % ‰ ppm Pa hPa bar N J kJ dB px pt"
)
_ENGLISH = ("en", "prose", "technical", "")
_SIGNS = ("$", "€", "£", "¥")
_TOPS = ("com", "org", "net", "eu", "de", "fr", "es", "it", "pt", "nl", "se", "dk", "pl", "co.uk")
_CODE_WORDS = (
    "self index value count total result data name path file line size node list item key config "
    "buffer offset length width height error status user input output parse read write open"
)


def fact(rng: random.Random, language: str) -> str:
    """Return a date, time, price, number, address or abbreviation; may hold blanks."""
    kind = rng.randrange(13)
    if kind < 2:
        return date(rng, language)
    if kind == 2:
        hour, minute = rng.randrange(24), rng.randrange(60)
        return rng.choice(
            [f"{hour}:{minute:02d}", f"{hour:02d}.{minute:02d}", f"{hour}h{minute:02d}"]
        )
    if kind == 3:
        return price(rng, language)
    if kind == 4:
        return f"{number(rng, language)} {rng.choice(_UNITS.split())}"
    if kind == 5:
        return rng.choice(_SHORT.get(language, _SHORT["en"]).split())
    if kind == 6:
        return phone(rng)
    if kind == 7:
        return web(rng)
    if kind == 8:
        first = rng.randrange(1, 400)
        texts = [f"({rng.randrange(1500, 2030)})", f"[{rng.randrange(1, 90)}]", f"§ {first}"]
        texts += [f"{first}–{first + rng.randrange(1, 30)}", f"{first}/{rng.randrange(1, 99)}"]
        return rng.choice([*texts, roman(first)])
    if kind == 9:
        return code_word(rng)
    if kind == 10:
        return name_with_digits(rng)
    return number(rng, language)


def number(rng: random.Random, language: str) -> str:
    """Return a number as the language writes it."""
    digits = rng.randrange(1, 8)
    value = rng.randrange(10**digits)
    point, group = (".", ",") if language in _ENGLISH else (",", rng.choice([".", " "]))
    whole = f"{value:,}".replace(",", group) if rng.random() < 0.6 else str(value)
    if rng.random() < 0.4:
        whole += point + "".join(rng.choices(string.digits, k=rng.randrange(1, 4)))
    return rng.choice(["", "", "", "", "-", "+", "±", "~"]) + whole


def price(rng: random.Random, language: str) -> str:
    """Return an amount of money."""
    value = rng.randrange(1, 10 ** rng.randrange(1, 6))
    cents = f"{rng.randrange(100):02d}"
    if language in _ENGLISH:
        return f"{rng.choice(_SIGNS)}{value:,}.{cents}"
    sign = {"sv": "kr", "da": "kr.", "pl": "zł"}.get(language, "€")
    return f"{f'{value:,}'.replace(',', '.')},{cents} {sign}"


def phone(rng: random.Random) -> str:
    """Return a telephone number."""
    groups = ["".join(rng.choices(string.digits, k=rng.randrange(2, 5))) for _ in range(3)]
    start = rng.choice(["", "0", f"+{rng.randrange(1, 99)} ", f"({rng.randrange(10, 999)}) "])
    return start + rng.choice([" ", "-", "/", ".", " "]).join(groups)


def person(rng: random.Random) -> list[str]:
    """Return the words of a name."""
    middle = rng.choice([[], [], ["von"], ["J."], [f"{letters(rng, 1, 1).upper()}."]])
    return [letters(rng, 2, 9).title(), *middle, letters(rng, 3, 10).title()]


def address(rng: random.Random, language: str, street: list[str]) -> list[list[str]]:
    """Return the words of two to five lines of an address."""
    town = letters(rng, 3, 10).title()
    code = rng.choice([str(rng.randrange(10000, 99999)), f"{rng.randrange(1000, 9999)} AB"])
    lines = [
        [*(word.title() for word in street), str(rng.randrange(1, 300))],
        [code, town],
        ["Tel.", phone(rng)],
        [web(rng)],
        [number(rng, language), town],
    ]
    return [" ".join(line).split(" ") for line in lines[: rng.randrange(2, 6)]]


def web(rng: random.Random) -> str:
    """Return an e-mail or web address."""
    host = letters(rng, 3, 10) + rng.choice(["", "", "-" + letters(rng, 2, 6)])
    host += "." + rng.choice(_TOPS)
    page = rng.choice(["", "/", "/" + letters(rng, 3, 9), f"/{letters(rng, 2, 6)}/index.html"])
    name = letters(rng, 2, 8) + rng.choice(["", "." + letters(rng, 3, 9), str(rng.randrange(99))])
    return rng.choice([f"{name}@{host}", f"www.{host}{page}", f"https://{host}{page}"])


def letters(rng: random.Random, low: int, high: int) -> str:
    """Return `low` to `high` small letters."""
    return "".join(rng.choices(string.ascii_lowercase, k=rng.randrange(low, high + 1)))


def roman(value: int) -> str:
    """Return a number from 1 to 399 in capital Roman numerals."""
    result = ""
    for size, sign in (
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ):
        result += sign * (value // size)
        value %= size
    return result


def name_with_digits(rng: random.Random) -> str:
    """Return a name like `RAID5`, `x86`, `E966` or `iso8859-15`: which signs are digits is seen."""
    word = letters(rng, 1, rng.choice([1, 2, 4, 6]))
    word = rng.choice([word, word.upper(), word.upper(), word.title()])
    digits = str(rng.randrange(10 ** rng.choice([1, 1, 2, 3, 4])))
    tail = rng.choice(["", "", "", "", f"-{rng.randrange(20)}", letters(rng, 1, 2)])
    return word + digits + tail


def code_word(rng: random.Random) -> str:
    """Return an identifier, call, option or path."""
    one, two = (rng.choice(_CODE_WORDS.split()) for _ in range(2))
    forms = [f"{one}_{two}", f"{one}()", f"{one}.{two}", f"{one}{two.title()}", f"--{one}-{two}"]
    forms += [f"/{one}/{two}.txt", f"{one}[{rng.randrange(99)}]", f"-{one[0]}", f"{one}={two}"]
    return rng.choice([*forms, f"0x{rng.randrange(1 << 24):x}", f"<{one}>", f"{{{one}}}"])


def code_lines(rng: random.Random, count: int) -> list[str]:
    """Return lines that look like a program, indentation included."""
    lines, depth = [], 0
    step = rng.choice([2, 4, 4])
    closing = rng.random() < 0.5
    for _ in range(count):
        one, two, three = rng.sample(_CODE_WORDS.split(), 3)
        value = rng.choice([str(rng.randrange(1000)), two, f'"{two} {three}"', f"{two}[{three}]"])
        body = rng.choice(
            [
                f"{one} = {value}",
                f"{one}({two}, {value})",
                f"{one}.{two}({three});" if closing else f"{one}.{two}({three})",
                f"return {one} + {value}",
                f"# {two} {three}" if not closing else f"// {two} {three}",
                f"{one} += {value} * ({two} - {rng.randrange(9)})",
                f"$ {one} --{two} {three}.txt | {two} > {one}",
            ]
        )
        opens = rng.random() < 0.25 and depth < 3
        if opens:
            head = rng.choice([f"if {one} < {value}", f"for {one} in {two}", f"def {one}({two})"])
            body = head + (" {" if closing else ":")
        lines.append(" " * (step * depth) + body)
        if opens:
            depth += 1
        elif depth and rng.random() < 0.35:
            depth -= 1
            if closing:
                lines.append(" " * (step * depth) + "}")
    return lines[:count]


def date(rng: random.Random, language: str) -> str:
    """Return a day as the language writes it."""
    months = _MONTHS.get(language, _MONTHS["en"]).split()
    day, month, year = rng.randrange(1, 32), rng.choice(months), rng.randrange(1700, 2040)
    index = rng.randrange(1, 13)
    if rng.random() < 0.5:
        forms = [f"{year}-{index:02d}-{day:02d}", f"{day:02d}.{index:02d}.{year}"]
        return rng.choice([*forms, f"{day}/{index}/{year}", f"{index}/{day}/{year % 100:02d}"])
    if language in _ENGLISH:
        return rng.choice([f"{month} {day}, {year}", f"{day} {month} {year}", f"{month} {year}"])
    dot = "." if language in ("de", "da") else ""
    link = {"es": " de", "pt": " de"}.get(language, "")
    return f"{day}{dot}{link} {month}{link} {year}"
