import pytest
import torch

from tasks.errors import InputError
from tasks.model.device import choose_device


def there_is(monkeypatch: pytest.MonkeyPatch, *, cuda: bool, mps: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("cuda", "mps", "chosen"),
    [(True, True, "cuda"), (True, False, "cuda"), (False, True, "mps"), (False, False, "cpu")],
)
def test_auto_takes_the_best_there_is(cuda: bool, mps: bool, chosen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there_is(monkeypatch, cuda=cuda, mps=mps)
    assert choose_device("auto") == torch.device(chosen)
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "tpu", ""])
def test_a_device_that_is_not_there_is_refused_with_the_choices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    there_is(monkeypatch, cuda=False, mps=True)
    with pytest.raises(InputError, match=f"Device '{name}' is not available; set .* to one of: auto, mps, cpu"):
        choose_device(name)


def test_a_gpu_without_bfloat16_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    there_is(monkeypatch, cuda=True, mps=False)
    for supported in (True, False):
        monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda supported=supported, **_: supported)
        assert choose_device("cuda", "float32") == torch.device("cuda")
        if supported:
            assert choose_device("cuda", "bfloat16") == torch.device("cuda")
    with pytest.raises(InputError, match=r"does not compute in bfloat16; set backbone\.precision to float32"):
        choose_device("auto", "bfloat16")
