"""Architectures of transformers, by class."""

from functools import partial

from families.hugging_forms import (
    masked,
    of_both,
    of_features,
    of_features_to_text,
    of_lxmert,
    of_masked_text_to_text,
    of_pixels,
    of_series,
    of_sound,
    of_sound_channels,
    of_text,
    of_text_batch,
    of_text_to_text,
    of_video,
    of_visual,
    with_dynamic_cache,
    with_encoder,
    with_prefill,
    with_static_cache,
    without_cache,
)
from families.hugging_senses import IMAGES, SOUNDS
from families.hugging_text import (
    CACHED,
    DECODERS,
    ENCODERS,
    EXPERTS,
    HEADS,
    MASKED_TO_TEXT,
    STEPPED,
    TO_TEXT,
)
from families.shrink import small
from tour_case import Row


def built(name, more, experts="batched_mm"):
    """Without a choice experts are `grouped_mm`, or loops over what the data says."""
    import transformers

    kind = getattr(transformers, name)
    how = {"attn_implementation": "sdpa" if kind._supports_sdpa else "eager"}
    if kind._can_set_experts_implementation():
        how["experts_implementation"] = experts
    return kind._from_config(small(kind.config_class, **more), **how)


def make(form, name, more, *arguments):
    return form(built(name, more), *arguments)


def group(form, table):
    for name, more in table.items():
        if more is not None:
            yield Row(f"transformers/{name}", partial(make, form, name, more))


def whisper():
    more = {"num_mel_bins": 16, "max_source_positions": 16, "max_target_positions": 16}
    return of_features_to_text(built("WhisperForConditionalGeneration", more), 16, 32)


