"""Times the choice of tokens from logits on the GPU of this machine, with operators of PyTorch.

    python3 sampling.py > sampling.csv

prints the time in µs of the greatest of all logits in bf16, of a random draw, and of one from the likeliest whose
probabilities sum to p, which sorts the vocabulary, by the size of the vocabulary and rows. It takes half a minute.
"""

import torch

from timing import microseconds

VOCABULARIES = (32000, 128256, 151936)
ROWS = (1, 4, 8, 16, 32, 64, 128, 256)
P, TEMPERATURE = 0.9, 0.6


def draw(logits):
    """A token of each row at random: the greatest of probabilities over exponential noise."""
    probabilities = logits.softmax(dim=-1, dtype=torch.float32)
    noise = torch.empty_like(probabilities).exponential_()
    return probabilities.div_(noise).argmax(dim=-1)


def draw_of_likeliest(logits, p):
    """The same of the likeliest tokens alone."""
    ascending, places = logits.sort(dim=-1)
    below = ascending.softmax(dim=-1)
    torch.cumsum(below, dim=-1, out=below)
    left_out = below <= 1 - p
    left_out[:, -1] = False
    ascending.masked_fill_(left_out, -float("inf"))
    return draw(ascending.scatter(dim=-1, index=places, src=ascending))


def main():
    print("what,vocabulary,rows,us,us_min,us_max")
    for vocabulary in VOCABULARIES:
        for rows in ROWS:
            half = (torch.randn(rows, vocabulary, device="cuda") * 3).to(torch.bfloat16)
            logits = half.float()
            p = torch.full((rows, 1), P, device="cuda")
            temperature = torch.full((rows, 1), TEMPERATURE, device="cuda")
            for what, choose in (
                    ("greatest", lambda: half.float().argmax(-1)),
                    ("random", lambda: draw(logits.div(temperature))),
                    ("top-p", lambda: draw_of_likeliest(logits.div(temperature), p))):
                print(what, vocabulary, rows, *(f"{t:.1f}" for t in microseconds(choose)), sep=",", flush=True)


main()
