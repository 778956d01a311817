"""The whole network: covariates of a batch in, logits of every member out (figure 2)."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from survtrace.network.embedding import Embedding
from survtrace.network.encoder import Encoder, EncoderLayer
from survtrace.network.heads import CauseHeads, Head, answer
from survtrace.network.member import Dropout, MemberLinear, RandomMask, TokenDropout
from survtrace.network.power import raised
from survtrace.network.representation import Representation


@dataclass(frozen=True)
class Shape:
    """Everything that fixes the size of a network's parameters, and its dropout."""

    n_members: int
    n_rows: int
    n_tokens: int
    n_causes: int
    n_intervals: int
    silent_rows: tuple[int, ...]
    width: int
    depth: int
    n_heads: int
    hidden: int
    head_depth: int
    token_bias: bool
    proportional: float
    dropout: float
    attention_dropout: float
    token_dropout: float
    head_dropout: float

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: dict[str, Any]) -> "Shape":
        """Read the shape that `as_dict` described; an early file lacks the later parts."""
        early = {"token_bias": False, "proportional": 0.0}
        return cls(**{**early, **plain, "silent_rows": tuple(plain["silent_rows"])})


class Logits(NamedTuple):
    """The outputs of all heads, before any loss or curve."""

    cause: Float[Tensor, "member subject cause interval"]
    mortality: Float[Tensor, "member subject"]
    stay: Float[Tensor, "member subject"]


class Network(nn.Module):
    """M members side by side; the paper has one."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        m, hidden = shape.n_members, shape.hidden
        self.shape = shape
        self.embedding = Embedding(
            m, shape.n_rows, shape.n_tokens, shape.width, list(shape.silent_rows), shape.token_bias
        )
        self.token_dropout = TokenDropout(shape.token_dropout)
        self.encoder = Encoder(
            EncoderLayer(
                m, shape.width, shape.n_heads, hidden, shape.dropout, shape.attention_dropout
            )
            for _ in range(shape.depth)
        )
        self.representation = Representation(m, shape.n_tokens, shape.width, hidden)
        self.causes = CauseHeads(
            m, hidden, shape.n_causes, shape.n_intervals, shape.head_depth, shape.proportional
        )
        self.mortality = Head(m, hidden, 1, shape.head_depth)
        self.stay = Head(m, hidden, 1, shape.head_depth)
        self.head_dropout = Dropout(shape.head_dropout)
        self.recalibration_factor: Tensor
        self.hazard_power: Tensor
        self.generator: torch.Generator | None = None
        factor = torch.ones(m, 1, shape.n_causes, shape.n_intervals)
        self.register_buffer("recalibration_factor", factor)
        self.register_buffer("hazard_power", torch.ones(shape.n_causes))

    @property
    def device(self) -> torch.device:
        """Where the parameters lie."""
        return self.recalibration_factor.device

    def initialise(self, seeds: list[int]) -> None:
        """Draw each member's parameters from its own seed."""
        generators = [torch.Generator().manual_seed(seed) for seed in seeds]
        for module in self.modules():
            if isinstance(module, (Embedding, MemberLinear)):
                module.initialise(generators)

    def seed_dropout(self, seed: int | None) -> None:
        """Restart the stream of dropout masks (None forgets it)."""
        if seed is None:
            self.generator = None
        else:
            self.generator = self.generator or torch.Generator(self.device)
            self.generator.manual_seed(seed)
        for module in self.modules():
            if isinstance(module, RandomMask):
                module.generator = self.generator

    def share_dropout(self, part: tuple[int, int, int] | None) -> None:
        """Tell every dropout which subjects of a shared batch it sees (see `RandomMask`)."""
        for module in self.modules():
            if isinstance(module, RandomMask):
                module.part = part

    def forward(
        self,
        rows: Int[Tensor, "member subject token"],
        values: Float[Tensor, "member subject token"],
    ) -> Logits:
        heads = [*self.cause_heads, self.mortality, self.stay]
        outputs = answer(heads, self.represent(rows, values), self.head_dropout)
        return Logits(self.causes(outputs[:, :-2]), outputs[:, -2, :, 0], outputs[:, -1, :, 0])

    @property
    def cause_heads(self) -> list[Head]:
        """The heads of the causes, in their order."""
        return [head for head in self.causes.heads if isinstance(head, Head)]

    def cause_logits(
        self,
        rows: Int[Tensor, "member subject token"],
        values: Float[Tensor, "member subject token"],
    ) -> Float[Tensor, "member subject cause interval"]:
        """Compute the logits of the causes alone, without the auxiliary tasks."""
        shared = self.represent(rows, values)
        return self.causes(answer(self.cause_heads, shared, self.head_dropout))

    def represent(
        self,
        rows: Int[Tensor, "member subject token"],
        values: Float[Tensor, "member subject token"],
    ) -> Float[Tensor, "member subject hidden"]:
        """Return the shared representation, which every head reads."""
        embedded = self.embedding(rows, values, self.token_dropout(rows))
        return self.representation(self.encoder(embedded), embedded)

    def hazards(
        self, rows: Int[Tensor, "subject token"], values: Float[Tensor, "subject token"]
    ) -> Float[Tensor, "member subject cause interval"]:
        """Compute the hazard of each cause, integrated over each interval (eq. 17), recalibrated.

        That is ``recalibration_factor`` times the hazard of the heads to the ``hazard_power``.
        """
        logits = self.cause_logits(*self._for_every_member(rows, values))
        logits = raised(logits, self.hazard_power)
        return nn.functional.softplus(logits) * self.recalibration_factor

    def attention(
        self, rows: Int[Tensor, "subject token"], values: Float[Tensor, "subject token"]
    ) -> Float[Tensor, "subject layer head token token"]:
        """Compute attention weights, averaged over members."""
        tokens = self.embedding(*self._for_every_member(rows, values))
        n_subjects, n_tokens = rows.shape
        layers = [tokens.new_empty(n_subjects, 0, self.shape.n_heads, n_tokens, n_tokens)]
        for layer in self.encoder:
            assert isinstance(layer, EncoderLayer)
            tokens, weights = layer.weighted(tokens)
            layers.append(weights.mean(0).unsqueeze(1))
        return torch.cat(layers, dim=1)

    def _for_every_member(self, rows: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        m = self.shape.n_members
        return rows.expand(m, -1, -1), values.expand(m, -1, -1)
