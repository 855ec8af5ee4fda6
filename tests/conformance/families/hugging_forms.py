"""How models of transformers are called: what they take, of any size."""

import torch
from tour_case import Call, Case, image, noise

LENGTH = 8
# Sizes of a sequence: exported, tried as well, largest.
SEQUENCE = (8, 11, 32)


def tokens(size, batch=1, count=90):
    return torch.randint(3, count, (batch, size))


def by_name(module, name, **fixed):
    return Call(module, lambda m, x: m(**{name: x}, **fixed))


def of_text(model, **fixed):
    """An encoder, or a decoder without its cache: any length."""
    return Case(by_name(model, "input_ids", **fixed), lambda n: (tokens(n),), (1,), SEQUENCE)


def of_text_batch(model, **fixed):
    """Any number of texts of one length."""
    return Case(by_name(model, "input_ids", **fixed), lambda n: (tokens(LENGTH, n),), (0,))


def masked(model, **fixed):
    """Texts of several lengths, with a mask that says so."""

    def call(m, ids, mask):
        return m(input_ids=ids, attention_mask=mask, **fixed)

    def inputs(n):
        mask = torch.ones(n, LENGTH, dtype=torch.long)
        mask[0, 5:] = 0
        return tokens(LENGTH, n), mask

    return Case(Call(model, call), inputs, (0, 0))


def without_cache(model):
    return of_text(model, use_cache=False)


def of_text_to_text(model, **fixed):
    def call(m, ids, decoded):
        return m(input_ids=ids, decoder_input_ids=decoded, use_cache=False, **fixed)

    return Case(Call(model, call), lambda n: (tokens(n), tokens(4)), (1, None), SEQUENCE)


def of_masked_text_to_text(model):
    """For models that look at what the text is where nobody says that all of it counts."""

    def call(m, ids, decoded):
        masks = {"attention_mask": ids.new_ones(ids.shape)}
        masks["decoder_attention_mask"] = decoded.new_ones(decoded.shape)
        return m(input_ids=ids, decoder_input_ids=decoded, use_cache=False, **masks)

    return Case(Call(model, call), lambda n: (tokens(n), tokens(4)), (1, None), SEQUENCE)


def of_pixels(model, side=32, channels=3, **fixed):
    return Case(by_name(model, "pixel_values", **fixed), image(side, channels), (0,))


def of_sound(model, length=800, **fixed):
    return Case(by_name(model, "input_values", **fixed), noise("size", length), (0,))


def of_features(model, *shape, name="input_features", **fixed):
    return Case(by_name(model, name, **fixed), noise("size", *shape), (0,))


def of_features_to_text(model, *shape):
    def call(m, features, decoded):
        return m(input_features=features, decoder_input_ids=decoded, use_cache=False)

    def inputs(n):
        return torch.randn(n, *shape), tokens(4, n)

    return Case(Call(model, call), inputs, (0, 0))


def of_both(model, side=32, length=LENGTH, **fixed):
    """An image and a text."""

    def call(m, ids, pixels):
        return m(input_ids=ids, pixel_values=pixels, **fixed)

    return Case(
        Call(model, call), lambda n: (tokens(length, n), torch.randn(n, 3, side, side)), (0, 0)
    )


def of_video(model, frames=2, side=32, **fixed):
    return Case(by_name(model, "pixel_values", **fixed), noise("size", frames, 3, side, side), (0,))


CACHE_LENGTH = 16


def static_cache_of(model):
    """Keys and values as state of the program; nothing of it may hang on a graph of gradients."""
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    model.requires_grad_(False)
    model.generation_config.cache_implementation = "static"
    model.generation_config.use_cache = True
    model.generation_config.cache_config = {"batch_size": 1, "max_cache_len": CACHE_LENGTH}
    module = TorchExportableModuleWithStaticCache(model, 1, CACHE_LENGTH, device="cpu")

    def call(m, ids, position):
        return m(input_ids=ids, cache_position=position)

    return Call(module, call)


def with_static_cache(model):
    """One token at a time."""

    def inputs(position):
        return tokens(1), torch.tensor([position])

    return Case(static_cache_of(model), inputs, steps=(0, 1, 2, 3))


def with_prefill(model):
    """As many tokens at a time as there are: the first ones at once, then one after the other."""
    done = 0

    def inputs(size):
        nonlocal done
        start, done = done % 8, done + size
        return tokens(size), torch.arange(start, start + size)

    # Exported with all 8 places, after which a round begins again.
    return Case(static_cache_of(model), inputs, (1, 0), (8, 5, 8), steps=(5, 1, 2))


def with_encoder(model):
    """A decoder with an encoder's output, one token at a time."""
    from transformers.integrations.executorch import (
        Seq2SeqLMDecoderExportableModuleWithStaticCache,
    )

    model.requires_grad_(False)
    module = Seq2SeqLMDecoderExportableModuleWithStaticCache(model, CACHE_LENGTH, 1)
    encoded = torch.randn(1, LENGTH, model.config.d_model)

    def inputs(position):
        return tokens(1), encoded, torch.tensor([position])

    return Case(module, inputs, steps=(0, 1, 2, 3))


class Steps(torch.nn.Module):
    """A decoder whose keys and values are inputs and outputs, of any length."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, ids, *state):
        from transformers import DynamicCache

        cache = DynamicCache()
        for layer in range(len(state) // 2):
            cache.update(state[2 * layer], state[2 * layer + 1], layer)
        out = self.model(input_ids=ids, past_key_values=cache, use_cache=True)
        kept = [part for layer in out.past_key_values.layers for part in (layer.keys, layer.values)]
        return out.logits, *kept


def with_dynamic_cache(model, heads=2, layers=2):
    def inputs(n):
        return tokens(1), *(torch.randn(1, heads, n, 8) for _ in range(2 * layers))

    return Case(Steps(model), inputs, (None, *[2] * (2 * layers)), SEQUENCE)


def of_sound_channels(model):
    return Case(by_name(model, "input_values"), lambda n: (torch.randn(n, 1, 960),), (0,))


def of_series(model):
    return Case(by_name(model, "past_values"), lambda n: (torch.randn(n, 32, 3),), (0,))


def of_visual(model):
    def call(m, ids, seen):
        return m(input_ids=ids, visual_embeds=seen)

    return Case(Call(model, call), lambda n: (tokens(LENGTH, n), torch.randn(n, 4, 16)), (0, 0))


def of_lxmert(model):
    def call(m, ids, seen, places):
        return m(input_ids=ids, visual_feats=seen, visual_pos=places)

    return Case(
        Call(model, call),
        lambda n: (tokens(LENGTH, n), torch.randn(n, 4, 16), torch.rand(n, 4, 4)),
        (0, 0, 0),
    )
