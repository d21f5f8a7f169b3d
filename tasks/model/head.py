"""Heads, from descriptors to the embedding: a projection of regions (METHOD.md 3), a scaling (6) or a kernel (9)."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

CERTAINTY_SCALE = 0.35  # chosen on Flickr8k's validation split
CERTAINTY_LIMIT = 0.5
MIN_LENGTH = 1e-12
SAME_IMAGE = 0.99  # kernel values above are those of a landmark itself, up to the rounding of its descriptor
BLOCK = 2048  # images whose kernel is in memory at a time


class Projection(nn.Module):
    """φ = normalise( Σ_regions normalise( (descriptor − shift_C) · linear_CD + bias_D ) ).

    The shift is fixed, and a bias after the layer is learned in its place: whitening would amplify the optimiser's
    steps of a learned shift until all embeddings collapse to one point.
    """

    shift_C: Tensor

    def __init__(self, shift_C: Tensor, linear_CD: Tensor) -> None:
        super().__init__()
        self.register_buffer("shift_C", shift_C.clone())
        self.linear_CD = nn.Parameter(linear_CD.clone())
        self.bias_D = nn.Parameter(linear_CD.new_zeros(linear_CD.shape[1]))

    @property
    def dimension(self) -> int:
        """The embedding's dimension, D."""
        return self.linear_CD.shape[1]

    def forward(self, descriptor_SC: Tensor, owner_S: Tensor, images: int) -> Tensor:
        """Compute embedding_BD, unit length, of B = `images` images; row s is a region of image owner_S[s]."""
        with torch.autocast(owner_S.device.type, enabled=False):  # half precision cannot normalise short vectors
            shifted_SC = descriptor_SC.to(self.shift_C.dtype) - self.shift_C
            region_SD = F.normalize(shifted_SC @ self.linear_CD + self.bias_D, dim=-1)
            summed_BD = region_SD.new_zeros(images, region_SD.shape[1]).index_add(0, owner_S, region_SD)
            return F.normalize(summed_BD, dim=-1)


class Scaling(nn.Module):
    """φ = normalise( Σ_regions (descriptor − shift_C) · scale_C ): untrained features, at most centred and scaled."""

    shift_C: Tensor
    scale_C: Tensor

    def __init__(self, shift_C: Tensor, scale_C: Tensor) -> None:
        super().__init__()
        self.register_buffer("shift_C", shift_C.clone())
        self.register_buffer("scale_C", scale_C.clone())

    @property
    def dimension(self) -> int:
        """The embedding's dimension, that of the descriptors."""
        return len(self.scale_C)

    def forward(self, descriptor_SC: Tensor, owner_S: Tensor, images: int) -> Tensor:
        """Compute embedding_BC, unit length, of B = `images` images; row s is a region of image owner_S[s]."""
        with torch.autocast(owner_S.device.type, enabled=False):
            scaled_SC = (descriptor_SC.to(self.shift_C.dtype) - self.shift_C) * self.scale_C
            summed_BC = scaled_SC.new_zeros(images, self.dimension).index_add(0, owner_S, scaled_SC)
            return F.normalize(summed_BC, dim=-1)


