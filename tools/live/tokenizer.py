"""A tokenizer for tools that need one and reach no hub: four characters are a token, as the server counts them."""

import json
import string
import sys
from pathlib import Path

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

directory = Path(sys.argv[1])
directory.mkdir(parents=True, exist_ok=True)
words = ["[UNK]", "<s>", "</s>"]
words += [f" {a}{b}{c}" for a in string.ascii_lowercase for b in string.ascii_lowercase for c in "abcdefghijkl"]
tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]{1,4}"), behavior="isolated")
tokenizer.decoder = decoders.Fuse()
tokenizer.save(str(directory / "tokenizer.json"))
(directory / "tokenizer_config.json").write_text(json.dumps({
    "tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]", "bos_token": "<s>", "eos_token": "</s>",
    "model_max_length": 131072,
}))
