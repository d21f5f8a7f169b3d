"""The registered model as an MLflow pyfunc: image bytes in, embeddings out. Its code is stored with the model."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from tasks.images.preprocess import to_inputs
from tasks.model.persistence import load_for_queries


class SceneEmbedder(PythonModel):
    """`predict` takes a data frame with a column `image` and returns embedding_ND, float32, unit length."""

    def load_context(self, context: Any) -> None:
        """Load the model folder logged with this code."""
        self.model = load_for_queries(Path(context.artifacts["model"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> np.ndarray:
        """Embed each image with the decoder and preprocessing used in training."""
        del context, params
        if not all(isinstance(data, bytes) for data in model_input["image"]):
            raise TypeError("The column `image` must contain the bytes of image files.")
        preprocessings = self.model.config.preprocessings
        with torch.inference_mode():
            rows = [self.model.embed_one(to_inputs(data, preprocessings)) for data in model_input["image"]]
        return torch.stack(rows).numpy()


set_model(SceneEmbedder())
