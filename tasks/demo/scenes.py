"""Composes random scenes: a place, a time, and things that are found there."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tasks.demo.places import PLACES, Role, Time, Weather
from tasks.demo.things import THINGS

LANDSCAPE, PORTRAIT, SQUARE = (320, 240), (240, 320), (256, 256)


@dataclass(frozen=True)
class Seen:
    """A thing in a scene: its position relative to the main thing, how many, and the colour ("" for its own)."""

    thing: str
    role: Role
    count: int
    colour: str


@dataclass(frozen=True)
class Scene:
    """Place, time, weather, and the things seen, the main one first; `size` is width and height in pixels.

    Drawings and captions are seeded by the scene's representation: renaming a field changes them all.
    """

    scene_id: str
    place: str
    time: Time
    weather: Weather
    size: tuple[int, int]
    seen: tuple[Seen, ...]

    @property
    def signs(self) -> tuple[Seen, ...]:
        """What is in the sky, according to time and weather."""
        if self.weather == "indoors":
            return ()
        if self.weather == "clear":
            return (Seen("moon" if self.time == "night" else "sun", "sky", 1, ""),)
        return (Seen("cloud", "sky", 2, ""),)


def make_scenes(count: int = 600, seed: int = 0) -> Iterator[Scene]:
    """Yield `count` scenes; the same seed gives the same scenes."""
    for number in range(count):
        yield _compose(f"scene-{number:04d}", Random(f"{seed}/{number}"))


def _compose(scene_id: str, chance: Random) -> Scene:
    """Compose a scene of two to five things: the main one, up to two beside it, one behind and one above it."""
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
    """Add a thing, mostly once, sometimes as a herd; beside the main thing at most twice, so that all fit."""
    thing = THINGS[name]
    most = min(2, thing.herd) if role == "beside" else thing.herd
    count = chance.choice((1, chance.randint(1, most)))
    return Seen(name, role, count, chance.choice(thing.colours or ("",)))
