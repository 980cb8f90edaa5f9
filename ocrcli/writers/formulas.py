"""Formulas without LaTeX, as far as plain characters can show them."""

import re

from ocrcli.textstyle import Formulas

_MARKS = (("$$", "$$"), ("\\[", "\\]"), ("\\(", "\\)"), ("$", "$"))
_GLYPHS = """
alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu μ nu ν xi ξ
pi π rho ρ sigma σ tau τ phi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π
Sigma Σ Phi Φ Psi Ψ Omega Ω times × cdot · pm ± le ≤ leq ≤ ge ≥ geq ≥ neq ≠ approx ≈ infty ∞ sum ∑
prod ∏ int ∫ partial ∂ nabla ∇ sqrt √ in ∈ subset ⊂ cup ∪ cap ∩ to → rightarrow → leftarrow ←
forall ∀ exists ∃ ldots … dots …
"""
_SYMBOLS = dict(zip(_GLYPHS.split()[::2], _GLYPHS.split()[1::2], strict=True))
_UPPER = dict(zip("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ", strict=True))
_LOWER = dict(zip("0123456789+-=()", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎", strict=True))
_COMMAND = re.compile(r"\\([A-Za-z]+)\s*")
_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SCRIPT = re.compile(r"([\^_])(?:\{([^{}]*)\}|([0-9A-Za-z]))")


def bare_formula(text: str) -> str:
    """Return a formula without the marks around it.

    Args:
        text: A formula in any of the usual marks, or in none.
    """
    bare = text.strip()
    for opening, closing in _MARKS:
        if bare.startswith(opening) and bare.endswith(closing) and len(bare) > len(opening) * 2:
            return bare[len(opening) : -len(closing)].strip()
    return bare


def plain_formula(text: str, form: Formulas) -> str:
    r"""Return a formula in plain characters.

    Args:
        text: The formula as LaTeX.
        form: "unicode" for signs, raised and lowered digits; "strip" for the letters alone; "latex"
            changes nothing.

    Example:
        >>> plain_formula(r"\alpha x^2 \le \frac{1}{2}", Formulas.UNICODE)
        'αx² ≤ 1/2'
    """
    if form is Formulas.LATEX:
        return text
    plain = _FRACTION.sub(r"\1/\2", bare_formula(text))
    if form is Formulas.STRIP:
        plain = _COMMAND.sub(" ", plain)
        return " ".join(re.sub(r"[\\{}^_$]", "", plain).split())
    plain = _SCRIPT.sub(_script, plain)
    plain = _COMMAND.sub(_symbol, plain)
    return " ".join(re.sub(r"[\\{}]", "", plain).split())


def _script(match: re.Match[str]) -> str:
    table = _UPPER if match[1] == "^" else _LOWER
    content = match[2] if match[2] is not None else match[3]
    if all(character in table for character in content):
        return "".join(table[character] for character in content)
    return f"{match[1]}({content})" if len(content) > 1 else f"{match[1]}{content}"


def _symbol(match: re.Match[str]) -> str:
    symbol = _SYMBOLS.get(match[1], match[1])
    # Between relations a blank is kept, behind letters it only ended the command.
    return f"{symbol} " if symbol in "×±≤≥≠≈∈⊂∪∩→←…" else symbol
