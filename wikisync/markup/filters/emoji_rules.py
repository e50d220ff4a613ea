"""Names of emoji that follow a rule: flags, clocks, colours of skin, Unicode's own.

``emoji_names.txt`` holds the names that people made up, the ones that texts use most;
all others are found here.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping
from importlib import resources

REGIONS = (
    " ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bl"
    " bm bn bo bq br bs bt bv bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw"
    " cx cy cz de dg dj dk dm do dz ea ec ee eg eh er es et eu fi fj fk fm fo fr ga gb"
    " gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu ic id ie il"
    " im in io iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk"
    " lr ls lt lu lv ly ma mc md me mf mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx"
    " my mz na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt"
    " pw py qa re ro rs ru rw sa sb sc sd se sg sh si sj sk sl sm sn so sr ss st sv sx"
    " sy sz ta tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug um us uy uz va vc"
    " ve vg vi vn vu wf ws xk ye yt za zm zw "
)
"""ISO 3166 codes with a flag, and the few more that Unicode gives one."""
FIRST_REGION_LETTER = 0x1F1E6
FIRST_TONE, TONES = 0x1F3FB, 5
CLOCK_ONE, CLOCK_ONE_THIRTY = 0x1F550, 0x1F55C
FIRST_PICTURE = 0x1F300
FIRST_SIGN, LAST_SIGN = 0x2600, 0x27BF
AS_PICTURE = "\ufe0f"
"""Behind a sign that is a letter by itself."""

FLAG = re.compile(r"flag_([a-z]{2})")
TONE = re.compile(r"(.+)_tone([1-5])")
CLOCK = re.compile(r"clock(1[0-2]|[1-9])(30)?")
ENDINGS = ("", " FACE", " SIGN", " SYMBOL", " BUTTON")


@functools.lru_cache(maxsize=4096)
def emoji_of(name: str) -> str | None:
    """The character of a name without its colons, or None."""
    known = named_emoji().get(name)
    if known is not None:
        return known
    if (flag := FLAG.fullmatch(name)) is not None:
        return flag_of(flag[1])
    if (clock := CLOCK.fullmatch(name)) is not None:
        first = CLOCK_ONE_THIRTY if clock[2] else CLOCK_ONE
        return chr(first + int(clock[1]) - 1)
    if (tone := TONE.fullmatch(name)) is not None:
        return toned(tone[1], int(tone[2]))
    return by_unicode_name(name)


@functools.cache
def named_emoji() -> Mapping[str, str]:
    """Names to characters, as ``emoji_names.txt`` has them."""
    names = resources.files(__package__).joinpath("emoji_names.txt")
    lines = names.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def flag_of(region: str) -> str | None:
    """Two letters as a flag."""
    if f" {region} " not in REGIONS:
        return None
    return "".join(chr(FIRST_REGION_LETTER + ord(letter) - 97) for letter in region)


def toned(name: str, tone: int) -> str | None:
    """An emoji of a person or hand with a colour of skin."""
    plain = emoji_of(name)
    if plain is None or len(plain.rstrip(AS_PICTURE)) != 1:
        return None
    return plain.rstrip(AS_PICTURE) + chr(FIRST_TONE + tone - 1)


def by_unicode_name(name: str) -> str | None:
    """A picture whose Unicode name is this one, spelled with underscores."""
    for ending in ENDINGS:
        try:
            character = unicodedata.lookup(name.replace("_", " ").upper() + ending)
        except KeyError:
            continue
        if len(character) > 1 or unicodedata.category(character) != "So":
            continue
        if ord(character) >= FIRST_PICTURE:
            return character
        if FIRST_SIGN <= ord(character) <= LAST_SIGN:
            return character + AS_PICTURE
    return None
