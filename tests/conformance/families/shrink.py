"""Configurations of transformers made small: what a number is called says how large it may be."""

# Names of numbers, in any configuration or part of one, and what they become.
SIZES = {
    **dict.fromkeys("hidden_size d_model n_embd dim embed_dim emb_dim embedding_dim".split(), 32),
    **dict.fromkeys("hidden_dim model_dim decoder_hidden_size encoder_hidden_size".split(), 32),
    **dict.fromkeys("d_embed projection_dim output_dim conv_dim_out adapter_dim".split(), 32),
    **dict.fromkeys("embedding_size hidden_sizes_total mm_hidden_size out_hidden_size".split(), 32),
    **dict.fromkeys("intermediate_size d_ff ffn_dim n_inner d_inner hidden_dim_ffn".split(), 64),
    **dict.fromkeys("encoder_ffn_dim decoder_ffn_dim ffn_hidden_size mlp_dim".split(), 64),
    **dict.fromkeys("moe_intermediate_size shared_expert_intermediate_size".split(), 32),
    **dict.fromkeys(
        "num_hidden_layers n_layer n_layers num_layers layers encoder_layers".split(), 2
    ),
    **dict.fromkeys("decoder_layers num_decoder_layers num_encoder_layers depth".split(), 2),
    **dict.fromkeys(
        "num_attention_heads n_head n_heads num_heads heads encoder_attention_heads".split(), 4
    ),
    **dict.fromkeys("decoder_attention_heads num_key_value_heads attention_heads".split(), 4),
    "num_key_value_heads": 2,
    "head_dim": 8,
    "d_kv": 8,
    **dict.fromkeys("vocab_size decoder_vocab_size".split(), 96),
    **dict.fromkeys("max_position_embeddings n_positions n_ctx max_sequence_length".split(), 64),
    **dict.fromkeys("num_experts n_routed_experts num_local_experts moe_num_experts".split(), 4),
    **dict.fromkeys("num_experts_per_tok moe_topk moe_k top_k_experts".split(), 2),
    "image_size": 32,
    "patch_size": 8,
    "sliding_window": 4,
    "attention_window": 4,
}
TOKENS = (
    "pad_token_id",
    "bos_token_id",
    "eos_token_id",
    "decoder_start_token_id",
    "sep_token_id",
    "cls_token_id",
    "unk_token_id",
    "mask_token_id",
)


def fitting(name, value):
    """The value that a member becomes, of the same kind; tokens stay within the vocabulary."""
    if name in TOKENS and isinstance(value, int):
        return min(value, 95)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return SIZES.get(name, value) if is_number else value


def members(config):
    """The configuration as keywords, each part of it in turn."""
    # The class works out again what follows from numbers that change.
    derived = {
        "layer_types",
        "mlp_layer_types",
        "transformers_version",
        "model_type",
        "dtype",
        "torch_dtype",
        "_name_or_path",
        "architectures",
        "id2label",
        "label2id",
        "num_labels",
        "attention_layers",
        "out_features",
        "out_indices",
        "stage_names",
    }
    for name, value in config.to_dict().items():
        if name not in derived:
            yield name, value


def small(config_class, **more):
    """A configuration of this class with small numbers, but for what is said."""
    parts = getattr(config_class, "sub_configs", {})
    kwargs = {}
    for name, value in members(config_class()):
        if name in parts:
            given = more.pop(name, {})
            part = type(getattr(config_class(), name))
            kwargs[name] = small(part, **given).to_dict() if value is not None else None
        else:
            kwargs[name] = fitting(name, value)
    return config_class(**{**kwargs, **more})
