import torch

from tasks.evaluation.comparison_stage import have_equal_weights
from tests.tasks.model.making import TinyBackbone


def test_networks_with_weights_of_another_file_are_not_the_same() -> None:
    one, other = TinyBackbone(), TinyBackbone()
    assert have_equal_weights(one, other)
    with torch.no_grad():
        other.convolution.weight[0, 0, 0, 0] += 1
    assert not have_equal_weights(one, other)
