"""The registered model as MLflow serves it: a column of image bytes in, embeddings out. Its code travels with it."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from mlflow.models import set_model
from mlflow.pyfunc.model import PythonModel

from tasks.images.preprocess import to_pixels
from tasks.model.persistence import load


class SceneEmbedder(PythonModel):
    """`predict` takes a frame with a column `image` and gives embedding_ND, float32, unit length."""

    def load_context(self, context: Any) -> None:
        """Load the model folder that was logged beside this code."""
        self.model = load(Path(context.artifacts["model"]))

    def predict(self, context: Any, model_input: pd.DataFrame, params: dict[str, Any] | None = None) -> np.ndarray:
        """Embed each image through the decoder and preprocessing that the model was trained with."""
        del context, params
        preprocessing = self.model.config.preprocessing
        with torch.inference_mode():
            rows = [self.model(to_pixels(data, preprocessing)[None]) for data in model_input["image"]]
        return torch.cat(rows).numpy()


set_model(SceneEmbedder())
