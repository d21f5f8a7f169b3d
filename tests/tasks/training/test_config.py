from tasks.training.config import TripletConfig


def test_values_take_the_place_of_none() -> None:
    frozen, finetuned = TripletConfig(), TripletConfig(backbone="finetuned")
    assert frozen.resolved("vt_v") == TripletConfig(learning_rate=5e-4, text_learning_rate=5e-3, per_query=1)
    assert finetuned.resolved("vt_v").learning_rate == 1e-5
    assert finetuned.resolved("vt_v").per_query == 8


def test_what_a_method_ignores_makes_no_difference() -> None:
    other = TripletConfig(text_learning_rate=0.1)
    assert other.resolved("v_v") == TripletConfig().resolved("v_v")
    assert other.resolved("wsabie") != TripletConfig().resolved("wsabie")
