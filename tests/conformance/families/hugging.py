"""Architectures of transformers: the class, what its configuration has beside small numbers, and what
it takes. Where none is said, it is what the class names as its main input."""

from functools import partial

import torch
from families.shrink import small
from tour_case import Call, Case, Row, image, noise

LENGTH = 8
# Sizes of a sequence: exported, tried as well, largest.
SEQUENCE = (8, 11, 32)

# --- What models take ----------------------------------------------------------------------------


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

    return Case(Call(model, call), lambda n: (tokens(length, n), torch.randn(n, 3, side, side)), (0, 0))


def of_video(model, frames=2, side=32, **fixed):
    return Case(by_name(model, "pixel_values", **fixed), noise("size", frames, 3, side, side), (0,))


def with_static_cache(model):
    """One token at a time, with keys and values as state of the program."""
    from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

    model.generation_config.cache_implementation = "static"
    model.generation_config.use_cache = True
    model.generation_config.cache_config = {"batch_size": 1, "max_cache_len": 16}
    module = TorchExportableModuleWithStaticCache(model, 1, 16, device="cpu")

    def call(m, ids, position):
        return m(input_ids=ids, cache_position=position)

    return Case(Call(module, call), lambda n: (tokens(1), torch.tensor([n])))


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


# --- Architectures -------------------------------------------------------------------------------

