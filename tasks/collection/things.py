"""The things that the demo's scenes are made of, as a table: glyphs of the OpenMoji font, sizes and words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Thing:
    """What can be seen: its glyph, its height in px where the image's shorter side is 240, and its words.

    `nouns` run from the exact to the broad, `doings` say what it does as the main thing, `deeds` what a person with
    free hands does with it ("{}" is the thing). `colours` are those it comes in, `herd` the most there are at once.
    A `close` thing is a portrait, cut off by the lower edge; an `afloat` one has a glyph with a patch of water.
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
    colours: str = "",
    herd: int = 1,
    close: bool = False,
    afloat: bool = False,
) -> Thing:
    words = (tuple(filter(None, text.split("/"))) for text in (nouns, doings, deeds, colours))
    return Thing(glyph, height, *words, herd, close, afloat)


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
    "walker": _thing("🚶", 104, "man/person/guy", "walking/strolling/taking a walk", herd=2),
    "runner": _thing("🏃", 98, "runner/jogger/person", "running/jogging/sprinting", herd=3),
    "stander": _thing("🧍", 104, "man/person/guy", "standing/waiting/standing still", herd=2),
    "couple": _thing("👫", 104, "couple/pair/couple", "holding hands/walking hand in hand/standing together"),
    "ballerina": _thing("💃", 104, "woman/dancer/lady", "dancing/doing ballet/balancing on one leg"),
    "dancer": _thing("🕺", 100, "man/dancer/guy", "dancing/jumping with joy/leaping"),
    "gymnast": _thing("🤸", 98, "gymnast/acrobat/child", "doing a handstand/doing a cartwheel/upside down"),
    "yogi": _thing("🧘", 84, "woman/person/lady", "doing yoga/meditating/sitting cross-legged"),
    "juggler": _thing("🤹", 106, "juggler/performer/man", "juggling/juggling balls/performing a trick"),
    "cyclist": _thing("🚴", 100, "cyclist/biker/person", "riding a bike/cycling/pedaling a bicycle", herd=2),
    "rider": _thing("🏇", 106, "rider/jockey/person", "riding a horse/galloping/on horseback"),
    "climber": _thing("🧗", 120, "climber/hiker/person", "climbing a rock/scaling a cliff/rock climbing"),
    "skier": _thing("⛷", 96, "skier/man/person", "skiing/racing downhill on skis/going down a slope", herd=2),
    "snowboarder": _thing("🏂", 98, "snowboarder/boarder/person", "snowboarding/riding a snowboard/jumping"),
    "surfer": _thing("🏄", 104, "surfer/man/person", "surfing/riding a wave/balancing on a surfboard"),
    "swimmer": _thing(
        "🏊", 66, "swimmer/man/person", "swimming/doing the crawl/splashing", herd=2, afloat=True
    ),
    "rower": _thing("🚣", 76, "rower/man/person", "rowing a boat/paddling/rowing", afloat=True),
    "basketballer": _thing(
        "⛹", 98, "basketball player/player/man", "bouncing a ball/playing basketball/dribbling"
    ),
    "thrower": _thing(
        "🤾", 102, "handball player/player/man", "throwing a ball/jumping with a ball/playing handball"
    ),
    "golfer": _thing("🏌", 108, "golfer/player/man", "playing golf/swinging a golf club/hitting a ball"),
    "fencer": _thing("🤺", 100, "fencer/athlete/man", "fencing/holding a sword/attacking with a sword"),
    "weightlifter": _thing("🏋", 98, "weightlifter/athlete/man", "lifting weights/holding a barbell/training"),
    # people as portraits
    "boy": _thing("👦", 112, "boy/child/kid", _POSING, close=True),
    "girl": _thing("👧", 112, "girl/child/little girl", _POSING, close=True),
    "baby": _thing("👶", 96, "baby/infant/small child", "laughing/crying/wrapped in a blanket", close=True),
    "woman": _thing("👩", 120, "woman/lady/person", _POSING, close=True),
    "old man": _thing("👴", 120, "old man/elderly man/grandfather", _POSING, close=True),
    "old woman": _thing("👵", 120, "old woman/elderly lady/grandmother", _POSING, close=True),
    "family": _thing("👪", 122, "family/group of people/family", _POSING, close=True),
    "officer": _thing(
        "👮", 120, "police officer/policeman/person in uniform", "on duty/watching/smiling", close=True
    ),
    "builder": _thing(
        "👷", 120, "worker/builder/man in a helmet", "working/taking a break/smiling", close=True
    ),
    "bride": _thing("👰", 120, "bride/woman in a veil/woman", "getting married/smiling/posing", close=True),
    # animals
    "dog": _thing(
        "🐕", 76, "dog/puppy/animal", "running/playing/trotting", "walking {}/playing with {}", _COATS, 2
    ),
    "cat": _thing(
        "🐈", 66, "cat/kitten/animal", "walking/sneaking/exploring", "petting {}/playing with {}", _COATS
    ),
    "horse": _thing("🐎", 96, "horse/pony/animal", _GRAZING, "leading {}/petting {}", _COATS, 2),
    "cow": _thing("🐄", 82, "cow/farm animal/animal", _GRAZING, _PETTING, herd=3),
    "pig": _thing("🐖", 68, "pig/farm animal/animal", "standing/rooting in the mud/eating", _PETTING, herd=3),
    "sheep": _thing("🐑", 72, "sheep/farm animal/animal", _GRAZING, _PETTING, herd=3),
    "goat": _thing("🐐", 78, "goat/farm animal/animal", _GRAZING, _PETTING, herd=2),
    "rooster": _thing("🐓", 72, "rooster/chicken/bird", "strutting/crowing/pecking", "feeding {}", herd=2),
    "duck": _thing("🦆", 62, "duck/bird/water bird", "resting/swimming/quacking", "feeding {}", herd=3),
    "swan": _thing("🦢", 72, "swan/white bird/bird", "gliding along/swimming/resting", "feeding {}", herd=2),
    "flamingo": _thing("🦩", 90, "flamingo/pink bird/bird", "standing on one leg/wading/resting", herd=3),
    "camel": _thing("🐪", 98, "camel/dromedary/animal", "walking/standing/resting", "leading {}", herd=3),
    "giraffe": _thing(
        "🦒", 124, "giraffe/wild animal/animal", "walking/standing tall/looking around", herd=2
    ),
    "elephant": _thing("🐘", 104, "elephant/wild animal/animal", "walking/standing/roaming", herd=2),
    "zebra": _thing("🦓", 88, "zebra/striped animal/animal", _GRAZING, herd=3),
    "tiger": _thing("🐅", 80, "tiger/big cat/wild animal", "prowling/hunting/walking"),
    "monkey": _thing("🐒", 76, "monkey/ape/animal", "climbing around/walking/playing", "feeding {}", herd=2),
    "deer": _thing("🦌", 104, "deer/stag/animal", _GRAZING, "photographing {}", herd=2),
    "rabbit": _thing("🐇", 58, "rabbit/bunny/animal", "hopping/sitting/eating grass", _PETTING, herd=2),
    "squirrel": _thing(
        "🐿", 60, "squirrel/small animal/animal", "nibbling a nut/sitting/climbing", "feeding {}"
    ),
    "crab": _thing("🦀", 52, "crab/red crab/animal", "crawling/hiding/walking sideways", "catching {}"),
    "penguin": _thing("🐧", 78, "penguin/bird/animal", "waddling/standing/walking", herd=3),
    "dolphin": _thing(
        "🐬", 70, "dolphin/sea animal/animal", "jumping/leaping out of the water/diving", herd=2
    ),
    "whale": _thing("🐳", 88, "whale/sea animal/animal", "spouting water/surfacing/swimming"),
    "bird": _thing("🕊", 50, "bird/dove/white bird", "flying/gliding/circling", "watching {}", herd=3),
    "eagle": _thing("🦅", 56, "eagle/bird of prey/bird", "flying/gliding/circling", "watching {}"),
    # vehicles
    "car": _thing("🚗", 66, "car/automobile/vehicle", "driving/parked/passing by", "washing {}", _PAINTS, 2),
    "jeep": _thing("🚙", 74, "jeep/car/vehicle", "driving/parked/crossing", "leaning on {}", _PAINTS),
    "taxi": _thing("🚕", 68, "taxi/yellow cab/car", "waiting/driving/passing by", "calling {}", herd=2),
    "bus": _thing(
        "🚌",
        68,
        "bus/coach/vehicle",
        "stopping/driving/passing by",
        "waiting for {}",
        "red/blue/green/yellow",
    ),
    "truck": _thing(
        "🛻", 68, "pickup truck/truck/vehicle", "driving/parked/passing by", "loading {}", _PAINTS
    ),
    "police car": _thing("🚓", 68, "police car/patrol car/car", "driving/racing along/passing by"),
    "ambulance": _thing("🚑", 74, "ambulance/emergency vehicle/van", "racing along/parked/driving"),
    "fire engine": _thing("🚒", 76, "fire engine/fire truck/truck", "racing along/parked/driving"),
    "tractor": _thing("🚜", 88, "tractor/farm machine/vehicle", "plowing/driving/parked", "repairing {}"),
    "motorcycle": _thing("🏍", 76, "motorcycle/motorbike/bike", _PARKED, "repairing {}/polishing {}", _PAINTS),
    "bicycle": _thing("🚲", 72, "bicycle/bike/bike", _PARKED, "pushing {}/repairing {}", _PAINTS),
    "train": _thing("🚂", 70, "steam train/locomotive/train", "passing by/rolling along/steaming"),
    "tram": _thing("🚋", 84, "tram/streetcar/vehicle", "stopping/passing by/rolling along", "waiting for {}"),
    "helicopter": _thing("🚁", 50, "helicopter/chopper/aircraft", "flying/hovering/landing"),
    "plane": _thing("🛩", 54, "small plane/airplane/aircraft", "flying/gliding/turning"),
    "sailboat": _thing(
        "⛵", 92, "sailboat/boat/yacht", "sailing/drifting/floating", "watching {}", _PAINTS, 2, afloat=True
    ),
    "speedboat": _thing(
        "🚤", 44, "speedboat/motorboat/boat", "speeding along/racing/cruising", "watching {}"
    ),
    "ship": _thing("🚢", 96, "ship/ferry/vessel", "cruising/sailing/arriving", "watching {}", afloat=True),
    "canoe": _thing(
        "🛶", 50, "canoe/boat/small boat", "floating/drifting/lying still", "paddling {}", _PAINTS
    ),
    # buildings
    "house": _thing("🏠", 104, "house/home/building", colours="red/blue/yellow/green/white"),
    "cottages": _thing("🏘", 104, "row of cottages/village/group of houses"),
    "barn": _thing("🏚", 100, "old barn/farmhouse/building", colours="red/brown/grey"),
    "hut": _thing("🛖", 90, "hut/straw hut/cabin"),
    "office": _thing("🏢", 104, "office building/tall building/building", colours="grey/blue/brown/red"),
    "hotel": _thing("🏨", 106, "hotel/building/tall building"),
    "school": _thing("🏫", 102, "school/school building/building"),
    "church": _thing("⛪", 116, "church/chapel/building"),
    "castle": _thing("🏰", 106, "castle/fortress/building"),
    "mosque": _thing("🕌", 114, "mosque/temple/building"),
    "tower": _thing("🗼", 128, "tower/steel tower/landmark"),
    "stadium": _thing("🏟", 84, "stadium/arena/building"),
    "ferris wheel": _thing("🎡", 122, "ferris wheel/big wheel/ride"),
    "carousel": _thing("🎠", 108, "carousel horse/merry-go-round/ride", deeds="riding {}"),
    "circus": _thing("🎪", 100, "circus tent/striped tent/big tent"),
    "fountain": _thing("⛲", 96, "fountain/water fountain/monument", deeds="looking at {}"),
    # plants and land
    "tree": _thing(
        "🌳", 116, "tree/leafy tree/tree", deeds="leaning on {}", colours="green/red/yellow", herd=3
    ),
    "fir": _thing("🌲", 118, "fir tree/pine tree/tree", herd=3),
    "palm": _thing("🌴", 114, "palm tree/palm/tree", herd=3),
    "cactus": _thing("🌵", 96, "cactus/prickly cactus/plant", herd=3),
    "flower": _thing("🌻", 64, "flower/yellow flower/plant", deeds="picking {}/watering {}", herd=3),
    "tulip": _thing(
        "🌷", 60, "tulip/flower/plant", deeds="picking {}", colours="red/yellow/pink/white", herd=3
    ),
    "mushroom": _thing("🍄", 54, "mushroom/red mushroom/toadstool", deeds="picking {}", herd=2),
    "rock": _thing("🪨", 52, "rock/boulder/stone", deeds="leaning on {}"),
    "mountain": _thing("🏔", 100, "mountain/snow-capped peak/mountain"),
    "volcano": _thing("🌋", 112, "volcano/erupting volcano/mountain"),
    "island": _thing("🏝", 96, "island/small island/palm island"),
    # the sky
    "sun": _thing("☀", 50, "sun"),
    "moon": _thing("🌙", 48, "moon"),
    "cloud": _thing("☁", 42, "cloud"),
    # things to use
    "kite": _thing("🪁", 66, "kite/kite/toy", deeds="flying {}", colours="red/pink/blue/green/yellow"),
    "balloon": _thing(
        "🎈", 66, "balloon/balloon/toy", deeds="holding {}", colours="red/blue/yellow/green", herd=2
    ),
    "football": _thing("⚽", 42, "soccer ball/football/ball", deeds="kicking {}/playing with {}"),
    "goal": _thing("🥅", 88, "goal/soccer goal/net", deeds="guarding {}"),
    "golf flag": _thing("⛳", 92, "golf flag/flag/golf hole"),
    "parasol": _thing(
        "⛱", 92, "beach umbrella/parasol/sunshade", deeds="sitting under {}", colours="red/blue/yellow"
    ),
    "umbrella": _thing(
        "☂", 76, "umbrella/rain umbrella/umbrella", deeds=_HOLDING, colours="red/blue/black/yellow"
    ),
    "bucket": _thing("🪣", 52, "bucket/pail/bucket", deeds="filling {}", colours="blue/red/yellow"),
    "tent": _thing("⛺", 86, "tent/camping tent/tent", deeds="pitching {}", colours="yellow/red/blue/green"),
    "campfire": _thing("🔥", 64, "campfire/fire/bonfire", deeds="sitting by {}/lighting {}"),
    "suitcase": _thing("🧳", 64, "suitcase/travel bag/bag", deeds="pulling {}"),
    "snowman": _thing("⛄", 86, "snowman/snowman with a hat/figure of snow", deeds="building {}"),
    "sled": _thing("🛷", 38, "sled/sledge/sled", deeds="pulling {}"),
    "slide": _thing("🛝", 92, "slide/playground slide/slide", deeds="playing on {}"),
    "traffic light": _thing("🚦", 96, "traffic light/stoplight/signal", deeds="waiting at {}"),
    "sofa": _thing("🛋", 84, "sofa/couch/piece of furniture", deeds="sitting on {}"),
    "bed": _thing("🛏", 56, "bed/bed/piece of furniture", deeds="resting on {}"),
    "chair": _thing("🪑", 88, "chair/wooden chair/piece of furniture", deeds="sitting on {}"),
    "television": _thing("📺", 72, "television/tv/screen", deeds="watching {}"),
    "teddy": _thing("🧸", 76, "teddy bear/stuffed bear/toy", deeds="hugging {}/playing with {}"),
    "present": _thing("🎁", 68, "present/gift/box", deeds="opening {}", herd=3),
    "christmas tree": _thing("🎄", 116, "christmas tree/decorated tree/tree", deeds="decorating {}"),
    "guitar": _thing("🎸", 92, "guitar/electric guitar/instrument", deeds="playing {}"),
    "drum": _thing("🥁", 74, "drum/drum with sticks/instrument", deeds="playing {}"),
    "books": _thing("📚", 58, "pile of books/stack of books/pile of books", deeds="reading {}"),
    "plant": _thing("🪴", 82, "potted plant/house plant/plant", deeds="watering {}"),
    "cake": _thing("🎂", 70, "cake/birthday cake/cake", deeds=_EATING),
    "pizza": _thing("🍕", 66, "pizza/slice of pizza/meal", deeds=_EATING),
    "coffee": _thing("☕", 60, "cup of coffee/hot drink/cup of tea", deeds="drinking {}"),
    "salad": _thing("🥗", 62, "bowl of salad/salad/meal", deeds=_EATING),
    "picture": _thing("🖼", 62, "picture/painting/framed picture"),
    "window": _thing("🪟", 78, "window/glass window/window"),
    "door": _thing("🚪", 108, "door/wooden door/door"),
}

# Those who can do a thing's deeds.
FREE_HANDS = frozenset(
    {
        "walker",
        "stander",
        "boy",
        "girl",
        "woman",
        "old man",
        "old woman",
        "family",
        "officer",
        "builder",
        "bride",
    }
)
