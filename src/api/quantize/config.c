// Reads the host's configuration of how methods are quantized.
#include "api/quantize/quantize.h"

static const char HINT[] =
    "Give {\"mode\": \"static\", \"per_channel\": true}, or the same for each method by its name.";

static sc_status bad(sc_ctx *ctx, const char *what) {
    return sc_fail(ctx, SC_ERR_ARGUMENT, HINT, "%s", what);
}

// --- Values --------------------------------------------------------------------------------------

static const struct {
    const char *name;
    sc_quant_mode mode;
} MODES[] = {{"static", SC_QUANT_STATIC},
             {"dynamic", SC_QUANT_DYNAMIC},
             {"weight_only", SC_QUANT_WEIGHT_ONLY},
             {"dynamic_int4", SC_QUANT_DYNAMIC_INT4},
             {"half_weights", SC_QUANT_HALF_WEIGHTS}};

static sc_status read_mode(sc_ctx *ctx, const sc_json *json, sc_quant_config *out) {
    for (size_t i = 0; i < SC_COUNT_OF(MODES); i++) {
        if (!sc_json_is_str(json, MODES[i].name)) continue;
        out->mode = MODES[i].mode;
        return SC_OK;
    }
    return bad(ctx, "the mode of a quantization must be static, dynamic, weight_only, dynamic_int4 "
                    "or half_weights");
}

static sc_status read_per_channel(sc_ctx *ctx, const sc_json *json, sc_quant_config *out) {
    if (sc_json_bool(json, &out->per_channel)) return SC_OK;
    return bad(ctx, "per_channel must be true or false");
}

static sc_status read_weight_bits(sc_ctx *ctx, const sc_json *json, sc_quant_config *out) {
    int64_t bits = 0;
    if (!sc_json_i64(json, &bits) || (bits != 4 && bits != 8))
        return bad(ctx, "weight_bits must be 4 or 8");
    out->weight_bits = (uint8_t)bits;
    return SC_OK;
}

static sc_status read_layers(sc_ctx *ctx, const sc_json *json, sc_quant_config *out) {
    static const char *const names[] = {"all", "linear", "embeddings"};
    for (size_t i = 0; i < SC_COUNT_OF(names); i++) {
        if (!sc_json_is_str(json, names[i])) continue;
        out->layers = (uint8_t)i;
        return SC_OK;
    }
    return bad(ctx, "layers must be all, linear or embeddings");
}

static sc_status read_group_size(sc_ctx *ctx, const sc_json *json, sc_quant_config *out) {
    int64_t size = 0;
    if (!sc_json_i64(json, &size) || size < 0 || size > INT32_MAX)
        return bad(ctx, "group_size must be a whole number; 0 means one scale for each channel");
    out->group_size = (uint32_t)size;
    return SC_OK;
}

static sc_status read_skip(sc_ctx *ctx, const sc_json *json, sc_quant_config *out) {
    if (json->kind != SC_JSON_ARRAY) return bad(ctx, "skip must be a list of patterns");
    sc_str *patterns = sc_new_array(ctx->arena, sc_str, (size_t)json->size + 1);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < json->size; i++, item = sc_json_next(item)) {
        if (item->kind != SC_JSON_STRING) return bad(ctx, "the patterns of skip must be text");
        patterns[i] = sc_json_str(ctx->arena, item);
    }
    out->skip = patterns;
    out->skip_count = json->size;
    return SC_OK;
}

static const struct {
    const char *name;
    sc_status (*read)(sc_ctx *ctx, const sc_json *json, sc_quant_config *out);
} KEYS[] = {{"mode", read_mode},
            {"layers", read_layers},
            {"per_channel", read_per_channel},
            {"weight_bits", read_weight_bits},
            {"group_size", read_group_size},
            {"skip", read_skip}};

// --- Configurations ------------------------------------------------------------------------------

static sc_status read_key(sc_ctx *ctx, const sc_json *key, sc_quant_config *out) {
    for (size_t i = 0; i < SC_COUNT_OF(KEYS); i++)
        if (sc_json_is_str(key, KEYS[i].name)) return KEYS[i].read(ctx, key + 1, out);
    return sc_fail(ctx, SC_ERR_ARGUMENT, HINT,
                   "a quantization has no field '" SC_STR_FMT
                   "'; its fields are mode, layers, per_channel, weight_bits, group_size and skip",
                   SC_STR_ARG(sc_json_str(ctx->scratch, key)));
}

static sc_status read_config(sc_ctx *ctx, const sc_json *json, sc_quant_config *out) {
    *out = (sc_quant_config){.mode = SC_QUANT_STATIC, .per_channel = true, .weight_bits = 8};
    if (json->kind != SC_JSON_OBJECT) return bad(ctx, "a quantization must be an object");
    const sc_json *key = sc_json_first(json);
    for (uint32_t n = json->size; n--; key = sc_json_next(key + 1)) SC_TRY(read_key(ctx, key, out));
    return SC_OK;
}

static sc_status read_configs(sc_ctx *ctx, const sc_json *json, sc_quant_configs *out) {
    const bool is_list = json->kind == SC_JSON_ARRAY;
    const uint32_t count = is_list ? json->size : 1;
    sc_quant_config *configs = sc_new_array(ctx->arena, sc_quant_config, (size_t)count + 1);
    if (count == 0) return bad(ctx, "a list of quantizations must not be empty");
    const sc_json *item = is_list ? sc_json_first(json) : json;
    for (uint32_t i = 0; i < count; i++, item = i < count ? sc_json_next(item) : item)
        SC_TRY(read_config(ctx, item, &configs[i]));
    *out = (sc_quant_configs){configs, count};
    return SC_OK;
}

static sc_status method_index(sc_ctx *ctx, const sc_program *program, sc_str name, uint32_t *out) {
    for (uint32_t i = 0; i < program->methods.count; i++) {
        *out = i;
        if (sc_str_equal(name, sc_name_str(program->methods.data[i]->name))) return SC_OK;
    }
    sc_sb known;
    sc_sb_init(&known, ctx->scratch);
    for (uint32_t i = 0; i < program->methods.count; i++)
        sc_sb_addf(&known, "%s%s", i ? ", " : "", program->methods.data[i]->name->text);
    return sc_fail(ctx, SC_ERR_NOT_FOUND, "Quantize methods that were opened.",
                   "there is no method '" SC_STR_FMT "' to quantize; there are: %s",
                   SC_STR_ARG(name), sc_sb_terminate(&known));
}

static sc_status read_methods(sc_ctx *ctx, const sc_program *program, const sc_json *json,
                              sc_quant_configs *out) {
    if (!json || json->kind != SC_JSON_OBJECT) return bad(ctx, "no method is given to quantize");
    const sc_json *key = sc_json_first(json);
    for (uint32_t n = json->size; n--; key = sc_json_next(key + 1)) {
        uint32_t index = 0;
        SC_TRY(method_index(ctx, program, sc_json_str(ctx->scratch, key), &index));
        out[index].count = 0;
        if (key[1].kind != SC_JSON_NULL) SC_TRY(read_configs(ctx, key + 1, &out[index]));
    }
    return SC_OK;
}

sc_status sc_quant_configs_read(sc_ctx *ctx, const sc_program *program, sc_str text,
                                sc_quant_configs *out) {
    const sc_json *json = NULL;
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, text), &json));
    const sc_json *all = sc_json_get(json, "all");
    if (!all) return read_methods(ctx, program, sc_json_get(json, "methods"), out);
    for (uint32_t i = 0; i < program->methods.count; i++) SC_TRY(read_configs(ctx, all, &out[i]));
    return SC_OK;
}
