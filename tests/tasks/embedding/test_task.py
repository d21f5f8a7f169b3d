from tasks.embedding.task import embed_features, embed_images
from tasks.source import closure_of


def test_code_that_reads_captions_is_no_part_of_what_embeds_images() -> None:
    """A change of the words that are known must not run the network over a whole collection."""
    for stage in (embed_images, embed_features):
        modules = closure_of(stage.function)
        assert "tasks.model.pooling" in modules
        assert not [module for module in modules if module.startswith(("tasks.captions", "tasks.training"))]
