"""What a drawn scene holds: the places as a table, and scenes composed by chance from what is found there."""

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

from tasks.collection.things import THINGS

Role = Literal["main", "beside", "behind", "above", "sky"]
Time = Literal["day", "dusk", "night"]
Weather = Literal["clear", "cloudy", "rain", "snow", "indoors"]

LANDSCAPE, PORTRAIT, SQUARE = (320, 240), (240, 320), (256, 256)


@dataclass(frozen=True)
class Layer:
    """A part of a place's background: what it shows, in one of its colours, from `top` (of the height) down."""

    painter: Literal["flat", "sea", "hills", "peaks", "road", "skyline", "pitch", "wall"]
    top: float
    colours: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where a scene is: its words, its background, and what is found there in each role.

    `front` and `back` are the lines on which near and far things stand, as fractions of the height.
    """

    nouns: tuple[str, ...]
    wheres: tuple[str, ...]
    layers: tuple[Layer, ...]
    front: float
    back: float
    things: dict[Role, tuple[str, ...]]
    times: tuple[Time, ...]
    weathers: tuple[Weather, ...]


@dataclass(frozen=True)
class Seen:
    """A thing as a scene has it: how many, in which colour ("" is its own), and where relative to the main thing."""

    thing: str
    role: Role
    count: int
    colour: str


@dataclass(frozen=True)
class Scene:
    """One scene: where, when, in which weather, and what is seen, the main thing first; `size` is width, height in px."""

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


def _place(
    nouns: str,
    wheres: str,
    layers: tuple[Layer, ...],
    front: float,
    back: float,
    *,
    main: str,
    beside: str,
    behind: str,
    above: str = "bird, eagle, plane, helicopter, kite, balloon",
    times: tuple[Time, ...] = ("day", "day", "dusk", "night"),
    weathers: tuple[Weather, ...] = ("clear", "clear", "cloudy", "rain"),
) -> Place:
    texts: dict[Role, str] = {"main": main, "beside": beside, "behind": behind, "above": above}
    things = {role: tuple(text.split(", ")) for role, text in texts.items()}
    return Place(
        tuple(nouns.split("/")), tuple(wheres.split("/")), layers, front, back, things, times, weathers
    )


# Places share colours, so that colour alone doesn't tell them apart.
_WATER = ("#4c9fd6", "#3f8fb8", "#6bb7d8", "#4a7fb5")
_SAND = ("#ecd9a0", "#e3c48a", "#f0dfb6", "#d9b679")
_GRASS = ("#8fc866", "#79b555", "#a9cf72", "#93b65c", "#b9c46a")
_WOOD = ("#4f8a4b", "#5d8f50", "#46764a", "#7a9150")
_SNOW = ("#f1f5fa", "#e3ebf4", "#dfe6ef")
_STONE = ("#b9b4ae", "#a5a9b1", "#c7bfae", "#8f98a5")
_ASPHALT = ("#7d8087", "#6f7178", "#8d8a86")
_PLASTER = ("#f3d9b8", "#cfe3ea", "#d8e5c5", "#f0cfcb", "#e7dff0", "#efe7a9")
_FLOOR = ("#b98a5e", "#a7795a", "#c9a27a", "#9b8f88")
_SNOWY: tuple[Weather, ...] = ("clear", "cloudy", "snow", "snow")

PLACES = {
    "beach": _place(
        "beach/sandy beach/shore",
        "on a beach/on the sand/at the seaside/by the ocean",
        (Layer("sea", 0.43, _WATER), Layer("hills", 0.63, _SAND)),
        *(0.9, 0.6),
        main="walker, runner, couple, yogi, gymnast, ballerina, thrower, rider, boy, girl, family, woman, dog, crab",
        beside="dog, parasol, palm, bucket, football, crab, canoe, boy, rock, stander",
        behind="sailboat, ship, speedboat, island, surfer, swimmer, dolphin",
        above="bird, kite, balloon, plane, helicopter",
    ),
    "sea": _place(
        "sea/ocean/bay",
        "on the sea/in the ocean/on the water/out at sea",
        (Layer("sea", 0.5, _WATER),),
        *(0.88, 0.58),
        main="surfer, swimmer, rower, dolphin, whale, sailboat, speedboat, ship, canoe",
        beside="dolphin, sailboat, speedboat, canoe, swimmer, rower, surfer",
        behind="island, ship, sailboat, volcano, whale, mountain",
        above="bird, eagle, plane, helicopter",
    ),
    "lake": _place(
        "lake/pond",
        "at a lake/by a pond/on the shore of a lake/beside the water",
        (Layer("peaks", 0.3, _STONE), Layer("sea", 0.52, _WATER), Layer("hills", 0.72, _GRASS)),
        *(0.92, 0.64),
        main="stander, couple, yogi, runner, old man, family, duck, swan, flamingo, dog, deer",
        beside="duck, tent, canoe, bicycle, campfire, tree, rock, dog, swan, chair",
        behind="rower, swan, sailboat, canoe, swimmer, fir, house",
    ),
    "street": _place(
        "street/road",
        "on a street/on the road/in a town/along a road",
        (Layer("hills", 0.5, _GRASS), Layer("flat", 0.6, _STONE), Layer("road", 0.7, _ASPHALT)),
        *(0.9, 0.64),
        main="car, taxi, bus, truck, police car, ambulance, fire engine, motorcycle, cyclist, walker, runner, woman, officer, builder, old woman, dog",
        beside="car, bicycle, motorcycle, traffic light, dog, stander, umbrella, tree, cat, taxi",
        behind="house, cottages, church, school, hotel, tree",
        weathers=("clear", "cloudy", "rain", "snow"),
    ),
    "city": _place(
        "city/big city/city center",
        "in a city/downtown/between skyscrapers/in the city",
        (Layer("skyline", 0.16, _STONE), Layer("flat", 0.66, _STONE), Layer("road", 0.74, _ASPHALT)),
        *(0.91, 0.7),
        main="taxi, car, bus, tram, police car, ambulance, motorcycle, cyclist, walker, couple, juggler, officer, woman, dancer, bride",
        beside="taxi, tram, traffic light, umbrella, suitcase, dog, stander, bicycle, builder",
        behind="office, hotel, tower, fountain, mosque, stadium",
        above="helicopter, plane, balloon, bird",
        times=("day", "dusk", "night", "night"),
    ),
    "park": _place(
        "park/garden/grassy park",
        "in a park/on the grass/on a lawn/in a garden",
        (Layer("hills", 0.5, _WOOD), Layer("flat", 0.58, _GRASS)),
        *(0.9, 0.66),
        main="walker, runner, couple, yogi, gymnast, juggler, cyclist, ballerina, boy, girl, baby, family, old woman, bride, dog, squirrel",
        beside="dog, football, bicycle, slide, tulip, squirrel, duck, guitar, books, girl",
        behind="tree, fountain, slide, castle, carousel, house, tree",
    ),
    "meadow": _place(
        "meadow/field/green field",
        "in a meadow/in a field/on green grass/in the countryside",
        (Layer("hills", 0.42, _GRASS), Layer("hills", 0.58, _GRASS)),
        *(0.9, 0.64),
        main="sheep, cow, horse, goat, rabbit, rider, boy, girl, couple, runner, dancer, deer, cyclist",
        beside="sheep, cow, flower, tulip, rabbit, dog, mushroom, tractor, girl, goat",
        behind="tree, barn, cottages, church, train, mountain, fir",
    ),
    "farm": _place(
        "farm/farmyard/ranch",
        "on a farm/in a farmyard/near a barn/on a ranch",
        (Layer("hills", 0.46, _GRASS), Layer("flat", 0.6, (*_SAND, *_GRASS))),
        *(0.9, 0.66),
        main="cow, pig, sheep, goat, rooster, horse, tractor, truck, old man, boy, dog, cat",
        beside="pig, rooster, tractor, duck, sheep, goat, bucket, cat, dog, flower, walker",
        behind="barn, house, tree, hut, cow, tractor",
    ),
    "forest": _place(
        "forest/wood/woodland",
        "in a forest/in the woods/among trees/in a clearing",
        (Layer("hills", 0.24, _WOOD), Layer("hills", 0.6, (*_GRASS, *_WOOD))),
        *(0.9, 0.7),
        main="deer, squirrel, rabbit, monkey, walker, runner, cyclist, climber, yogi, dog, girl, rider",
        beside="mushroom, rock, campfire, tent, squirrel, rabbit, deer, stander, guitar",
        behind="fir, fir, tree, hut, tent",
        above="bird, eagle, helicopter, balloon",
        weathers=("clear", "cloudy", "rain", "snow"),
    ),
    "mountains": _place(
        "snowy mountain/ski slope/snowy slope",
        "on a snowy mountain/in the snow/on a ski slope/in the mountains",
        (Layer("peaks", 0.22, _STONE), Layer("hills", 0.6, _SNOW)),
        *(0.9, 0.68),
        main="skier, snowboarder, climber, walker, runner, boy, family, dog, deer, penguin",
        beside="snowman, sled, fir, dog, rock, skier, snowboarder, penguin, tent",
        behind="fir, hut, mountain, house, church, train",
        above="bird, eagle, helicopter, plane",
        weathers=_SNOWY,
    ),
    "desert": _place(
        "desert/sandy desert/dry desert",
        "in a desert/on a sand dune/in the dry sand/in the heat",
        (Layer("hills", 0.44, _SAND), Layer("hills", 0.6, _SAND)),
        *(0.9, 0.66),
        main="camel, jeep, truck, motorcycle, walker, rider, couple, stander",
        beside="cactus, camel, rock, jeep, tent, palm, campfire",
        behind="mosque, palm, volcano, cactus, hut, train, camel",
        above="eagle, plane, helicopter, balloon, kite",
        weathers=("clear", "clear", "cloudy"),
    ),
    "savanna": _place(
        "savanna/plain/dry grassland",
        "in the savanna/on a plain/in the wild/on dry grass",
        (Layer("hills", 0.5, (*_SAND, *_GRASS)), Layer("hills", 0.6, ("#c9b45e", "#b9b865", "#d3b96a"))),
        *(0.9, 0.66),
        main="giraffe, elephant, zebra, tiger, monkey, jeep, rider, flamingo, woman",
        beside="zebra, elephant, giraffe, rock, flamingo, jeep, monkey",
        behind="tree, hut, giraffe, elephant, mountain, volcano, tent",
        above="eagle, bird, plane, helicopter, balloon",
    ),
    "sports field": _place(
        "sports field/playing field/stadium",
        "on a sports field/on a playing field/in a stadium/at a match",
        (Layer("skyline", 0.4, _STONE), Layer("pitch", 0.56, _GRASS)),
        *(0.9, 0.64),
        main="runner, basketballer, thrower, golfer, fencer, weightlifter, gymnast, boy, girl, rider, dog",
        beside="football, goal, thrower, golf flag, bucket, officer, dog, stander",
        behind="stadium, goal, tree, tower, school, golf flag",
        above="balloon, helicopter, bird, kite",
    ),
    "fair": _place(
        "fair/amusement park/funfair",
        "at a fair/at an amusement park/at a funfair/at a carnival",
        (Layer("hills", 0.52, _WOOD), Layer("flat", 0.62, (*_SAND, *_STONE, *_GRASS))),
        *(0.9, 0.68),
        main="boy, girl, family, baby, juggler, dancer, couple, walker, elephant, monkey",
        beside="carousel, balloon, teddy, drum, slide, bicycle, present, pizza, ballerina",
        behind="ferris wheel, circus, carousel, castle, tower, tree",
        above="balloon, kite, helicopter, plane, bird",
        times=("day", "dusk", "night"),
    ),
    "living room": _place(
        "living room/room",
        "in a living room/indoors/at home/in a room",
        (Layer("wall", 0.0, _PLASTER), Layer("flat", 0.7, _FLOOR)),
        *(0.92, 0.5),
        main="boy, girl, baby, woman, old man, old woman, family, ballerina, yogi, dancer, cat, dog",
        beside="sofa, bed, chair, television, teddy, present, christmas tree, guitar, drum, books, plant, cat",
        behind="picture, window, picture",
        above="balloon",
        times=("day", "night"),
        weathers=("indoors",),
    ),
    "kitchen": _place(
        "kitchen/dining room/room",
        "in a kitchen/at home/indoors/at the table",
        (Layer("wall", 0.0, _PLASTER), Layer("flat", 0.72, (*_FLOOR, *_STONE))),
        *(0.92, 0.5),
        main="boy, girl, baby, woman, old woman, family, couple, stander, cat, dog, bride",
        beside="cake, pizza, coffee, salad, chair, plant, present, cat, bucket, teddy",
        behind="window, picture, window",
        above="balloon",
        times=("day", "night"),
        weathers=("indoors",),
    ),
}


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
    behind, above = chance.random() < 0.7, chance.random() < 0.4
    wanted: list[tuple[Role, int]] = [
        ("main", 1),
        ("beside", beside or not (behind or above)),
        ("behind", behind),
        ("above", above),
    ]
    seen: list[Seen] = []
    for role, number in wanted:
        names = [
            thing for thing in dict.fromkeys(place.things[role]) if thing not in {one.thing for one in seen}
        ]
        seen += [_see(thing, role, chance) for thing in chance.sample(names, number)]
    return Scene(scene_id, name, chance.choice(place.times), chance.choice(place.weathers), size, tuple(seen))


def _see(name: str, role: Role, chance: Random) -> Seen:
    thing = THINGS[name]
    count = chance.choice((1, chance.randint(1, thing.herd)))
    return Seen(name, role, count, chance.choice(thing.colours or ("",)))
