import time
from tests.trained import *


def test_try(trained, trained_copy):
    print((trained.workspace.parent / "train.json").read_text())
    print((trained.workspace.parent / "index.json").read_text())
    print((trained.workspace.parent / "evaluate.json").read_text()[:1500])
    t = time.time()
    r = trained.train()
    print(steps_run(r.answer), time.time() - t, r.err)
    t = time.time()
    r = trained_copy.train()
    print(steps_run(r.answer), time.time() - t)
    t = time.time()
    r = trained_copy.train("ridge.dimension=16")
    print(steps_run(r.answer), time.time() - t, r.answer)
    t = time.time()
    change_image(trained_copy.collection, "train")
    r = trained_copy.train()
    print(steps_run(r.answer), time.time() - t, r.err)
