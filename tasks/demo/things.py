"""The things in the demo's scenes as a table: glyphs of the OpenMoji font, sizes and words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thing:
    """A thing: its glyph, its height in pixels (of 240) when near, and its words.

    `nouns` go from exact to broad; `doings` are what it does as a scene's main thing; `deeds` what a person with free
    hands does with it ("{}"). `colours` are the ones it can have, `herd` the maximum number at once. A `close` thing
    is a portrait, cut off by the lower edge; the glyph of an `afloat` one contains some water.
    """

    glyph: str
    height: int
    nouns: tuple[str, ...]
    doings: tuple[str, ...]
    deeds: tuple[str, ...]
    colours: tuple[str, ...]
    herd: int
    close: bool
    afloat: bool


def _thing(
    glyph: str,
    height: int,
    nouns: str,
    doings: str = "",
    deeds: str = "",
    *,
    colours: str = "",
    herd: int = 1,
    close: bool = False,
    afloat: bool = False,
) -> Thing:
    return Thing(glyph, height, _words(nouns), _words(doings), _words(deeds), _words(colours), herd, close, afloat)


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split("/")) if text else ()


_PAINTS = "red/blue/yellow/green/white/black"
_COATS = "brown/black/white/grey"
_POSING = "smiling/looking at the camera/posing for a picture"
_PARKED = "parked/standing/waiting"
_GRAZING = "grazing/eating grass/standing"
_PETTING = "petting {}/feeding {}/playing with {}"
_HOLDING = "holding {}/carrying {}"
_EATING = "eating {}/tasting {}"

THINGS = {
    # people in full
    "walker": _thing("🚶", 130, "man/person/guy", "walking/strolling/taking a walk", herd=2),
    "runner": _thing("🏃", 120, "runner/jogger/person", "running/jogging/sprinting", herd=3),
    "couple": _thing("👫", 130, "couple/pair", "holding hands/walking hand in hand/standing together"),
    "ballerina": _thing("💃", 130, "woman/dancer/lady", "dancing/doing ballet/balancing on one leg"),
    "gymnast": _thing("🤸", 120, "gymnast/acrobat/child", "doing a handstand/doing a cartwheel/upside down"),
    "cyclist": _thing("🚴", 125, "cyclist/biker/person", "riding a bike/cycling/pedaling a bicycle", herd=2),
    "rider": _thing("🏇", 130, "rider/jockey/person", "riding a horse/galloping/on horseback"),
    "climber": _thing("🧗", 150, "climber/hiker/person", "climbing a rock/scaling a cliff/rock climbing"),
    "skier": _thing("⛷", 120, "skier/man/person", "skiing/racing downhill/going down a slope", herd=2),
    "snowboarder": _thing("🏂", 120, "snowboarder/boarder/person", "snowboarding/riding a snowboard/jumping"),
    "surfer": _thing("🏄", 130, "surfer/man/person", "surfing/riding a wave/balancing on a surfboard"),
    "swimmer": _thing("🏊", 80, "swimmer/man/person", "swimming/doing the crawl", herd=2, afloat=True),
    "rower": _thing("🚣", 95, "rower/man/person", "rowing a boat/paddling/rowing", afloat=True),
    "basketballer": _thing("⛹", 120, "basketball player/player/man", "bouncing a ball/playing basketball"),
    "thrower": _thing("🤾", 130, "handball player/player", "throwing a ball/jumping/playing handball"),
    "golfer": _thing("🏌", 135, "golfer/player/man", "playing golf/swinging a golf club/hitting a ball"),
    # people as portraits
    "boy": _thing("👦", 140, "boy/child/kid", _POSING, close=True),
    "girl": _thing("👧", 140, "girl/child/little girl", _POSING, close=True),
    "baby": _thing("👶", 120, "baby/infant/small child", "laughing/crying/wrapped in a blanket", close=True),
    "woman": _thing("👩", 150, "woman/lady/person", _POSING, close=True),
    "old man": _thing("👴", 150, "old man/elderly man/grandfather", _POSING, close=True),
    "old woman": _thing("👵", 150, "old woman/elderly lady/grandmother", _POSING, close=True),
    "family": _thing("👪", 150, "family/group of people", _POSING, close=True),
    "officer": _thing("👮", 150, "police officer/policeman", "on duty/watching/smiling", close=True),
    "builder": _thing("👷", 150, "worker/builder", "working/taking a break/smiling", close=True),
    "bride": _thing("👰", 150, "bride/woman in a veil", "getting married/smiling/posing", close=True),
    # animals
    "dog": _thing("🐕", 95, "dog/puppy/animal", "running/playing", "walking {}", colours=_COATS, herd=2),
    "cat": _thing("🐈", 80, "cat/kitten/animal", "walking/sneaking", "petting {}", colours=_COATS),
    "horse": _thing("🐎", 120, "horse/pony/animal", _GRAZING, "leading {}", colours=_COATS, herd=2),
    "cow": _thing("🐄", 100, "cow/farm animal/animal", _GRAZING, _PETTING, herd=3),
    "pig": _thing("🐖", 85, "pig/farm animal/animal", "standing/rooting in the mud/eating", _PETTING, herd=3),
    "sheep": _thing("🐑", 90, "sheep/farm animal/animal", _GRAZING, _PETTING, herd=3),
    "duck": _thing("🦆", 80, "duck/bird/water bird", "resting/swimming/quacking", "feeding {}", herd=3),
    "flamingo": _thing("🦩", 110, "flamingo/pink bird/bird", "standing on one leg/wading/resting", herd=3),
    "camel": _thing("🐪", 120, "camel/dromedary/animal", "walking/standing/resting", "leading {}", herd=3),
    "giraffe": _thing("🦒", 155, "giraffe/wild animal/animal", "walking/standing tall", herd=2),
    "elephant": _thing("🐘", 130, "elephant/wild animal/animal", "walking/standing/roaming", herd=2),
    "zebra": _thing("🦓", 110, "zebra/striped animal/animal", _GRAZING, herd=3),
    "tiger": _thing("🐅", 100, "tiger/big cat/wild animal", "prowling/hunting/walking"),
    "monkey": _thing("🐒", 95, "monkey/ape/animal", "climbing around/walking/playing", "feeding {}", herd=2),
    "deer": _thing("🦌", 130, "deer/stag/animal", _GRAZING, "photographing {}", herd=2),
    "rabbit": _thing("🐇", 70, "rabbit/bunny/animal", "hopping/sitting/eating grass", _PETTING, herd=2),
    "crab": _thing("🦀", 65, "crab/red crab/animal", "crawling/hiding/walking sideways", "catching {}"),
    "penguin": _thing("🐧", 100, "penguin/bird/animal", "waddling/standing/walking", herd=3),
    "dolphin": _thing("🐬", 90, "dolphin/sea animal/animal", "jumping/leaping out of the water", herd=2),
    "whale": _thing("🐳", 110, "whale/sea animal/animal", "spouting water/surfacing/swimming"),
    "bird": _thing("🕊", 60, "bird/dove/white bird", "flying/gliding/circling", "watching {}", herd=3),
    "eagle": _thing("🦅", 70, "eagle/bird of prey/bird", "flying/gliding/circling", "watching {}"),
    # vehicles
    "car": _thing("🚗", 80, "car/vehicle", "driving/parked", "washing {}", colours=_PAINTS, herd=2),
    "taxi": _thing("🚕", 85, "taxi/yellow cab/car", "waiting/driving/passing by", "calling {}", herd=2),
    "bus": _thing("🚌", 85, "bus/coach/vehicle", "stopping/driving", "waiting for {}", colours=_PAINTS),
    "truck": _thing("🛻", 85, "pickup truck/truck/vehicle", "driving/parked", "loading {}", colours=_PAINTS),
    "ambulance": _thing("🚑", 90, "ambulance/emergency vehicle/van", "speeding/parked/driving"),
    "fire engine": _thing("🚒", 95, "fire engine/fire truck/truck", "speeding/parked/driving"),
    "tractor": _thing("🚜", 110, "tractor/farm machine/vehicle", "plowing/driving/parked", "repairing {}"),
    "motorcycle": _thing("🏍", 95, "motorcycle/motorbike/bike", _PARKED, "repairing {}", colours=_PAINTS),
    "bicycle": _thing("🚲", 90, "bicycle/bike", _PARKED, "pushing {}/repairing {}", colours=_PAINTS),
    "train": _thing("🚂", 90, "steam train/locomotive/train", "passing by/rolling along/steaming"),
    "tram": _thing("🚋", 105, "tram/streetcar/vehicle", "stopping/passing by", "waiting for {}"),
    "helicopter": _thing("🚁", 60, "helicopter/chopper/aircraft", "flying/hovering/landing"),
    "plane": _thing("🛩", 70, "small plane/airplane/aircraft", "flying/gliding/turning"),
    "sailboat": _thing("⛵", 115, "sailboat/boat/yacht", "sailing", colours=_PAINTS, herd=2, afloat=True),
    "ship": _thing("🛳", 120, "ship/ferry/vessel", "cruising/sailing/arriving", "watching {}", afloat=True),
    # buildings
    "house": _thing("🏠", 130, "house/home/building", colours="red/blue/yellow/green/white"),
    "barn": _thing("🏚", 125, "old barn/farmhouse/building", colours="red/brown/grey"),
    "office": _thing("🏢", 130, "office building/tall building/building", colours="grey/blue/brown/red"),
    "hotel": _thing("🏨", 130, "hotel/building/tall building"),
    "church": _thing("⛪", 145, "church/chapel/building"),
    "castle": _thing("🏰", 130, "castle/fortress/building"),
    "tower": _thing("🗼", 160, "tower/steel tower/landmark"),
    "stadium": _thing("🏟", 105, "stadium/arena/building"),
    "ferris wheel": _thing("🎡", 150, "ferris wheel/big wheel/ride"),
    "carousel": _thing("🎠", 135, "carousel horse/merry-go-round/ride", deeds="riding {}"),
    "circus": _thing("🎪", 125, "circus tent/striped tent/big tent"),
    "fountain": _thing("⛲", 120, "fountain/water fountain/monument", deeds="looking at {}"),
    # plants and land
    "tree": _thing("🌳", 145, "tree/leafy tree", deeds="leaning on {}", colours="green/red/yellow", herd=3),
    "fir": _thing("🌲", 150, "fir tree/pine tree/tree", herd=3),
    "palm": _thing("🌴", 140, "palm tree/palm/tree", herd=3),
    "cactus": _thing("🌵", 120, "cactus/prickly cactus/plant", herd=3),
    "flower": _thing("🌻", 80, "flower/yellow flower", deeds="picking {}/watering {}", herd=3),
    "tulip": _thing("🌷", 75, "tulip/flower/plant", deeds="picking {}", colours="red/yellow/white", herd=3),
    "mountain": _thing("🏔", 125, "mountain/snow-capped peak"),
    "volcano": _thing("🌋", 140, "volcano/erupting volcano/mountain"),
    "island": _thing("🏝", 120, "island/small island/palm island"),
    # the sky
    "sun": _thing("☀", 60, "sun"),
    "moon": _thing("🌙", 60, "moon"),
    "cloud": _thing("☁", 50, "cloud"),
    # things to use
    "kite": _thing("🪁", 80, "kite/toy", deeds="flying {}", colours="red/pink/blue/green/yellow"),
    "balloon": _thing("🎈", 80, "balloon/toy", deeds="holding {}", colours="red/blue/yellow/green", herd=2),
    "football": _thing("⚽", 50, "soccer ball/football/ball", deeds="kicking {}/playing with {}"),
    "goal": _thing("🥅", 110, "goal/soccer goal/net", deeds="guarding {}"),
    "golf flag": _thing("⛳", 115, "golf flag/flag/golf hole"),
    "parasol": _thing("⛱", 115, "beach umbrella/parasol", deeds="opening {}", colours="red/blue/yellow"),
    "umbrella": _thing("☂", 95, "umbrella/rain umbrella", deeds=_HOLDING, colours="red/blue/black/yellow"),
    "tent": _thing("⛺", 110, "tent/camping tent", deeds="pitching {}", colours="yellow/red/blue/green"),
    "campfire": _thing("🔥", 80, "campfire/fire/bonfire", deeds="sitting by {}/lighting {}"),
    "suitcase": _thing("🧳", 80, "suitcase/travel bag/bag", deeds="pulling {}"),
    "snowman": _thing("⛄", 110, "snowman/snow figure", deeds="building {}"),
    "sled": _thing("🛷", 50, "sled/sledge", deeds="pulling {}"),
    "slide": _thing("🛝", 115, "slide/playground slide", deeds="playing on {}"),
    "traffic light": _thing("🚦", 120, "traffic light/stoplight/signal", deeds="waiting at {}"),
    "sofa": _thing("🛋", 105, "sofa/couch/piece of furniture", deeds="sitting on {}"),
    "bed": _thing("🛏", 70, "bed/piece of furniture", deeds="resting on {}"),
    "chair": _thing("🪑", 110, "chair/wooden chair/piece of furniture", deeds="sitting on {}"),
    "television": _thing("📺", 90, "television/tv/screen", deeds="watching {}"),
    "teddy": _thing("🧸", 95, "teddy bear/stuffed bear/toy", deeds="hugging {}/playing with {}"),
    "present": _thing("🎁", 85, "present/gift/box", deeds="opening {}", herd=3),
    "christmas tree": _thing("🎄", 145, "christmas tree/decorated tree/tree", deeds="decorating {}"),
    "guitar": _thing("🎸", 115, "guitar/electric guitar/instrument", deeds="playing {}"),
    "drum": _thing("🥁", 90, "drum/drum with sticks/instrument", deeds="playing {}"),
    "books": _thing("📚", 70, "pile of books/stack of books", deeds="reading {}"),
    "plant": _thing("🪴", 100, "potted plant/house plant/plant", deeds="watering {}"),
    "cake": _thing("🎂", 90, "cake/birthday cake", deeds=_EATING),
    "pizza": _thing("🍕", 80, "pizza/slice of pizza/meal", deeds=_EATING),
    "picture": _thing("🖼", 80, "picture/painting/framed picture"),
    "window": _thing("🪟", 100, "window/glass window"),
}

# The people who can do a thing's deeds.
FREE_HANDS = frozenset(("walker", "boy", "girl", "woman", "old man", "old woman", "family", "officer", "bride"))
