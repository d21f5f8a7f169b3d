"""The work of the stage that trains a network's upper stages on the captions."""

import json
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from storage.faults import FaultPoint, reach
from storage.tracking import training_run
from tasks.caching import StageRun
from tasks.captions.tfidf import tfidf_from
from tasks.errors import InputError
from tasks.features.descriptors import project
from tasks.images.crop import crop_side, random_crop
from tasks.images.loader import Refusal
from tasks.images.preprocess import Inputs, normalise
from tasks.model.architectures import create_backbone
from tasks.model.batches import run_in_batches
from tasks.model.config import NetworkConfig
from tasks.model.device import choose_device
from tasks.model.head import Projection
from tasks.model.saving import write_tensors
from tasks.progress import progress
from tasks.training.candidate import LoadedData, memory_errors, run_parameters
from tasks.training.config import GAP, FineTuningConfig
from tasks.training.finetuning import CaptionNetwork, Crops, fine_tune
from tasks.training.inputs import TrainingData
from tasks.training.ridge import best_of, caption_space, linear_heads

PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # of the ridge that training starts from


def finetune(run: StageRun, data: TrainingData, network: NetworkConfig, config: FineTuningConfig, seed: int) -> None:
    """Train the upper stages of a network to predict caption vectors → weights.safetensors and training.json."""
    loaded = LoadedData(run, data, (network,))
    device = choose_device(run.runtime.device, network.backbone.precision)
    target_NT = caption_space(tfidf_from(loaded.tfidf_table), config.dimension, seed).target_NT
    backbone = create_backbone(network.backbone)
    backbone.mirror = False  # crops are mirrored at random
    model = CaptionNetwork(backbone, _start(loaded, target_NT), config.dropout).to(device)
    images, read = loaded.train_images(), loaded.run.reader(loaded.train_images())
    paths = images["path"].to_pylist()

    side = crop_side(network.preprocessing, config.size)

    def crop(row: int, random: np.random.Generator) -> Tensor:
        try:
            return random_crop(read(paths[row]), network.preprocessing, side, config.smallest_crop, random)
        except (InputError, OSError) as error:
            raise InputError(f"Cannot read {paths[row]} any longer: {error}.") from error

    crops = Crops(crop, len(paths), config.batch, run.runtime.workers, seed)
    with (
        memory_errors(device, "finetuning.batch", config.batch),
        training_run(run.workspace, loaded.page("finetuned", "fine-tuning"), run.work / "run_id") as log,
        progress("fine-tuning", config.epochs * crops.batches) as on_step,
    ):
        log.params(run_parameters([network], seed, config))
        state = fine_tune(
            model,
            crops,
            torch.from_numpy(target_NT).float(),
            network.preprocessing,
            config,
            device=device,
            validate=_validation(loaded, model, network, device),
            log=log.metrics,
            on_step=on_step,
            checkpoint=run.work / "checkpoint.pt",
        )
        reach(FaultPoint.CANDIDATE_TRAINED, run.work)
    tensors = {name: tensor.cpu().contiguous() for name, tensor in backbone.state_dict().items()}
    write_tensors(tensors, run.folder / "weights.safetensors")
    summary = {"run_id": log.run_id, "scores": state.scores, "best_epoch": state.best_epoch}
    (run.folder / "training.json").write_text(json.dumps(summary, indent=1), encoding="utf-8")


def _start(loaded: LoadedData, target_NT: np.ndarray) -> Projection:
    """Fit ridge on the averages of the frozen network's last map, with the penalty that is best on validation."""
    train_NC, validation = loaded.train_descriptors(GAP).single(), loaded.validation_descriptors(GAP)
    heads = linear_heads(train_NC, target_NT, PENALTIES)
    return best_of(heads, lambda head: loaded.truth.ndcg_auc(project(head, validation).numpy())).head


def _validation(
    loaded: LoadedData, model: CaptionNetwork, network: NetworkConfig, device: torch.device
) -> Callable[[], float]:
    """Return the function that measures the network's own predictions on validation."""
    images, runtime = loaded.validation_images(), loaded.run.runtime
    paths = images["path"].to_pylist()

    def predict(inputs: Inputs) -> Tensor:
        predicted_BT: Tensor = model(normalise(inputs[0], network.preprocessing))
        return F.normalize(predicted_BT.float(), dim=1)

    def validate() -> float:
        model.eval()
        predicted_NT = torch.zeros(len(paths), model.head.out_features)
        for batch in run_in_batches(
            predict,
            paths,
            loaded.run.reader(images),
            [network.preprocessing],
            device=device,
            batch_size=runtime.batch_size,
            workers=runtime.workers,
        ):
            if isinstance(batch, Refusal):
                raise InputError(f"Cannot read {paths[batch.row]} any longer: {batch.reason}.")
            predicted_NT[list(batch[0])] = batch[1].cpu()
        return loaded.truth.ndcg_auc(predicted_NT.numpy())

    return validate
