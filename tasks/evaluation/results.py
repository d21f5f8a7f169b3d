"""The metrics of an evaluation, as later steps read them."""

from pydantic import BaseModel

from tasks.evaluation.mixed import MixedMetrics
from tasks.evaluation.steering import WordMetrics
from tasks.evaluation.summary import MethodSummary, doubt_quality


class Evaluation(BaseModel):
    """The metrics of all methods on one split.

    `left_out` is the number of queries without any relevant image, which are skipped; `cut_ranks` are the standard
    ranks that exceed the number of ranked images. Relevance and baselines are fitted on the split `reference`. If
    `foreign`, the models were trained on other captions. `evaluated` is the method of the evaluated model; None if
    candidates are compared.
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
        """Return the metrics of a method that are defined, by names that MLflow accepts."""
        summary = self.methods[method]
        metrics = {"ndcg_auc": summary.ndcg_auc, "pcc_auc": summary.pcc_auc}
        metrics |= {f"ndcg_at_{rank}": value for rank, value in summary.ndcg.items()}
        metrics |= {f"pcc_at_{rank}": value for rank, value in summary.pcc.items()}
        return {name: value for name, value in metrics.items() if value is not None}
