"""The tensors that model.generate(custom_generate=sbeam.hf.sbs) returns."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, Optional

import torch
from transformers.utils import ModelOutput

from ..results import Draw


@dataclass
class SbsOutput(ModelOutput):
    """The output of generate(return_dict_in_generate=True). n is the number of draws: inputs times
    `draws`. Row i * k + j of the tensors is sequence j of draw i. If a draw has fewer than k
    sequences, because the model has no more, its last rows hold no tokens and have the
    log-probability and the log-weight -inf, so sums over weights stay right."""

    sequences: Optional[torch.LongTensor] = None  #: (n * k, length), prompt, tokens, end, padding
    log_p: Optional[torch.Tensor] = None  #: (n * k,) float64, like the next ones
    log_p_model: Optional[torch.Tensor] = None
    log_weight: Optional[torch.Tensor] = None
    g: Optional[torch.Tensor] = None
    kappa: Optional[torch.Tensor] = None  #: (n,)
    draws: Optional[List[Draw]] = None  #: the draws themselves, with their settings and seed


def make_output(draws: List[Draw], k: int, input_ids: torch.Tensor, end: Optional[int],
                generation_config: Any) -> Any:
    """Returns the sequences, or an SbsOutput if the generation config asks for it."""
    device, per_input = input_ids.device, len(draws) // len(input_ids)
    pad = getattr(generation_config, "_pad_token_tensor", None)
    pad = int(pad) if pad is not None else end or 0
    rows: List[List[int]] = []
    for draw in draws:
        rows += [list(s.tokens) + ([end] if s.end == "eos" and end is not None else []) for s in draw]
        rows += [[]] * (k - len(draw))
    width = max(map(len, rows), default=0)
    new = torch.tensor([row + [pad] * (width - len(row)) for row in rows], dtype=torch.long,
                       device=device).reshape(len(rows), width)
    sequences = torch.cat([input_ids.repeat_interleave(per_input * k, dim=0), new], dim=1)
    if not generation_config.return_dict_in_generate:
        return sequences

    def column(name: str) -> torch.Tensor:
        values: List[float] = []
        for draw in draws:
            values += [getattr(s, name) for s in draw] + [-torch.inf] * (k - len(draw))
        return torch.tensor(values, dtype=torch.float64, device=device)

    return SbsOutput(sequences=sequences, log_p=column("log_p"), log_p_model=column("log_p_model"),
                     log_weight=column("log_weight"), g=column("g"),
                     kappa=torch.tensor([draw.kappa for draw in draws], dtype=torch.float64,
                                        device=device), draws=draws)
