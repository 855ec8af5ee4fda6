"""Architectures of timm: by name, in groups that are made small the same way."""

from functools import partial

from tour_case import Case, Row, image

# With images of 64 pixels as they are: what is named is small.
PLAIN = """
    gernet_s gcresnext26ts repvgg_a0 regnetz_b16 lambda_resnet26t cs3darknet_focus_s
    cs3darknet_s cspnext_tiny densenet121 dla34 dla46_c dla60_res2next dpn48b dpn68
    efficientnet_b0 efficientnet_b0_gn efficientnet_b0_g16_evos efficientnet_es
    tf_efficientnet_b0 tf_efficientnetv2_b0 mixnet_s mnasnet_050 mobilenetv2_050
    mobilenet_edgetpu_v2_xs mobilenetv4_conv_small_050 mobilenetv4_hybrid_medium fbnetc_100
    tinynet_e semnasnet_075 rexnet_100 efficientvim_m1 efficientvit_b0 fasternet_t0 ghostnet_050
    ghostnetv3_050 hardcorenas_a hgnet_tiny hgnetv2_b0 hrnet_w18_small iformer_t
    inception_next_atto lcnetv2_small fbnetv3_b mobilenetv3_small_050 mobilevitv2_050
    mobilevit_xxs nf_regnet_b0 nf_resnet26 eca_nfnet_l0 pvt_v2_b0 regnety_002 regnetv_040
    repghostnet_050 repvit_m0_9 res2net50_14w_8s resnest14d resnet10t ecaresnet26t resnetblur50
    resnet50_gn resnetv2_18 resnetv2_50x1_bit resnetv2_50d_evos selecsls42 skresnet18
    starnet_s050 test_mambaout test_convnext test_efficientnet test_nfnet test_resnet vovnet39a
    ese_vovnet19b_slim ese_vovnet39b_evos xception41 lowformer_b0 cpubone_nano csatv2
    mambaout_femto shvit_s1 swiftformer_xs edgenext_xx_small convnext_atto convnextv2_atto
    convnext_zepto_rms tf_efficientnet_cc_b0_4e
""".split()
# Models for which fewer pixels would leave empty maps.
LARGER = {
    "inception_v3": 96,
    "legacy_xception": 96,
    "efficientvit_m0": 224,
    "efficientformerv2_s0": 224,
}
# Transformers of one width, with images of 32 pixels.
VIT = {"depth": 2, "embed_dim": 48, "num_heads": 3, "img_size": 32}
# Name, what else makes it small.
UNIFORM = {
    "beit_base_patch16_224": {},
    "beitv2_base_patch16_224": {},
    "beit3_base_patch16_224": {},
    "deit_tiny_patch16_224": {},
    "deit_tiny_distilled_patch16_224": {},
    "deit3_small_patch16_224": {},
    "eva02_tiny_patch14_224": {"img_size": 28},
    "eva_giant_patch14_224": {"img_size": 28, "mlp_ratio": 2},
    "vit_tiny_patch16_224": {},
    "vit_base_patch16_clip_quickgelu_224": {},
    "vit_base_patch16_siglip_224": {},
    "vit_base_patch16_gap_224": {},
    "vit_small_patch14_reg4_dinov2": {"img_size": 28},
    "vit_small_patch16_dinov3": {},
    "vit_small_plus_patch16_dinov3": {},
    "vit_base_patch16_rope_224": {},
    "vit_base_patch16_rope_ape_224": {},
    "vit_small_patch16_rope_mixed_224": {},
    "vit_base_patch16_xp_224": {},
    "vit_little_patch16_reg1_gap_256": {},
    "vit_relpos_small_patch16_224": {},
    "vit_relpos_base_patch16_cls_224": {},
    "vit_relpos_base_patch16_rpn_224": {},
    "vit_srelpos_small_patch16_224": {},
    "aimv2_large_patch14_224": {"img_size": 28},
    "cait_xxs24_224": {},
    "xcit_nano_12_p16_224": {"img_size": 64},
    "convit_tiny": {},
    "samvit_base_patch16_224": {"img_size": 64, "global_attn_indexes": (1,)},
    "pit_ti_224": None,
    "flexivit_small": {},
    "naflexvit_base_patch16_gap": {"img_size": None},
    "deepseek_vit_412m": {"img_size": 28},
    "gemma4_vit_167m": {},
    "qwen3_vit_88m": {},
}
# Names, side of the image, what makes it small.
OTHERS = {
    "botnet26t_256": (64, {"img_size": 64}),
    "halonet26t": (256, {}),
    "lambda_resnet26rpt_256": (64, {"img_size": 64}),
    "sebotnet33ts_256": (64, {"img_size": 64}),
    "coat_tiny": (64, {"img_size": 64}),
    "coat_lite_tiny": (64, {"img_size": 64}),
    "crossvit_9_240": (240, {"depth": [[1, 1, 0]], "embed_dim": [16, 32], "num_heads": [2, 2]}),
    "davit_tiny": (
        64,
        {"depths": (1, 1, 1, 1), "embed_dims": (16, 32, 64, 64), "num_heads": (1, 2, 4, 4)},
    ),
    "efficientformer_l1": (224, {}),
    "fastvit_t8": (64, {}),
    "fastvit_sa12": (64, {}),
    "focalnet_tiny_srf": (64, {}),
    "gcvit_xxtiny": (64, {"img_size": 64}),
    "hiera_tiny_224": (224, {"embed_dim": 16, "num_heads": 1, "stages": (1, 1, 1, 1)}),
    "hieradet_small": (128, {"embed_dim": 16, "stages": (1, 1, 2, 1), "global_att_blocks": (3,)}),
    "sam2_hiera_tiny": (128, {"embed_dim": 16, "stages": (1, 1, 2, 1), "global_att_blocks": (3,)}),
    "levit_128s": (224, {}),
    "levit_conv_128s": (224, {}),
    "coatnet_pico_rw_224": (64, {"img_size": 64}),
    "coatnext_nano_rw_224": (64, {"img_size": 64}),
    "maxvit_pico_rw_256": (64, {"img_size": 64}),
    "maxvit_rmlp_pico_rw_256": (64, {"img_size": 64}),
    "maxxvitv2_nano_rw_256": (64, {"img_size": 64}),
    "caformer_s18": (64, {}),
    "poolformer_s12": (64, {}),
    "poolformerv2_s12": (64, {}),
    "gmlp_ti16_224": (32, {"img_size": 32}),
    "mixer_s32_224": (64, {"img_size": 64}),
    "resmlp_12_224": (32, {"img_size": 32}),
    "mvitv2_tiny": (64, {"img_size": 64}),
    "nest_tiny": (64, {"img_size": 64}),
    "nextvit_small": (64, {"depths": (1, 1, 5, 1)}),
    "rdnet_tiny": (64, {}),
    "sequencer2d_s": (64, {"layers": [1, 1, 1, 1]}),
    "swin_tiny_patch4_window7_224": (
        56,
        {"img_size": 56, "depths": (2, 2), "embed_dim": 24, "num_heads": (2, 4)},
    ),
    "swin_s3_tiny_224": (
        56,
        {"img_size": 56, "depths": (1, 1, 2, 1), "embed_dim": 24, "window_size": 7},
    ),
    "swinv2_tiny_window8_256": (
        64,
        {"img_size": 64, "depths": (2, 2), "embed_dim": 24, "num_heads": (2, 4)},
    ),
    "swinv2_cr_tiny_224": (
        64,
        {"img_size": 64, "depths": (2, 2), "embed_dim": 24, "num_heads": (2, 4)},
    ),
    "swinv2_cr_tiny_ns_224": (
        64,
        {"img_size": 64, "depths": (2, 2), "embed_dim": 24, "num_heads": (2, 4)},
    ),
    "tiny_vit_5m_224": (224, {}),
    "tnt_s_patch16_224": (32, {"img_size": 32, "depth": 2}),
    "twins_pcpvt_small": (64, {"img_size": 64, "depths": (1, 1, 1, 1)}),
    "twins_svt_small": (64, {"img_size": 64, "depths": (1, 1, 2, 1)}),
    "visformer_tiny": (64, {"img_size": 64, "embed_dim": 48, "depth": (1, 2, 2)}),
    "vit_tiny_r_s16_p8_224": (64, {"img_size": 64, "depth": 2}),
    "vit_small_resnet26d_224": (64, {"img_size": 64, "depth": 2}),
    "vitamin_small_224": (64, {"img_size": 64}),
    "volo_d1_224": (64, {"img_size": 64}),
    "test_vit": (160, {}),
    "test_vit4": (160, {}),
    "test_vit_relpos": (160, {}),
}


def make(name, side, more):
    import timm

    return Case(
        timm.create_model(name, pretrained=False, num_classes=10, **more), image(side), (0,)
    )


def sizes():
    """Name, side of the image, and what makes it small."""
    for name in PLAIN:
        yield name, 64, {}
    for name, side in LARGER.items():
        yield name, side, {}
    for name, more in UNIFORM.items():
        if more is None:
            yield name, 224, {}
            continue
        kwargs = {**VIT, **more}
        side = kwargs["img_size"] or 32
        yield name, side, {key: value for key, value in kwargs.items() if value is not None}
    for name, (side, more) in OTHERS.items():
        yield name, side, more


def rows():
    for name, side, more in sizes():
        yield Row(f"timm/{name}", partial(make, name, side, more))


def preload():
    import timm  # noqa: F401