SINGLE = {
    "WhisperForConditionalGeneration": whisper,
    "Speech2TextForConditionalGeneration": lambda: of_features_to_text(
        built(
            "Speech2TextForConditionalGeneration",
            {
                "input_feat_per_channel": 16,
                "conv_channels": 32,
                "max_source_positions": 64,
                "max_target_positions": 64,
            },
        ),
        32,
        16,
    ),
    "ASTModel": lambda: of_features(
        built("ASTModel", {"max_length": 64, "num_mel_bins": 16}), 64, 16, name="input_values"
    ),
    "Wav2Vec2BertModel": lambda: of_features(
        built(
            "Wav2Vec2BertModel",
            {"feature_projection_input_dim": 16, "conv_depthwise_kernel_size": 7},
        ),
        32,
        16,
    ),
    "EncodecModel": lambda: of_sound_channels(
        built("EncodecModel", {"num_filters": 4, "codebook_size": 16, "codebook_dim": 32})
    ),
    "DacModel": lambda: of_sound_channels(
        built(
            "DacModel", {"encoder_hidden_size": 8, "decoder_hidden_size": 32, "codebook_size": 16}
        )
    ),
    "VitsModel": lambda: of_text(
        built(
            "VitsModel", {"spectrogram_bins": 16, "flow_size": 32, "upsample_initial_channel": 16}
        )
    ),
    "ClapAudioModel": lambda: of_features(
        built(
            "ClapAudioModel",
            {
                "spec_size": 64,
                "num_mel_bins": 16,
                "depths": [1, 1],
                "num_attention_heads": [2, 4],
                "patch_embeds_hidden_size": 16,
                "window_size": 4,
            },
        ),
        1,
        256,
        16,
    ),
    "BertWithMask": lambda: masked(built("BertModel", {})),
    "RobertaBatch": lambda: of_text_batch(built("RobertaModel", {})),
    "LlamaWithMask": lambda: masked(built("LlamaForCausalLM", {}), use_cache=False),
    "T5WithMask": lambda: masked(built("T5EncoderModel", {})),
    "CLIPModel": lambda: of_both(built("CLIPModel", {}), return_loss=False),
    "SiglipModel": lambda: of_both(built("SiglipModel", {"text_config": {"projection_size": 32}})),
    "ChineseCLIPModel": lambda: of_both(built("ChineseCLIPModel", {})),
    "AltCLIPModel": lambda: of_both(built("AltCLIPModel", {})),
    "BlipForImageTextRetrieval": lambda: of_both(
        built("BlipForImageTextRetrieval", {}), use_itm_head=False
    ),
    "GroupViTModel": lambda: of_both(built("GroupViTModel", {})),
    "FlavaModel": lambda: of_both(built("FlavaModel", {})),
    "ViltModel": lambda: of_both(built("ViltModel", {"max_image_length": -1})),
    "OwlViTModel": lambda: of_both(built("OwlViTModel", {})),
    "CLIPSegModel": lambda: of_both(built("CLIPSegModel", {})),
    "GitModel": lambda: of_both(built("GitModel", {}), use_cache=False),
    "TimesformerModel": lambda: of_video(built("TimesformerModel", {"num_frames": 2})),
    "VivitModel": lambda: of_video(
        built("VivitModel", {"num_frames": 2, "tubelet_size": [2, 8, 8]})
    ),
    "VideoMAEModel": lambda: of_video(built("VideoMAEModel", {"num_frames": 2})),
    "VisualBertModel": lambda: of_visual(built("VisualBertModel", {"visual_embedding_dim": 16})),
    "LxmertModel": lambda: of_lxmert(
        built("LxmertModel", {"visual_feat_dim": 16, "l_layers": 1, "r_layers": 1, "x_layers": 1})
    ),
    "PatchTSTModel": lambda: of_series(
        built(
            "PatchTSTModel",
            {"num_input_channels": 3, "context_length": 32, "patch_length": 4, "patch_stride": 4},
        )
    ),
    "PatchTSMixerModel": lambda: of_series(
        built(
            "PatchTSMixerModel",
            {"num_input_channels": 3, "context_length": 32, "patch_length": 8, "patch_stride": 8},
        )
    ),
    "SpeechT5HifiGan": lambda: of_features(
        built("SpeechT5HifiGan", {"model_in_dim": 16, "upsample_initial_channel": 16}),
        16,
        16,
        name="spectrogram",
    ),
    "LayoutLMv3Model": lambda: of_both(
        built(
            "LayoutLMv3Model",
            {
                "input_size": 32,
                "coordinate_size": 4,
                "shape_size": 8,
                "max_2d_position_embeddings": 64,
            },
        )
    ),
}


def grouped(name, more):
    return without_cache(built(name, more, "grouped_mm"))


def cached():
    """Decoders that keep keys and values, as state or as inputs and outputs."""
    for name in CACHED:
        more = DECODERS[name]
        yield Row(f"transformers/{name}+static_cache", partial(make, with_static_cache, name, more))
        yield Row(f"transformers/{name}+prefill", partial(make, with_prefill, name, more))
        heads = HEADS.get(name, 2)
        yield Row(
            f"transformers/{name}+dynamic_cache",
            partial(make, with_dynamic_cache, name, more, heads),
        )
    for name in STEPPED:
        more = TO_TEXT[name]
        yield Row(f"transformers/{name}+static_cache", partial(make, with_encoder, name, more))


def rows():
    yield from group(of_text, ENCODERS)
    yield from group(without_cache, DECODERS)
    for name in EXPERTS:
        yield Row(f"transformers/{name}+grouped_mm", partial(grouped, name, DECODERS[name]))
    yield from cached()
    yield from group(of_text_to_text, TO_TEXT)
    yield from group(of_masked_text_to_text, MASKED_TO_TEXT)
    for name, entry in IMAGES.items():
        if entry is not None:
            yield Row(f"transformers/{name}", partial(make, of_pixels, name, entry[1], entry[0]))
    yield from group(of_sound, SOUNDS)
    for name, case in SINGLE.items():
        if case is not None:
            yield Row(f"transformers/{name}", case)


def preload():
    import transformers

    transformers.logging.set_verbosity_error()
