"""Makes tests/models/media: two programs whose answers depend on their inputs.

`listener` has the form of Whisper: an encoder of features and a decoder without a cache. It says
one of three fixed texts, by the tokens of its prompt, and is quiet about silence. `seer` has
encoders of pictures and of sound, and repeats a letter that stands for what is in its prompt. The
token ids are those of tests/js/llm/tokenizer_files.ts with some more behind them.

Run with torch in the environment:
    python tests/make/make_media.py FOLDER
"""

import usage  # noqa: F401

import sys
from pathlib import Path

import torch

BYTES, MERGED = 3, 263  # the id of byte 0, and the first id behind the merges
END, BEGIN, EN, DE, TRANSLATE, TRANSCRIBE, SILENCE, PLAIN = range(MERGED, MERGED + 8)
TIME = PLAIN + 1
STEPS = 64
SPEECH_VOCABULARY = TIME + 1501
ROWS, WIDTH = 256, 4


def at(seconds):
    return TIME + round(seconds / 0.02)


def said(*parts):
    """The token after each position of the decoder: texts, and times as numbers of seconds."""
    tokens = [EN, TRANSCRIBE]
    for part in parts:
        tokens += [BYTES + b for b in part.encode()] if isinstance(part, str) else [at(part)]
    return tokens + [END] * (STEPS - len(tokens))


TEXTS = torch.tensor(
    [
        said(0, " Good morning.", 1, 1, " How are you?", 2.5),
        said(0, " Guten Morgen.", 1.5),
        said(0, " In English.", 1.5),
    ]
)


class Encoder(torch.nn.Module):
    def forward(self, features):
        return features.amax(dim=2)[:, :4].reshape(1, 2, 2)


class Decoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("texts", TEXTS)

    def forward(self, tokens, states):
        is_german = (tokens == DE).any().to(torch.int64)
        is_translated = (tokens == TRANSLATE).any().to(torch.int64)
        which = torch.maximum(is_german, 2 * is_translated)
        text = self.texts.index_select(0, which.reshape(1))[0]
        places = torch.clamp(torch.arange(tokens.shape[1]), max=STEPS - 1)
        is_loud = (states.amax() > 0).to(torch.int64)
        following = torch.where(is_loud > 0, text[places], END)
        ids = torch.arange(SPEECH_VOCABULARY)
        return (following[:, None] == ids).to(torch.float32)[None] * 30


class Table(torch.nn.Module):
    def forward(self, tokens):
        numbers = tokens.to(torch.float32)
        zeros = torch.zeros_like(numbers)
        return torch.stack([numbers, zeros, zeros, zeros], dim=-1)


class Eye(torch.nn.Module):
    """Two rows, with the redness of a picture."""

    def forward(self, image):
        means = image.mean(dim=(2, 3))[0]
        redness = means[0] - means[2]
        row = torch.stack([redness, torch.ones_like(redness)])
        return torch.cat([row, torch.zeros(2)]).expand(1, 2, WIDTH).clone()


class Ear(torch.nn.Module):
    """Three rows, whatever it hears."""

    def forward(self, features):
        loudness = features.amax().reshape(1)
        return torch.cat([loudness, torch.tensor([0.0, 1.0, 0.0])]).expand(1, 3, WIDTH).clone()


def letter(text):
    return BYTES + ord(text)


class Writer(torch.nn.Module):
    """The letter r or b for red and other pictures, s for sound, t for text alone."""

    def forward(self, inputs_embeds):
        redness = (inputs_embeds[0, :, 0] * inputs_embeds[0, :, 1]).sum()
        pictures, sounds = inputs_embeds[0, :, 1].sum(), inputs_embeds[0, :, 2].sum()
        seen = torch.where(redness > 0, letter("r"), letter("b"))
        heard = torch.where(sounds > 0, letter("s"), letter("t"))
        answer = torch.where(pictures > 0, seen, heard)
        rows = inputs_embeds[0, :, 0] * 0 + answer
        ids = torch.arange(MERGED + 7)
        return (rows[:, None] == ids).to(torch.float32)[None] * 30


def save(folder, name, module, *inputs, dynamic=None):
    program = torch.export.export(module.eval(), inputs, dynamic_shapes=dynamic)
    program.example_inputs = None  # larger than the rest
    torch.export.save(program, folder / f"{name}.pt2")


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    steps = torch.export.Dim("steps", min=1, max=STEPS)
    rows = torch.export.Dim("rows", min=1, max=ROWS)
    states, features = torch.zeros(1, 2, 2), torch.zeros(1, 80, 3000)
    tokens = torch.zeros(1, 5, dtype=torch.int64)
    save(folder, "listener.encoder", Encoder(), features)
    save(folder, "listener.decoder", Decoder(), tokens, states, dynamic=({1: steps}, None))
    save(folder, "seer.token_embedding", Table(), tokens, dynamic=({1: rows},))
    save(folder, "seer.vision_encoder", Eye(), torch.zeros(1, 3, 8, 8))
    save(folder, "seer.audio_encoder", Ear(), features)
    save(folder, "seer.text_decoder", Writer(), torch.zeros(1, 5, WIDTH), dynamic=({1: rows},))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