class Kernel(nn.Module):
    """y = K(x, landmarks) · weight_MT with K = exp(−‖x − landmark‖²) on scaled descriptors (METHOD.md 9).

    φ = normalise([c, y/‖y‖]), D = 1 + T. The certainty c = 0.35 ln(‖y‖ / usual_length), clipped to ±0.5, grows with
    the confidence of the prediction; as the first coordinate it is part of every prefix of φ.

    Landmarks are training images. Their y is longer than that of unseen images, and its last coordinates, which predict
    least, are larger, because the weights were fitted on them. So that both are treated alike, their certainty is
    computed from unseen_length_M, the length of the prediction by weights fitted without the image (NaN if unknown),
    and their y is multiplied by unseen_scale_T. Scaled landmarks are prepared once, since scaling them takes far longer
    than a single query.
    """

    scale_C: Tensor
    landmark_MC: Tensor
    weight_MT: Tensor
    usual_length: Tensor
    unseen_length_M: Tensor
    unseen_scale_T: Tensor
    scaled_MC: Tensor
    squared_M: Tensor

    def __init__(self, scale_C: Tensor, landmark_MC: Tensor, weight_MT: Tensor) -> None:
        super().__init__()
        self.register_buffer("scale_C", scale_C.float())
        self.register_buffer("landmark_MC", landmark_MC.half())  # as precise as stored features
        self.register_buffer("weight_MT", weight_MT.float())
        self.register_buffer("usual_length", torch.ones(()))
        self.register_buffer("unseen_length_M", torch.full((len(landmark_MC),), torch.nan))
        self.register_buffer("unseen_scale_T", torch.ones(weight_MT.shape[1]))
        self._prepare()
        nn.Module.register_load_state_dict_post_hook(self, lambda head, _keys: head._prepare())

    def _prepare(self) -> None:
        self.register_buffer("scaled_MC", self.landmark_MC.float() * self.scale_C, persistent=False)
        self.register_buffer("squared_M", self.scaled_MC.square().sum(1), persistent=False)

    @property
    def dimension(self) -> int:
        """The embedding's dimension, D."""
        return 1 + self.weight_MT.shape[1]

    @torch.inference_mode()
    def calibrate(self, descriptor_NC: Tensor) -> None:
        """Set `usual_length` to the geometric mean of ‖y‖ over images that the head was not fitted on."""
        length_N = torch.cat([self.predict(block_BC).norm(dim=1) for block_BC in descriptor_NC.split(BLOCK)])
        self.usual_length.copy_(length_N.clamp(min=MIN_LENGTH).log().mean().exp())

    def forward(self, descriptor_SC: Tensor, owner_S: Tensor, images: int) -> Tensor:
        """Compute embedding_BD, unit length, of B = `images` images with one descriptor each."""
        if len(descriptor_SC) != images:
            raise ValueError("a kernel head takes one descriptor per image")
        with torch.autocast(owner_S.device.type, enabled=False):  # differences of large numbers need float32
            kernel_BM = self._kernel(descriptor_SC)
            target_BT = kernel_BM @ self.weight_MT
            length_B1 = target_BT.norm(dim=1, keepdim=True).clamp(min=MIN_LENGTH)
            is_landmark_B1, factor_B1 = self._unseen_factor(kernel_BM, length_B1)
            certainty_B1 = CERTAINTY_SCALE * (length_B1 * factor_B1 / self.usual_length).log()
            direction_BT = F.normalize(torch.where(is_landmark_B1, target_BT * self.unseen_scale_T, target_BT), dim=1)
            return F.normalize(
                torch.cat([certainty_B1.clamp(-CERTAINTY_LIMIT, CERTAINTY_LIMIT), direction_BT], dim=1), dim=-1
            )

    def predict(self, descriptor_BC: Tensor) -> Tensor:
        """Compute y = target_BT."""
        return self._kernel(descriptor_BC) @ self.weight_MT

    def _kernel(self, descriptor_BC: Tensor) -> Tensor:
        return gaussian(descriptor_BC.float() * self.scale_C, self.scaled_MC, self.squared_M)

    def _unseen_factor(self, kernel_BM: Tensor, length_B1: Tensor) -> tuple[Tensor, Tensor]:
        """Return which images are landmarks, and what ‖y‖ is multiplied by: unseen_length_M / ‖y‖ for these, else 1."""
        nearest_B, landmark_B = kernel_BM.detach().max(dim=1)
        unseen_B1 = self.unseen_length_M[landmark_B, None]
        is_landmark_B1 = (nearest_B[:, None] > SAME_IMAGE) & unseen_B1.isfinite()
        return is_landmark_B1, torch.where(is_landmark_B1, unseen_B1 / length_B1.detach(), 1.0)


def gaussian(x_NC: Tensor, y_MC: Tensor, squared_M: Tensor | None = None) -> Tensor:
    """Compute kernel_NM = exp(−‖x − y‖²); `squared_M` are the squared norms of y, if they are known."""
    squared_M = y_MC.square().sum(1) if squared_M is None else squared_M
    squared_NM = x_NC.square().sum(1)[:, None] + squared_M - 2 * x_NC @ y_MC.T
    return (-squared_NM.clamp(min=0)).exp()


Head = Projection | Scaling | Kernel


def flatten_regions(descriptor_BRC: Tensor) -> tuple[Tensor, Tensor, int]:
    """Return (descriptor_SC, owner_S, B), the arguments of a head, for a batch with equal numbers of regions."""
    images, regions, channels = descriptor_BRC.shape
    owner_S = torch.arange(images, device=descriptor_BRC.device).repeat_interleave(regions)
    return descriptor_BRC.reshape(-1, channels), owner_S, images
