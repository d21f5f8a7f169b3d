"""The metrics of an evaluation, as later steps read them."""

from pydantic import BaseModel

from tasks.evaluation.mixed import MixedMetrics
from tasks.evaluation.steering import WordMetrics
from tasks.evaluation.summary import MethodSummary, doubt_quality


class Evaluation(BaseModel):
    """What was measured on one split.

    `left_out` counts the queries without any relevant image; `cut_ranks` exceed the number of ranked images.
    Relevance and baselines are fitted on the split `reference`; `foreign` models were trained on another collection.
    `evaluated` is the method of the model that the others are set beside; None if candidates are compared.
    """

    queries: int
    left_out: int
    reference: str
    foreign: bool
    evaluated: str | None
    cut_ranks: tuple[int, ...]
    methods: dict[str, MethodSummary]
    words: dict[str, WordMetrics]
    mixed: dict[str, MixedMetrics]

    @property
    def doubt(self) -> str | None:
        """Why the queries are too few to establish a model's quality; None if they are not."""
        return doubt_quality(self.queries, self.methods)

    def metrics(self, method: str) -> dict[str, float]:
        """Return a method's defined metrics under names that MLflow accepts."""
        summary = self.methods[method]
        metrics = {"ndcg_auc": summary.ndcg_auc, "pcc_auc": summary.pcc_auc}
        metrics |= {f"ndcg_at_{rank}": value for rank, value in summary.ndcg.items()}
        metrics |= {f"pcc_at_{rank}": value for rank, value in summary.pcc.items()}
        return {name: value for name, value in metrics.items() if value is not None}