# Encoders: class, and what else its configuration says.
ENCODERS = {
    "AlbertModel": {}, "BertModel": {}, "BertForSequenceClassification": {}, "BertForTokenClassification": {},
    "BertForQuestionAnswering": {}, "BertForMaskedLM": {}, "BigBirdModel": {"attention_type": "original_full"},
    "CamembertModel": {}, "CanineModel": {}, "ConvBertModel": {}, "Data2VecTextModel": {}, "DebertaModel": {},
    "DebertaV2Model": {}, "DistilBertModel": {}, "ElectraModel": {}, "ErnieModel": {}, "EsmModel": {"vocab_size": 96, "mask_token_id": 32, "pad_token_id": 1},
    "EuroBertModel": {}, "FlaubertModel": {}, "FNetModel": {}, "FunnelModel": {"block_sizes": [1, 1], "block_repeats": [1, 1]}, "IBertModel": {},
    "JinaEmbeddingsV3Model": {}, "LayoutLMModel": {"max_2d_position_embeddings": 1024},
    "LiltModel": None, "LongformerModel": {"attention_window": [4, 4]}, "LukeModel": None,
    "MegatronBertModel": {}, "MobileBertModel": {"intra_bottleneck_size": 32, "true_hidden_size": 32},
    "ModernBertModel": {"global_attn_every_n_layers": 2}, "MPNetModel": {}, "MraModel": None,
    "NomicBertModel": {}, "NystromformerModel": {"segment_means_seq_len": 64, "num_landmarks": 4},
    "RemBertModel": {"input_embedding_size": 32}, "RobertaModel": {}, "RobertaForMaskedLM": {},
    "RobertaPreLayerNormModel": {}, "RoFormerModel": {}, "SplinterModel": {},
    "SqueezeBertModel": {"embedding_size": 32}, "TapasModel": {}, "XLMModel": {}, "XLMRobertaModel": {},
    "XLMRobertaXLModel": {}, "XLNetModel": {"d_head": 8}, "XmodModel": {"languages": ["en_XX"], "default_language": "en_XX"},
    "YosoModel": None, "T5EncoderModel": {}, "MT5EncoderModel": {}, "UMT5EncoderModel": {},
    "DPRQuestionEncoder": {}, "ReformerModel": None, "CLIPTextModel": {}, "SiglipTextModel": {},
    "OpenAIGPTModel": {}, "DecisionTransformerModel": None,
}  # fmt: skip
ROUTED = {"first_k_dense_replace": 1, "n_group": 2, "topk_group": 1}
ROPE = {"rope_parameters": {"rope_type": "default", "rope_theta": 10000.0}, "head_dim": 8}
MLA = {
    "q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
    "first_k_dense_replace": 1, "n_group": 2, "topk_group": 1, "num_key_value_heads": 4, "head_dim": 8,
}  # fmt: skip
# Decoders, without their caches.
DECODERS = {
    "ApertusForCausalLM": {}, "ArceeForCausalLM": {}, "BambaForCausalLM": {"attn_layer_indices": [1], "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 1},
    "BioGptForCausalLM": {}, "BitNetForCausalLM": {}, "BloomForCausalLM": {}, "BltForCausalLM": None,
    "CodeGenForCausalLM": {"rotary_dim": 4}, "CohereForCausalLM": {}, "Cohere2ForCausalLM": {}, "CTRLLMHeadModel": {"dff": 64},
    "CpmAntForCausalLM": None, "DiffLlamaForCausalLM": {}, "DogeForCausalLM": {}, "Dots1ForCausalLM": {**ROUTED, "n_shared_experts": 1, "n_routed_experts": 4, "num_experts_per_tok": 2},
    "Ernie4_5ForCausalLM": {}, "Exaone4ForCausalLM": {}, "FalconForCausalLM": {}, "FalconH1ForCausalLM": {"mamba_d_ssm": 64, "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 1},
    "FalconMambaForCausalLM": {}, "GemmaForCausalLM": {}, "Gemma2ForCausalLM": {"query_pre_attn_scalar": 8}, "Gemma3ForCausalLM": {"query_pre_attn_scalar": 8},
    "GlmForCausalLM": {}, "Glm4ForCausalLM": {}, "GPT2LMHeadModel": {}, "GPT2ForSequenceClassification": {"pad_token_id": 0}, "GPTBigCodeForCausalLM": {},
    "GPTNeoForCausalLM": {"attention_types": [[["global", "local"], 1]], "window_size": 4}, "GPTNeoXForCausalLM": {},
    "GPTJForCausalLM": {"rotary_dim": 4}, "GraniteForCausalLM": {}, "HeliumForCausalLM": {}, "HunYuanDenseV1ForCausalLM": ROPE, "Jais2ForCausalLM": {},
    "Lfm2ForCausalLM": {"full_attn_idxs": [1], "block_multiple_of": 16}, "LlamaForCausalLM": {}, "LlamaForSequenceClassification": {"pad_token_id": 0},
    "MambaForCausalLM": {"state_size": 8, "time_step_rank": 4}, "Mamba2ForCausalLM": {"state_size": 8, "num_heads": 8, "head_dim": 8, "n_groups": 1, "chunk_size": 4},
    "MinistralForCausalLM": ROPE, "MistralForCausalLM": {}, "ModernBertDecoderForCausalLM": {}, "MptForCausalLM": {}, "NanoChatForCausalLM": {}, "NemotronForCausalLM": {"num_key_value_heads": 2, "head_dim": 8},
    "OlmoForCausalLM": {}, "Olmo2ForCausalLM": {}, "Olmo3ForCausalLM": {}, "OPTForCausalLM": {"word_embed_proj_dim": 32},
    "PersimmonForCausalLM": {}, "PhiForCausalLM": {}, "Phi3ForCausalLM": {"pad_token_id": 0}, "Qwen2ForCausalLM": {}, "Qwen3ForCausalLM": {},
    "RecurrentGemmaForCausalLM": {"lru_width": 32, "block_types": ["recurrent", "attention"], "attention_window_size": 8}, "RwkvForCausalLM": {"attention_hidden_size": 32},
    "SeedOssForCausalLM": {}, "SmolLM3ForCausalLM": {}, "StableLmForCausalLM": {}, "Starcoder2ForCausalLM": {},
    "VaultGemmaForCausalLM": {"query_pre_attn_scalar": 8}, "XGLMForCausalLM": {}, "xLSTMForCausalLM": {"chunk_size": 4, "qk_dim_factor": 0.5}, "ZambaForCausalLM": None, "Zamba2ForCausalLM": None,
    "MiniCPM3ForCausalLM": {**MLA}, "HunYuanMoEV1ForCausalLM": {**ROPE, "moe_topk": [2, 2], "num_shared_expert": [1, 1], "num_experts": 4},
    "DeepseekV2ForCausalLM": {**MLA, "n_shared_experts": 1, "num_experts_per_tok": 2, "n_routed_experts": 4, "num_experts_per_tok": 2}, "DeepseekV3ForCausalLM": {**MLA, "n_shared_experts": 1}, "DbrxForCausalLM": None,
    "Ernie4_5_MoeForCausalLM": {"moe_num_experts": 4, "moe_k": 2}, "FlexOlmoForCausalLM": {}, "Glm4MoeForCausalLM": {"first_k_dense_replace": 1, "n_group": 1, "topk_group": 1},
    "GptOssForCausalLM": {}, "GraniteMoeForCausalLM": {}, "GraniteMoeHybridForCausalLM": {"layer_types": ["mamba", "attention"], "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_n_groups": 1, "shared_intermediate_size": 64},
    "JambaForCausalLM": {"mamba_d_state": 8, "mamba_dt_rank": 4, "attn_layer_period": 2, "attn_layer_offset": 1, "expert_layer_period": 2, "expert_layer_offset": 1, "use_mamba_kernels": False},
    "JetMoeForCausalLM": {"kv_channels": 8}, "Lfm2MoeForCausalLM": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1}, "MiniMaxForCausalLM": {"block_size": 4, "layer_types": ["linear_attention", "full_attention"]},
    "MixtralForCausalLM": {}, "OlmoeForCausalLM": {}, "PhimoeForCausalLM": {}, "Qwen2MoeForCausalLM": {}, "Qwen3MoeForCausalLM": {},
    "Qwen3NextForCausalLM": {"linear_num_value_heads": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 8, "linear_value_head_dim": 8, "layer_types": ["linear_attention", "full_attention"]},
}  # fmt: skip
# Decoders with a cache of a fixed length as state, and of any length as inputs and outputs.
CACHED = ("LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM", "MistralForCausalLM", "GemmaForCausalLM",
          "Gemma2ForCausalLM", "Phi3ForCausalLM", "GPT2LMHeadModel", "OlmoForCausalLM", "MixtralForCausalLM",
          "SmolLM3ForCausalLM", "CohereForCausalLM")  # fmt: skip
HEADS = {"GPT2LMHeadModel": 4}
TO_TEXT = {
    "BartForConditionalGeneration": {}, "BlenderbotForConditionalGeneration": {}, "BlenderbotSmallForConditionalGeneration": {},
    "BigBirdPegasusForConditionalGeneration": {"attention_type": "original_full"}, "FSMTForConditionalGeneration": {"langs": ["en", "de"], "src_vocab_size": 96, "tgt_vocab_size": 96},
    "LEDForConditionalGeneration": {"attention_window": [4, 4], "max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64},
    "LongT5ForConditionalGeneration": {"local_radius": 3, "encoder_attention_type": "local"}, "M2M100ForConditionalGeneration": {}, "MarianMTModel": {}, "MBartForConditionalGeneration": {},
    "MT5ForConditionalGeneration": {}, "MvpForConditionalGeneration": {}, "NllbMoeForConditionalGeneration": {"num_experts": 4, "encoder_sparse_step": 2, "decoder_sparse_step": 2},
    "PegasusForConditionalGeneration": {}, "PegasusXForConditionalGeneration": {"block_size": 4, "num_global_tokens": 2}, "PLBartForConditionalGeneration": {},
    "ProphetNetForConditionalGeneration": {"num_encoder_attention_heads": 4, "num_decoder_attention_heads": 4}, "SwitchTransformersForConditionalGeneration": {"num_experts": 4, "num_sparse_encoder_layers": 1, "num_sparse_decoder_layers": 1},
    "T5ForConditionalGeneration": {}, "UMT5ForConditionalGeneration": {}, "T5GemmaForConditionalGeneration": None,
}  # fmt: skip
STAGES = {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32]}
# Side of the image, configuration.
IMAGES = {
    "Aimv2VisionModel": (32, {}), "BeitModel": (32, {}), "BeitForSemanticSegmentation": None, "BitModel": (32, {"num_groups": 4, "embedding_size": 8, **STAGES}),
    "CLIPVisionModel": (32, {}), "ConvNextModel": (64, STAGES), "ConvNextV2Model": (64, STAGES), "CvtModel": None,
    "Data2VecVisionModel": (32, {}), "DeiTModel": (32, {}), "DepthAnythingForDepthEstimation": None, "DinatModel": None, "Dinov2Model": (32, {}), "Dinov2WithRegistersModel": (32, {}),
    "DINOv3ViTModel": (32, {}), "DINOv3ConvNextModel": (32, STAGES), "DonutSwinModel": (64, {"image_size": 64, "patch_size": 4, "window_size": 4, "depths": [2, 2], "num_heads": [2, 4], "embed_dim": 16}),
    "DPTForDepthEstimation": None, "EfficientNetModel": (64, {"hidden_dim": 2560}), "FocalNetModel": (64, {"image_size": 64, "patch_size": 4, "embed_dim": 16, "depths": [1, 1, 1, 1]}), "GLPNForDepthEstimation": (64, {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 8}),
    "HGNetV2ForImageClassification": (64, {}), "HieraModel": (64, {"image_size": [64, 64], "embed_dim": 16, "depths": [1, 1, 1, 1]}), "IJepaModel": (32, {}), "LevitModel": (224, {"image_size": 224, "patch_size": 16}), "MobileNetV1Model": (32, {}), "MobileNetV2Model": (32, {}),
    "MobileViTModel": (64, {"image_size": 64, "patch_size": 2, "hidden_sizes": [24, 32, 40], "neck_hidden_sizes": [8, 8, 16, 16, 24, 32, 40]}), "MobileViTV2Model": (64, {"image_size": 64, "patch_size": 2}), "PoolFormerModel": (64, STAGES), "PvtModel": (64, {"image_size": 64, **STAGES, "patch_sizes": [4, 2, 2, 2], "num_attention_heads": [1, 2, 2, 4]}),
    "PvtV2Model": (64, {"image_size": {"height": 64, "width": 64}, **STAGES, "num_attention_heads": [1, 2, 2, 4]}), "RegNetModel": (32, {**STAGES, "groups_width": 8, "embedding_size": 8}), "ResNetModel": (32, {**STAGES, "embedding_size": 8}), "SegformerForSemanticSegmentation": (64, {"depths": [1, 1, 1, 1], "hidden_sizes": [8, 16, 24, 32], "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 16}),
    "SiglipVisionModel": (32, {}), "SwiftFormerModel": (64, {"image_size": 64}), "SwinModel": (64, {"image_size": 64, "patch_size": 4, "window_size": 4, "depths": [2, 2], "num_heads": [2, 4], "embed_dim": 16}), "Swin2SRModel": (32, {"image_size": 32, "patch_size": 1, "window_size": 8, "depths": [2], "num_heads": [2], "embed_dim": 16}),
    "Swin2SRForImageSuperResolution": (32, {"image_size": 32, "patch_size": 1, "window_size": 8, "depths": [2], "num_heads": [2], "embed_dim": 16}), "Swinv2Model": (64, {"image_size": 64, "patch_size": 4, "window_size": 4, "depths": [2, 2], "num_heads": [2, 4], "embed_dim": 16}), "TextNetModel": (64, {}),
    "UperNetForSemanticSegmentation": None, "ViTModel": (32, {}), "ViTForImageClassification": (32, {}), "ViTMSNModel": (32, {}), "VitDetModel": (32, {}), "VitPoseBackbone": None, "YolosModel": (64, {"image_size": [64, 64], "num_detection_tokens": 5}), "ViTMAEModel": None,
    "DetrForObjectDetection": None, "ConditionalDetrModel": None, "RTDetrForObjectDetection": None, "MaskFormerModel": None, "SuperPointForKeypointDetection": None, "ImageGPTModel": None, "PixioModel": (32, {}), "MLCDVisionModel": (32, {}),
}  # fmt: skip
WAVES = {"conv_dim": [16, 16, 32], "conv_stride": [5, 2, 2], "conv_kernel": [10, 3, 2], "num_feat_extract_layers": 3,
         "num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2}  # fmt: skip
SOUNDS = {
    "Wav2Vec2Model": WAVES, "Wav2Vec2ForCTC": WAVES, "HubertModel": WAVES, "WavLMModel": WAVES, "UniSpeechModel": WAVES, "UniSpeechSatModel": WAVES,
    "Data2VecAudioModel": {**WAVES, "conv_pos_kernel_size": 5, "num_conv_pos_embeddings": 2}, "SEWModel": WAVES, "SEWDModel": WAVES, "Wav2Vec2ConformerModel": WAVES,
}  # fmt: skip


def built(name, more):
    import transformers

    kind = getattr(transformers, name)
    more = {"attn_implementation": "sdpa", **more} if kind._supports_sdpa else more
    config = small(kind.config_class, **{k: v for k, v in more.items() if k != "attn_implementation"})
    return kind._from_config(config, attn_implementation="sdpa" if kind._supports_sdpa else "eager")


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
        built("Speech2TextForConditionalGeneration", {"input_feat_per_channel": 16, "conv_channels": 32, "max_source_positions": 64, "max_target_positions": 64}), 32, 16
    ),
    "ASTModel": lambda: of_features(built("ASTModel", {"max_length": 64, "num_mel_bins": 16}), 64, 16, name="input_values"),
    "Wav2Vec2BertModel": lambda: of_features(built("Wav2Vec2BertModel", {"feature_projection_input_dim": 16, "conv_depthwise_kernel_size": 7}), 32, 16),
    "EncodecModel": lambda: of_sound_channels(built("EncodecModel", {"num_filters": 4, "codebook_size": 16, "codebook_dim": 32})),
    "DacModel": lambda: of_sound_channels(built("DacModel", {"encoder_hidden_size": 8, "decoder_hidden_size": 32, "codebook_size": 16})),
    "VitsModel": lambda: of_text(built("VitsModel", {"spectrogram_bins": 16, "flow_size": 32, "upsample_initial_channel": 16})),
    "ClapAudioModel": lambda: of_features(built("ClapAudioModel", {"spec_size": 64, "num_mel_bins": 16, "depths": [1, 1], "num_attention_heads": [2, 4], "patch_embeds_hidden_size": 16, "window_size": 4}), 1, 256, 16),
    "BertWithMask": lambda: masked(built("BertModel", {})),
    "RobertaBatch": lambda: of_text_batch(built("RobertaModel", {})),
    "LlamaWithMask": lambda: masked(built("LlamaForCausalLM", {}), use_cache=False),
    "T5WithMask": lambda: masked(built("T5EncoderModel", {})),
    "CLIPModel": lambda: of_both(built("CLIPModel", {}), return_loss=False),
    "SiglipModel": lambda: of_both(built("SiglipModel", {"text_config": {"projection_size": 32}})),
    "ChineseCLIPModel": lambda: of_both(built("ChineseCLIPModel", {})),
    "AltCLIPModel": lambda: of_both(built("AltCLIPModel", {})),
    "BlipForImageTextRetrieval": lambda: of_both(built("BlipForImageTextRetrieval", {}), use_itm_head=False),
    "GroupViTModel": lambda: of_both(built("GroupViTModel", {})),
    "FlavaModel": lambda: of_both(built("FlavaModel", {})),
    "ViltModel": lambda: of_both(built("ViltModel", {"max_image_length": -1})),
    "OwlViTModel": lambda: of_both(built("OwlViTModel", {})),
    "CLIPSegModel": lambda: of_both(built("CLIPSegModel", {})),
    "GitModel": lambda: of_both(built("GitModel", {}), use_cache=False),
    "TimesformerModel": lambda: of_video(built("TimesformerModel", {"num_frames": 2})),
    "VivitModel": lambda: of_video(built("VivitModel", {"num_frames": 2, "tubelet_size": [2, 8, 8]})),
    "VideoMAEModel": lambda: of_video(built("VideoMAEModel", {"num_frames": 2})),
    "VisualBertModel": lambda: of_visual(built("VisualBertModel", {"visual_embedding_dim": 16})),
    "LxmertModel": lambda: of_lxmert(built("LxmertModel", {"visual_feat_dim": 16, "l_layers": 1, "r_layers": 1, "x_layers": 1})),
    "PatchTSTModel": lambda: of_series(built("PatchTSTModel", {"num_input_channels": 3, "context_length": 32, "patch_length": 4, "patch_stride": 4})),
    "PatchTSMixerModel": lambda: of_series(built("PatchTSMixerModel", {"num_input_channels": 3, "context_length": 32, "patch_length": 8, "patch_stride": 8})),
    "SpeechT5HifiGan": lambda: of_features(built("SpeechT5HifiGan", {"model_in_dim": 16, "upsample_initial_channel": 16}), 16, 16, name="spectrogram"),
    "LayoutLMv3Model": lambda: of_both(built("LayoutLMv3Model", {"input_size": 32, "coordinate_size": 4, "shape_size": 8, "max_2d_position_embeddings": 64})),
}  # fmt: skip


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

    return Case(Call(model, call), lambda n: (tokens(LENGTH, n), torch.randn(n, 4, 16), torch.rand(n, 4, 4)), (0, 0, 0))


def rows():
    yield from group(of_text, ENCODERS)
    yield from group(without_cache, DECODERS)
    for name in CACHED:
        more = DECODERS[name]
        yield Row(f"transformers/{name}+static_cache", partial(make, with_static_cache, name, more))
        heads = HEADS.get(name, 2)
        yield Row(f"transformers/{name}+dynamic_cache", partial(make, with_dynamic_cache, name, more, heads))
    yield from group(of_text_to_text, TO_TEXT)
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
