"""What a drawn scene holds: where, when, and which things; composed by chance from what a place has."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tasks.demo.places import PLACES, Role, Time, Weather
from tasks.demo.things import THINGS

LANDSCAPE, PORTRAIT, SQUARE = (320, 240), (240, 320), (256, 256)


@dataclass(frozen=True)
class Seen:
    """A thing in a scene: where relative to the main thing, how many, and in which colour ("" is its own)."""

    thing: str
    role: Role
    count: int
    colour: str


@dataclass(frozen=True)
class Scene:
    """Where, when, in which weather, what is seen, the main thing first; `size` is width and height in px."""

    scene_id: str
    place: str
    time: Time
    weather: Weather
    size: tuple[int, int]
    seen: tuple[Seen, ...]

    @property
    def signs(self) -> tuple[Seen, ...]:
        """What the sky shows of the time and the weather."""
        if self.weather == "indoors":
            return ()
        if self.weather == "clear":
            return (Seen("moon" if self.time == "night" else "sun", "sky", 1, ""),)
        return (Seen("cloud", "sky", 2, ""),)


def make_scenes(count: int = 600, seed: int = 0) -> Iterator[Scene]:
    """`count` scenes, one after the other; the same count and seed give the same scenes."""
    for number in range(count):
        yield _compose(f"scene-{number:04d}", Random(f"{seed}/{number}"))


def _compose(scene_id: str, chance: Random) -> Scene:
    """A scene of two to five things: the main one, up to two beside it, one behind it, one above it."""
    name = chance.choice(list(PLACES))
    place = PLACES[name]
    size = chance.choice((LANDSCAPE, LANDSCAPE, PORTRAIT, SQUARE))
    beside = chance.choices((0, 1, 2), (1, 6, 3 if size == LANDSCAPE else 0))[0]
    behind, above = int(chance.random() < 0.7), int(chance.random() < 0.4)
    numbers: dict[Role, int] = {
        "main": 1,
        "beside": beside or int(behind + above == 0),
        "behind": behind,
        "above": above,
    }
    seen: list[Seen] = []
    for role, number in numbers.items():
        fresh = sorted(set(place.things[role]) - {one.thing for one in seen})
        seen += [_see(thing, role, chance) for thing in chance.sample(fresh, number)]
    return Scene(scene_id, name, chance.choice(place.times), chance.choice(place.weathers), size, tuple(seen))


def _see(name: str, role: Role, chance: Random) -> Seen:
    """Mostly one of the thing, at times a herd; beside the main thing two at most, so that all fit."""
    thing = THINGS[name]
    most = min(2, thing.herd) if role == "beside" else thing.herd
    count = chance.choice((1, chance.randint(1, most)))
    return Seen(name, role, count, chance.choice(thing.colours or ("",)))
