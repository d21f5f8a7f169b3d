"""Writes captions for a scene: five, by observers who notice different things and name them differently."""

from collections.abc import Sequence
from random import Random

from tasks.demo.places import PLACES, Role
from tasks.demo.scenes import Scene, Seen
from tasks.demo.things import FREE_HANDS, THINGS

# One observer per entry: thorough, brief, companion first, setting first, everything.
_OBSERVERS = (
    (
        "{main} {is_} {busy} {beside} {where}",
        "{main} {busy} {where} {beside}",
        "{main} {doing} {beside} {where} {when}",
    ),
    ("{broadly} {busy} {when}", "{broadly} {is_} {doing} {where}", "{broadly} {busy} {where}"),
    ("{companion} {main} {where}", "{companion} {main} {doing} {when}", "{companion} {main} {when}"),
    (
        "{when}, {main} {is_} {busy} {behind}",
        "{where}, {main} {is_} {doing} {above}",
        "{main} {busy} {when} {behind} {above}",
    ),
    ("{place} with {all}", "{all} {where}", "{all} {where} {when}"),
)
_WHENS = {
    "dusk": ("at sunset", "at dusk", "in the evening"),
    "night": ("at night", "in the dark", "after dark"),
    "clear": ("on a sunny day", "under a blue sky", "in the sunshine"),
    "cloudy": ("on a cloudy day", "under a grey sky", "under clouds"),
    "rain": ("in the rain", "on a rainy day", "in the pouring rain"),
    "indoors": ("indoors", "inside", "inside a house"),
    "snow": ("in falling snow", "on a snowy day", "while it snows"),
}
# The relation of the main thing to another one, and the converse.
_RELATIONS: dict[Role, tuple[str, ...]] = {
    "beside": ("next to {}", "beside {}", "near {}"),
    "behind": ("in front of {}", "with {} behind"),
    "above": ("under {}", "with {} above"),
}
_CONVERSES: dict[Role, tuple[str, ...]] = {
    "beside": ("{} next to", "{} beside", "{} near"),
    "behind": ("{} behind",),
    "above": ("{} above", "{} over"),
}
_COUNTS = {2: ("two", "a pair of"), 3: ("three", "a group of")}
_PLURALS = {"man": "men", "person": "people", "sheep": "sheep", "deer": "deer"}


def word_captions(scene: Scene) -> tuple[str, ...]:
    """Return five English captions of the scene, one sentence each; equal scenes give equal captions."""
    chance = Random(f"word {scene}")
    return tuple(_sentence(chance.choice(templates), scene, chance) for templates in _OBSERVERS)


def _sentence(template: str, scene: Scene, chance: Random) -> str:
    main, *others = scene.seen
    place = PLACES[scene.place]
    doing = chance.choice(THINGS[main.thing].doings)
    used = _in_use(main, others, chance)
    text = template.format(
        main=_mention(main, chance),
        broadly=_mention(main, chance, weights=(1, 2, 3)),
        is_="is" if main.count == 1 else "are",
        doing=doing,
        busy=chance.choice(THINGS[used.thing].deeds).format(_mention(used, chance)) if used else doing,
        where=chance.choice(place.wheres),
        when=chance.choice(_whens(scene)),
        place=_with_article(chance.choice(place.nouns)),
        beside=_relation("beside", [one for one in others if one != used], chance),
        behind=_relation("behind", others, chance),
        above=_relation("above", [one for one in others if one != used], chance),
        companion=_companion(chance.choice(others), chance),
        all=_listing([_mention(one, chance) for one in scene.seen]),
    )
    text = " ".join(text.split()).replace(" ,", ",")
    return f"{text[0].upper()}{text[1:]}."


def _in_use(main: Seen, others: Sequence[Seen], chance: Random) -> Seen | None:
    """Return the thing that the main person is using, if any."""
    usable = [one for one in others if THINGS[one.thing].deeds and one.role != "behind"]
    return chance.choice([*usable, *usable, None]) if main.thing in FREE_HANDS else None


def _relation(role: Role, others: Sequence[Seen], chance: Random) -> str:
    """Return the relation of the main thing to another one in that role; empty if there is none."""
    found = [one for one in others if one.role == role]
    return chance.choice(_RELATIONS[role]).format(_mention(chance.choice(found), chance)) if found else ""


def _companion(other: Seen, chance: Random) -> str:
    return chance.choice(_CONVERSES[other.role]).format(_mention(other, chance))


def _whens(scene: Scene) -> tuple[str, ...]:
    """Return phrases for dusk, night and the weather; dry weather is mentioned by day only."""
    time = () if scene.time == "day" else _WHENS[scene.time]
    return time + (_WHENS[scene.weather] if not time or scene.weather in ("rain", "snow") else ())


def _mention(seen: Seen, chance: Random, weights: tuple[int, ...] = (3, 2, 1)) -> str:
    """Name the thing by one of its nouns, from exact to broad, with its number and sometimes its colour."""
    nouns = THINGS[seen.thing].nouns
    noun = chance.choices(nouns, weights[: len(nouns)])[0]
    coloured = f"{seen.colour} {noun}" if seen.colour and chance.random() < 0.6 else noun
    if seen.count == 1:
        return _with_article(coloured)
    return f"{chance.choice(_COUNTS[seen.count])} {_plural(coloured)}"


def _with_article(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _plural(noun: str) -> str:
    *before, last = noun.split(" ")
    ending = "es" if last.endswith(("s", "x", "ch", "sh")) else "s"
    regular = last[:-1] + "ies" if last[-1] == "y" and last[-2] not in "aeiou" else last + ending
    return " ".join([*before, _PLURALS.get(last, regular)])


def _listing(mentions: Sequence[str]) -> str:
    return f"{', '.join(mentions[:-1])} and {mentions[-1]}"
