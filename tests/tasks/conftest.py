"""Property tests have no deadline: the first call of many a function loads what it needs."""

from hypothesis import settings

settings.register_profile("scenekin", deadline=None)
settings.load_profile("scenekin")
