"""The places of scenes as a table: their words, their backgrounds, and the things found there."""

from dataclasses import dataclass
from typing import Literal

Role = Literal["main", "beside", "behind", "above", "sky"]
Time = Literal["day", "dusk", "night"]
Weather = Literal["clear", "cloudy", "rain", "snow", "indoors"]


@dataclass(frozen=True)
class Layer:
    """A part of a place's background: how it is painted, from `top` (share of the height) down, and its colours."""

    painter: Literal["flat", "sea", "hills", "peaks", "road", "skyline", "pitch", "wall"]
    top: float
    colours: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """A place: its words, its background, and the things found there in each role.

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


def _place(
    nouns: str,
    wheres: str,
    layers: tuple[Layer, ...],
    *,
    front: float,
    back: float,
    main: str,
    beside: str,
    behind: str,
    above: str = "bird, eagle, plane, helicopter, kite, balloon",
    times: tuple[Time, ...] = ("day", "day", "day", "day", "dusk", "night"),
    weathers: tuple[Weather, ...] = ("clear", "clear", "clear", "cloudy", "rain"),
) -> Place:
    texts: dict[Role, str] = {"main": main, "beside": beside, "behind": behind, "above": above}
    things = {role: tuple(text.split(", ")) for role, text in texts.items()}
    return Place(tuple(nouns.split("/")), tuple(wheres.split("/")), layers, front, back, things, times, weathers)


# Places share colours, so that colour alone does not identify them.
_WATER = ("#4c9fd6", "#3f8fb8", "#6bb7d8", "#4a7fb5")
_SAND = ("#ecd9a0", "#e3c48a", "#f0dfb6", "#d9b679")
_GRASS = ("#8fc866", "#79b555", "#a9cf72", "#93b65c", "#b9c46a")
_WOOD = ("#4f8a4b", "#5d8f50", "#46764a", "#7a9150")
_SNOW = ("#f1f5fa", "#e3ebf4", "#dfe6ef")
_STONE = ("#b9b4ae", "#a5a9b1", "#c7bfae", "#8f98a5")
_ASPHALT = ("#7d8087", "#6f7178", "#8d8a86")
_PLASTER = ("#f3d9b8", "#cfe3ea", "#d8e5c5", "#f0cfcb", "#e7dff0", "#efe7a9")
_FLOOR = ("#b98a5e", "#a7795a", "#c9a27a", "#9b8f88")

PLACES = {
    "beach": _place(
        "beach/sandy beach/shore",
        "on a beach/on the sand/at the seaside/by the ocean",
        (Layer("sea", 0.43, _WATER), Layer("hills", 0.63, _SAND)),
        front=0.9,
        back=0.6,
        main="walker, runner, couple, gymnast, ballerina, thrower, rider, boy, girl, family, woman, dog, crab",
        beside="dog, parasol, palm, football, crab, boy",
        behind="sailboat, ship, island, surfer, swimmer, dolphin",
        above="bird, kite, balloon, plane, helicopter",
    ),
    "sea": _place(
        "sea/ocean/bay",
        "on the sea/in the ocean/on the water/out at sea",
        (Layer("sea", 0.5, _WATER),),
        front=0.88,
        back=0.58,
        main="surfer, swimmer, rower, dolphin, whale, sailboat, ship",
        beside="dolphin, sailboat, swimmer, rower, surfer",
        behind="island, ship, sailboat, volcano, whale, mountain",
        above="bird, eagle, plane, helicopter",
    ),
    "lake": _place(
        "lake/pond",
        "at a lake/by a pond/on the shore of a lake/beside the water",
        (Layer("peaks", 0.3, _STONE), Layer("sea", 0.52, _WATER), Layer("hills", 0.72, _GRASS)),
        front=0.92,
        back=0.64,
        main="couple, runner, old man, family, duck, flamingo, dog, deer",
        beside="duck, tent, bicycle, campfire, tree, dog, chair",
        behind="rower, sailboat, swimmer, fir, house",
    ),
    "street": _place(
        "street/road",
        "on a street/on the road/in a town/along a road",
        (Layer("hills", 0.5, _GRASS), Layer("flat", 0.6, _STONE), Layer("road", 0.7, _ASPHALT)),
        front=0.9,
        back=0.64,
        main="car, taxi, bus, truck, ambulance, fire engine, motorcycle, cyclist, walker, runner, woman, "
        "officer, builder, old woman, dog",
        beside="car, bicycle, motorcycle, traffic light, dog, umbrella, tree, cat, taxi",
        behind="house, church, hotel, tree",
        weathers=("clear", "cloudy", "rain", "snow"),
    ),
    "city": _place(
        "city/big city/city center",
        "in a city/downtown/between skyscrapers/in the city",
        (Layer("skyline", 0.16, _STONE), Layer("flat", 0.66, _STONE), Layer("road", 0.74, _ASPHALT)),
        front=0.91,
        back=0.7,
        main="taxi, car, bus, tram, ambulance, motorcycle, cyclist, walker, couple, officer, woman, bride",
        beside="taxi, tram, traffic light, umbrella, suitcase, dog, bicycle, builder",
        behind="office, hotel, tower, fountain, stadium",
        above="helicopter, plane, balloon, bird",
        times=("day", "dusk", "night", "night"),
    ),
    "park": _place(
        "park/garden/grassy park",
        "in a park/on the grass/on a lawn/in a garden",
        (Layer("hills", 0.5, _WOOD), Layer("flat", 0.58, _GRASS)),
        front=0.9,
        back=0.66,
        main="walker, runner, couple, gymnast, cyclist, ballerina, boy, girl, baby, family, old woman, bride, dog",
        beside="dog, football, bicycle, slide, tulip, duck, guitar, books, girl",
        behind="tree, fountain, slide, castle, carousel, house",
    ),
    "meadow": _place(
        "meadow/field/green field",
        "in a meadow/in a field/on green grass/in the countryside",
        (Layer("hills", 0.42, _GRASS), Layer("hills", 0.58, _GRASS)),
        front=0.9,
        back=0.64,
        main="sheep, cow, horse, rabbit, rider, boy, girl, couple, runner, deer, cyclist",
        beside="sheep, cow, flower, tulip, rabbit, dog, tractor, girl",
        behind="tree, barn, church, train, mountain, fir",
    ),
    "farm": _place(
        "farm/farmyard/ranch",
        "on a farm/in a farmyard/near a barn/on a ranch",
        (Layer("hills", 0.46, _GRASS), Layer("flat", 0.6, (*_SAND, *_GRASS))),
        front=0.9,
        back=0.66,
        main="cow, pig, sheep, horse, tractor, truck, old man, boy, dog, cat",
        beside="pig, tractor, duck, sheep, cat, dog, flower, walker",
        behind="barn, house, tree, cow, tractor",
    ),
    "forest": _place(
        "forest/wood/woodland",
        "in a forest/in the woods/among trees/in a clearing",
        (Layer("hills", 0.24, _WOOD), Layer("hills", 0.6, (*_GRASS, *_WOOD))),
        front=0.9,
        back=0.7,
        main="deer, rabbit, monkey, walker, runner, cyclist, climber, dog, girl, rider",
        beside="campfire, tent, rabbit, deer, guitar",
        behind="fir, tree, tent",
        above="bird, eagle, helicopter, balloon",
        weathers=("clear", "cloudy", "rain", "snow"),
    ),
    "mountains": _place(
        "snowy mountain/ski slope/snowy slope",
        "on a snowy mountain/in the snow/on a ski slope/in the mountains",
        (Layer("peaks", 0.22, _STONE), Layer("hills", 0.6, _SNOW)),
        front=0.9,
        back=0.68,
        main="skier, snowboarder, climber, walker, runner, boy, family, dog, deer, penguin",
        beside="snowman, sled, fir, dog, skier, snowboarder, penguin, tent",
        behind="fir, mountain, house, church, train",
        above="bird, eagle, helicopter, plane",
        weathers=("clear", "cloudy", "snow", "snow"),
    ),
    "desert": _place(
        "desert/sandy desert/dry desert",
        "in a desert/on a sand dune/in the dry sand/in the heat",
        (Layer("hills", 0.44, _SAND), Layer("hills", 0.6, _SAND)),
        front=0.9,
        back=0.66,
        main="camel, truck, motorcycle, walker, rider, couple",
        beside="cactus, camel, tent, palm, campfire",
        behind="palm, volcano, cactus, train, camel",
        above="eagle, plane, helicopter, balloon, kite",
        weathers=("clear", "clear", "cloudy"),
    ),
    "savanna": _place(
        "savanna/plain/dry grassland",
        "in the savanna/on a plain/in the wild/on dry grass",
        (Layer("hills", 0.5, (*_SAND, *_GRASS)), Layer("hills", 0.6, ("#c9b45e", "#b9b865", "#d3b96a"))),
        front=0.9,
        back=0.66,
        main="giraffe, elephant, zebra, tiger, monkey, rider, flamingo, woman",
        beside="zebra, elephant, giraffe, flamingo, monkey",
        behind="tree, giraffe, elephant, mountain, volcano, tent",
        above="eagle, bird, plane, helicopter, balloon",
    ),
    "sports field": _place(
        "sports field/playing field/stadium",
        "on a sports field/on a playing field/in a stadium/at a match",
        (Layer("skyline", 0.4, _STONE), Layer("pitch", 0.56, _GRASS)),
        front=0.9,
        back=0.64,
        main="runner, basketballer, thrower, golfer, gymnast, boy, girl, rider, dog",
        beside="football, goal, thrower, golf flag, officer, dog",
        behind="stadium, goal, tree, tower, golf flag",
        above="balloon, helicopter, bird, kite",
    ),
    "fair": _place(
        "fair/amusement park/funfair",
        "at a fair/at an amusement park/at a funfair/at a carnival",
        (Layer("hills", 0.52, _WOOD), Layer("flat", 0.62, (*_SAND, *_STONE, *_GRASS))),
        front=0.9,
        back=0.68,
        main="boy, girl, family, baby, couple, walker, elephant, monkey",
        beside="carousel, balloon, teddy, drum, slide, bicycle, present, pizza, ballerina",
        behind="ferris wheel, circus, carousel, castle, tower, tree",
        above="balloon, kite, helicopter, plane, bird",
        times=("day", "dusk", "night"),
    ),
    "living room": _place(
        "living room/room",
        "in a living room/at home/in a room",
        (Layer("wall", 0.0, _PLASTER), Layer("flat", 0.7, _FLOOR)),
        front=0.92,
        back=0.5,
        main="boy, girl, baby, woman, old man, old woman, family, ballerina, cat, dog",
        beside="sofa, bed, chair, television, teddy, present, christmas tree, guitar, drum, books, plant, cat",
        behind="picture, window",
        above="balloon",
        times=("day", "night"),
        weathers=("indoors",),
    ),
    "kitchen": _place(
        "kitchen/dining room/room",
        "in a kitchen/at home/at the table",
        (Layer("wall", 0.0, _PLASTER), Layer("flat", 0.72, (*_FLOOR, *_STONE))),
        front=0.92,
        back=0.5,
        main="boy, girl, baby, woman, old woman, family, couple, cat, dog",
        beside="cake, pizza, chair, plant, present, cat, teddy",
        behind="window, picture",
        above="balloon",
        times=("day", "night"),
        weathers=("indoors",),
    ),
}
