"""Names of signs in Org texts: HTML's own, and those Org adds.  Pure."""

from __future__ import annotations

from collections.abc import Mapping
from html.entities import name2codepoint

ADDED = {
    "AA": "Å", "vert": "|", "vbar": "|", "dots": "…", "hellip": "…", "colon": ":",
    "shy": "\u00ad", "slash": "/", "plus": "+", "under": "_", "equal": "=",
    "asciicirc": "^", "dagger": "†", "ddag": "‡", "Dagger": "‡", "nbsp": "\u00a0",
    "ensp": "\u2002", "emsp": "\u2003", "thinsp": "\u2009", "curren": "¤",
    "pound": "£", "yen": "¥", "euro": "€", "EUR": "€", "EURdig": "€", "EURhv": "€",
    "EURcr": "€", "EURtm": "€", "copy": "©", "reg": "®", "trade": "™", "minus": "−",
    "pm": "±", "plusmn": "±", "times": "×", "frasl": "⁄", "div": "÷", "frac12": "½",
    "frac14": "¼", "frac34": "¾", "permil": "‰", "sup1": "¹", "sup2": "²",
    "sup3": "³", "radic": "√", "sum": "∑", "prod": "∏", "micro": "µ", "macr": "¯",
    "deg": "°", "prime": "′", "Prime": "″", "infin": "∞", "infty": "∞", "prop": "∝",
    "proptp": "∝", "not": "¬", "neg": "¬", "land": "∧", "wedge": "∧", "lor": "∨",
    "vee": "∨", "cap": "∩", "cup": "∪", "int": "∫", "there4": "∴", "sim": "∼",
    "cong": "≅", "simeq": "≅", "asymp": "≈", "approx": "≈", "ne": "≠", "neq": "≠",
    "equiv": "≡", "le": "≤", "ge": "≥", "sub": "⊂", "subset": "⊂", "sup": "⊃",
    "supset": "⊃", "nsub": "⊄", "sube": "⊆", "supe": "⊇", "forall": "∀",
    "exist": "∃", "exists": "∃", "nabla": "∇", "isin": "∈", "in": "∈",
    "notin": "∉", "ni": "∋", "empty": "∅", "emptyset": "∅", "ang": "∠",
    "perp": "⊥", "sdot": "⋅", "cdot": "⋅", "lceil": "⌈", "rceil": "⌉",
    "lfloor": "⌊", "rfloor": "⌋", "lang": "⟨", "rang": "⟩", "larr": "←",
    "leftarrow": "←", "gets": "←", "lArr": "⇐", "Leftarrow": "⇐", "uarr": "↑",
    "uparrow": "↑", "uArr": "⇑", "Uparrow": "⇑", "rarr": "→", "to": "→",
    "rightarrow": "→", "rArr": "⇒", "Rightarrow": "⇒", "darr": "↓",
    "downarrow": "↓", "dArr": "⇓", "Downarrow": "⇓", "harr": "↔",
    "leftrightarrow": "↔", "hArr": "⇔", "Leftrightarrow": "⇔", "crarr": "↵",
    "hookleftarrow": "↵", "mdash": "—", "ndash": "–", "quot": '"', "acute": "´",
    "ldquo": "“", "rdquo": "”", "bdquo": "„", "lsquo": "‘", "rsquo": "’",
    "sbquo": "‚", "laquo": "«", "raquo": "»", "lsaquo": "‹", "rsaquo": "›",
    "circ": "ˆ", "cedil": "¸", "uml": "¨", "middot": "·", "bull": "•",
    "bullet": "•", "star": "*", "ast": "∗", "lowast": "∗", "loz": "◊", "spades": "♠",
    "clubs": "♣", "hearts": "♥", "diams": "♦", "spadesuit": "♠", "clubsuit": "♣",
    "heartsuit": "♥", "diamondsuit": "♦", "smile": "☺", "smiley": "☺",
    "blacksmile": "☻", "sad": "☹", "frown": "⌢", "checkmark": "✓", "check": "✓",
    "arccos": "arccos", "arcsin": "arcsin", "arctan": "arctan", "arg": "arg",
    "cos": "cos", "cosh": "cosh", "cot": "cot", "coth": "coth", "csc": "csc",
    "det": "det", "dim": "dim", "exp": "exp", "gcd": "gcd",
    "hom": "hom", "inf": "inf", "ker": "ker", "lg": "lg", "lim": "lim",
    "liminf": "liminf", "limsup": "limsup", "ln": "ln", "log": "log", "max": "max",
    "min": "min", "Pr": "Pr", "sec": "sec", "sin": "sin", "sinh": "sinh",
    "tan": "tan", "tanh": "tanh", "fnof": "ƒ", "real": "ℜ", "image": "ℑ",
    "weierp": "℘", "alefsym": "ℵ", "aleph": "ℵ", "iexcl": "¡", "iquest": "¿",
    "amp": "&", "lt": "<", "gt": ">", "tilde": "~", "para": "¶", "sect": "§",
    "cent": "¢", "dollar": "$", "USD": "$", "percnt": "%", "brvbar": "¦",
    "ordf": "ª", "ordm": "º", "szlig": "ß", "ETH": "Ð", "eth": "ð", "THORN": "Þ",
    "thorn": "þ", "oplus": "⊕", "otimes": "⊗", "partial": "∂",
    "zwnj": "\u200c", "zwj": "\u200d", "lrm": "\u200e", "rlm": "\u200f",
    "varepsilon": "ε", "vartheta": "ϑ", "thetasym": "ϑ", "upsih": "ϒ", "piv": "ϖ",
    "varpi": "ϖ", "varphi": "ϕ", "straightphi": "φ", "hbar": "ℏ", "ell": "ℓ",
    "imath": "ı", "jmath": "ȷ", "oline": "‾", "euler": "ℯ",
    "sigmaf": "ς", "varsigma": "ς", "preceq": "≼", "succeq": "≽", "bot": "⊥",
    "Amacr": "Ā", "amacr": "ā", "Idot": "İ", "inodot": "ı", "gimel": "ℷ", "beth": "ℶ",
    "dalet": "ℸ", "cdots": "⋯", "dag": "†", "propto": "∝", "therefore": "∴",
    "because": "∵", "triangleq": "≜", "leq": "≤", "geq": "≥", "lessgtr": "≶",
    "lesseqgtr": "⋚", "ll": "≪", "Ll": "⋘", "lll": "⋘", "gg": "≫", "Gg": "⋙",
    "ggg": "⋙", "prec": "≺", "preccurlyeq": "≼", "succ": "≻", "succcurlyeq": "≽",
    "nsup": "⊅", "setminus": "∖", "nexist": "∄", "nexists": "∄", "angle": "∠",
    "parallel": "∥", "langle": "⟨", "rangle": "⟩", "mho": "℧", "odot": "⊙",
    "frowny": "☹", "diamond": "⋄", "Diamond": "⋄",
}  # fmt: skip
NOT_OF_ORG = frozenset({"and", "or", "part"})

ENTITIES: Mapping[str, str] = {
    **{
        name: chr(point)
        for name, point in name2codepoint.items()
        if name not in NOT_OF_ORG
    },
    **ADDED,
}
"""By the name behind the backslash.

Only those of HTML 4 and Org: the later names of HTML 5 are words, such as
``target`` and ``map``, which stand behind backslashes in paths.
"""
