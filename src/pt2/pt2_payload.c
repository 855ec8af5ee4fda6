// The tensors that a model's file stores. Three containers fill one table: raw storages listed in a
// config (2.9 on), one torch.save file per model (2.8), torch.save files without folder (legacy).
// Only configs and pickles are read.
#include "pt2/pt2.h"

enum { RANK_FILE_MAX = 64 };

// The bytes that the view uses, from the start of its storage; false on overflow.
static bool view_bytes(const sc_pt2_payload *p, uint64_t *out) {
    uint64_t last = (uint64_t)p->offset, step;
    *out = 0;
    for (uint32_t i = 0; i < p->rank; i++)
        if (p->sizes[i] == 0) return true;
    for (uint32_t i = 0; i < p->rank; i++)
        if (!sc_mul_u64((uint64_t)p->sizes[i] - 1, (uint64_t)p->strides[i], &step) ||
            !sc_add_u64(last, step, &last))
            return false;
    return sc_add_u64(last, 1, &last) && sc_mul_u64(last, sc_dtype_bytes(p->dtype), out);
}

// A storage without bytes comes from a tensor without data; it reads as zeros, as in PyTorch.
static sc_status check_storage(sc_ctx *ctx, sc_str name, sc_pt2_payload *p) {
    uint64_t bytes;
    if (!view_bytes(p, &bytes))
        return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "the size of '" SC_STR_FMT "' overflows",
                       SC_STR_ARG(name));
    if (p->storage.size == 0 && bytes > 0) {
        sc_report(ctx, SC_WARNING, SC_ERR_CORRUPT, "Save the model with real weights.",
                  "'" SC_STR_FMT "' was saved without data and is read as zeros", SC_STR_ARG(name));
        p->storage = sc_extent_whole(sc_source_zeros(ctx->arena, bytes));
    }
    if (bytes > p->storage.size)
        return sc_fail(ctx, SC_ERR_TRUNCATED, NULL,
                       "'" SC_STR_FMT "' needs %llu bytes, but the file has %llu", SC_STR_ARG(name),
                       (unsigned long long)bytes, (unsigned long long)p->storage.size);
    return SC_OK;
}

static sc_status check_rank(sc_ctx *ctx, sc_str name, uint32_t rank) {
    if (rank > SC_RANK_MAX || rank > ctx->limits.rank_max)
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "'" SC_STR_FMT "' has %u dimensions",
                       SC_STR_ARG(name), rank);
    return SC_OK;
}

static sc_status refuse_dtype(sc_ctx *ctx, sc_str name, int64_t code) {
    return sc_pt2_refuse_dtype(
        ctx, sc_str_format(ctx->scratch, "'" SC_STR_FMT "'", SC_STR_ARG(name)), code);
}

// --- torch.save ----------------------------------------------------------------------------------

static const char *class_name(sc_arena *work, const sc_pickle_value *value) {
    if (value->kind != SC_PICKLE_OBJECT) return "a Python value";
    const sc_pickle_object *object = value->object;
    // A subclass wrapper names its class among its arguments; the wrapper's own name is always the
    // same.
    const sc_pickle_value *args = object->args;
    for (uint32_t i = 0; args && args->kind == SC_PICKLE_TUPLE && i < args->count; i++)
        if (args->items[i]->kind == SC_PICKLE_GLOBAL && sc_str_starts_with(object->module, "torch"))
            object = args->items[i]->object;
    return sc_str_format(work, "an object of " SC_STR_FMT "." SC_STR_FMT,
                         SC_STR_ARG(object->module), SC_STR_ARG(object->name))
        .data;
}

static sc_status from_pickle(sc_ctx *ctx, sc_arena *work, sc_str name, const sc_pickle_value *value,
                             sc_pt2_payload **out) {
    sc_pt2_payload *p = *out = sc_new(work, sc_pt2_payload);
    if (value->kind != SC_PICKLE_TENSOR) {
        p->object = class_name(work, value);
        return SC_OK;
    }
    const sc_pickle_tensor *tensor = value->tensor;
    SC_TRY(check_rank(ctx, name, tensor->rank));
    *p = (sc_pt2_payload){
        .dtype = sc_dtype_from_pt2(tensor->dtype),
        .rank = tensor->rank,
        .sizes = tensor->sizes,
        .strides = tensor->strides,
        .offset = tensor->storage_offset,
        .requires_grad = tensor->requires_grad,
    };
    if (p->dtype == SC_DTYPE_NONE) return refuse_dtype(ctx, name, tensor->dtype);
    if (tensor->storage && !tensor->storage->missing) p->storage = tensor->storage->extent;
    return check_storage(ctx, name, p);
}

static sc_status add(sc_ctx *ctx, sc_map *map, sc_str name, sc_pt2_payload *payload) {
    if (!sc_map_add(map, name, payload))
        return sc_fail(ctx, SC_ERR_CORRUPT, NULL, "'" SC_STR_FMT "' is stored twice",
                       SC_STR_ARG(name));
    return SC_OK;
}

sc_status sc_pt2_read_saved(sc_ctx *ctx, sc_arena *work, sc_str what, sc_extent file, sc_map *map) {
    sc_torch_save save;
    // Sources of byte-swapped and missing storages outlive the import.
    SC_TRY(sc_torch_save_open(ctx, ctx->arena, file, &save));
    if (!save.root || save.root->kind == SC_PICKLE_NONE) return SC_OK;
    if (save.root->kind != SC_PICKLE_DICT)
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, SC_STR_FMT " is not a dictionary of tensors",
                       SC_STR_ARG(what));
    for (uint32_t i = 0; i < save.root->count; i++) {
        const sc_pickle_value *key = save.root->items[2 * i];
        sc_pt2_payload *payload;
        if (key->kind != SC_PICKLE_STR)
            return sc_fail(ctx, SC_ERR_FORMAT, NULL, SC_STR_FMT " has a key that is not text",
                           SC_STR_ARG(what));
        SC_TRY(from_pickle(ctx, work, sc_pickle_str(key), save.root->items[2 * i + 1], &payload));
        SC_TRY(add(ctx, map, sc_pickle_str(key), payload));
    }
    return SC_OK;
}

static sc_status read_state_dict(sc_ctx *ctx, sc_arena *work, const sc_zip_entry *entry,
                                 sc_map *map) {
    sc_extent extent;
    if (!entry) return SC_OK;
    SC_TRY(sc_zip_extent(ctx, entry, &extent));
    return sc_pt2_read_saved(ctx, work, entry->name, extent, map);
}

// --- Raw storages --------------------------------------------------------------------------------

enum { META_DTYPE, META_SIZES, META_GRAD, META_STRIDES, META_OFFSET, META_LAYOUT, META_COUNT };
enum { LAYOUT_STRIDED = 7 };

static sc_status fail_meta(sc_ctx *ctx, sc_str name) {
    return sc_fail(ctx, SC_ERR_FORMAT, NULL, "malformed tensor_meta of '" SC_STR_FMT "'",
                   SC_STR_ARG(name));
}

// {"as_int": n} with n >= 0
static bool read_natural(const sc_json *json, int64_t *out) {
    return sc_json_i64(sc_json_get(json, "as_int"), out) && *out >= 0 && json->size == 1;
}

static sc_status read_naturals(sc_ctx *ctx, sc_arena *work, sc_str name, const sc_json *json,
                               uint32_t count, const int64_t **out) {
    if (!json || json->kind != SC_JSON_ARRAY || json->size != count) return fail_meta(ctx, name);
    int64_t *values = sc_new_array(work, int64_t, count);
    const sc_json *item = sc_json_first(json);
    for (uint32_t i = 0; i < count; i++, item = sc_json_next(item))
        if (!read_natural(item, &values[i])) return fail_meta(ctx, name);
    *out = values;
    return SC_OK;
}

static sc_status read_meta(sc_ctx *ctx, sc_arena *work, sc_str name, const sc_json *json,
                           sc_pt2_payload *p) {
    sc_json_field f[META_COUNT] = {{.name = "dtype"},          {.name = "sizes"},
                                   {.name = "requires_grad"},  {.name = "strides"},
                                   {.name = "storage_offset"}, {.name = "layout"}};
    int64_t dtype = 0, layout = LAYOUT_STRIDED;
    SC_TRY(sc_json_pick(ctx, json, "tensor_meta", f, META_COUNT));
    const sc_json *sizes = f[META_SIZES].value;
    if (!sizes || sizes->kind != SC_JSON_ARRAY || !sc_json_i64(f[META_DTYPE].value, &dtype))
        return fail_meta(ctx, name);
    SC_TRY(check_rank(ctx, name, sizes->size));
    p->rank = sizes->size;
    SC_TRY(read_naturals(ctx, work, name, sizes, p->rank, &p->sizes));
    SC_TRY(read_naturals(ctx, work, name, f[META_STRIDES].value, p->rank, &p->strides));
    if (f[META_OFFSET].value && !read_natural(f[META_OFFSET].value, &p->offset))
        return fail_meta(ctx, name);
    sc_json_bool(f[META_GRAD].value, &p->requires_grad);
    p->dtype = sc_dtype_from_pt2(dtype);
    if (p->dtype == SC_DTYPE_NONE) return refuse_dtype(ctx, name, dtype);
    if (sc_json_i64(f[META_LAYOUT].value, &layout) && layout != LAYOUT_STRIDED)
        return sc_fail(ctx, SC_ERR_UNSUPPORTED, "Make it dense before torch.export: x.to_dense().",
                       "'" SC_STR_FMT "' is a sparse tensor", SC_STR_ARG(name));
    return SC_OK;
}

// A tensor subclass, stored as a torch.save file of the one object.
static sc_status read_pickled(sc_ctx *ctx, sc_arena *work, sc_str name, sc_extent extent,
                              sc_pt2_payload **out) {
    sc_torch_save save;
    SC_TRY(sc_torch_save_open(ctx, ctx->arena, extent, &save));
    if (save.root) return from_pickle(ctx, work, name, save.root, out);
    (*out)->object = "nothing";
    return SC_OK;
}

enum { CONFIG_PATH, CONFIG_PICKLE, CONFIG_META, CONFIG_COUNT };

static sc_status read_config_entry(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                                   const char *folder, sc_str name, const sc_json *json,
                                   sc_pt2_payload **out) {
    sc_json_field f[CONFIG_COUNT] = {
        {.name = "path_name"}, {.name = "use_pickle"}, {.name = "tensor_meta"}};
    bool pickled = false;
    SC_TRY(sc_json_pick(ctx, json, "payload", f, CONFIG_COUNT));
    sc_str path = sc_json_str(work, f[CONFIG_PATH].value);
    const sc_zip_entry *entry = sc_pt2_find(ctx, archive, folder, path, "");
    if (!entry || path.size == 0)
        return sc_fail(ctx, SC_ERR_CORRUPT, NULL,
                       "the data of '" SC_STR_FMT "' is missing: no entry '%s" SC_STR_FMT "'",
                       SC_STR_ARG(name), folder, SC_STR_ARG(path));
    sc_pt2_payload *p = *out = sc_new(work, sc_pt2_payload);
    SC_TRY(sc_zip_extent(ctx, entry, &p->storage));
    if (!f[CONFIG_META].value) {
        p->object = "an object";
        return SC_OK;
    }
    if (sc_json_bool(f[CONFIG_PICKLE].value, &pickled) && pickled)
        return read_pickled(ctx, work, name, p->storage, out);
    SC_TRY(read_meta(ctx, work, name, f[CONFIG_META].value, p));
    return check_storage(ctx, name, p);
}

static sc_status read_config(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                             const char *folder, const sc_zip_entry *entry, sc_map *map) {
    sc_str text;
    const sc_json *root;
    SC_TRY(sc_zip_load(ctx, work, entry, ctx->limits.json_bytes_max, &text));
    SC_TRY(sc_json_parse(ctx, work, text, &root));
    const sc_json *config = sc_json_get(root, "config");
    if (!config || config->kind != SC_JSON_OBJECT)
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, SC_STR_FMT " has no config",
                       SC_STR_ARG(entry->name));
    const sc_json *key = sc_json_first(config);
    for (uint32_t i = 0; i < config->size; i++, key = sc_json_next(key + 1)) {
        sc_str name = sc_json_str(work, key);
        sc_pt2_payload *payload = NULL;
        SC_TRY(read_config_entry(ctx, work, archive, folder, name, key + 1, &payload));
        SC_TRY(add(ctx, map, name, payload));
    }
    return SC_OK;
}

static sc_status read_folder(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                             const char *folder, sc_str model, const char *config, sc_map *map) {
    const sc_zip_entry *entry = sc_pt2_find(ctx, archive, folder, model, config);
    if (entry) return read_config(ctx, work, archive, folder, entry, map);
    return read_state_dict(ctx, work, sc_pt2_find(ctx, archive, folder, model, ".pt"), map);
}

static const sc_zip_entry *legacy_entry(sc_ctx *ctx, const sc_pt2_archive *archive,
                                        const char *name) {
    const sc_zip_entry *entry = sc_pt2_find(ctx, archive, name, SC_STR(""), ".pt");
    // PyTorch 2.1 names its torch.save files in this way.
    return entry ? entry : sc_pt2_find(ctx, archive, name, SC_STR(""), ".json");
}

sc_status sc_pt2_read_payloads(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                               sc_str model, sc_pt2_payloads *out) {
    sc_map_init(&out->weights, work);
    sc_map_init(&out->constants, work);
    if (archive->legacy) {
        const sc_zip_entry *state = legacy_entry(ctx, archive, "serialized_state_dict");
        const sc_zip_entry *constants = legacy_entry(ctx, archive, "serialized_constants");
        SC_TRY(read_state_dict(ctx, work, state, &out->weights));
        return read_state_dict(ctx, work, constants, &out->constants);
    }
    SC_TRY(read_folder(ctx, work, archive, "data/weights/", model, "_weights_config.json",
                       &out->weights));
    return read_folder(ctx, work, archive, "data/constants/", model, "_constants_config.json",
                       &out->constants);
}

// --- Constants -----------------------------------------------------------------------------------

static uint64_t numel_of(const sc_pt2_payload *p) {
    uint64_t numel = 1;
    for (uint32_t i = 0; i < p->rank; i++)
        numel = p->sizes[i] == 0 ? 0 : numel * (uint64_t)p->sizes[i];
    return numel;
}

// view_bytes bounds the sizes with a nonzero stride. The product of expanded sizes may still be
// huge, so a tensor larger than its storage counts as materialised.
static bool numel_fits(const sc_ctx *ctx, const sc_pt2_payload *p) {
    uint64_t bytes = sc_dtype_bytes(p->dtype);
    for (uint32_t i = 0; i < p->rank; i++)
        if (p->sizes[i] && !sc_mul_u64(bytes, (uint64_t)p->sizes[i], &bytes)) return false;
    return bytes <= p->storage.size || bytes <= ctx->limits.constant_bytes_max || numel_of(p) == 0;
}

// Sizes and strides in the physical order of `spec`, for a gathered read.
static sc_extent gather(sc_ctx *ctx, sc_exprs *exprs, const sc_pt2_payload *p, sc_spec *spec) {
    uint8_t order[SC_RANK_MAX];
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    if (!sc_spec_dim_order(exprs, spec, order))
        for (uint32_t i = 0; i < p->rank; i++) order[i] = (uint8_t)i;
    for (uint32_t i = 0; i < p->rank; i++) {
        sizes[i] = p->sizes[order[i]];
        strides[i] = p->strides[order[i]];
    }
    sc_spec_set_order(exprs, spec, order);
    return sc_extent_strided(ctx->arena, p->storage, sc_dtype_bytes(p->dtype), p->rank, sizes,
                             strides, p->offset);
}

sc_status sc_pt2_make_constant(sc_ctx *ctx, sc_exprs *exprs, const sc_pt2_payload *p, sc_str name,
                               sc_constant **out) {
    if (!numel_fits(ctx, p))
        return sc_fail(ctx, SC_ERR_LIMIT, NULL, "'" SC_STR_FMT "' expands to more than %llu bytes",
                       SC_STR_ARG(name), (unsigned long long)ctx->limits.constant_bytes_max);
    sc_constant *constant = sc_new(ctx->arena, sc_constant);
    sc_spec *spec = &constant->spec;
    *spec = sc_spec_new(ctx->arena, p->dtype, p->rank);
    spec->requires_grad = p->requires_grad;
    spec->offset = sc_dim_int(0);
    for (uint32_t i = 0; i < p->rank; i++) {
        spec->sizes[i] = sc_dim_int(p->sizes[i]);
        spec->strides[i] = sc_dim_int(p->strides[i]);
    }
    constant->name = name;
    uint64_t item_bytes = sc_dtype_bytes(p->dtype), bytes = numel_of(p) * item_bytes;
    if (bytes == 0) {
        sc_spec_set_contiguous(exprs, spec);
    } else if (sc_spec_is_dense(exprs, spec)) {
        bool inside =
            sc_extent_slice(p->storage, (uint64_t)p->offset * item_bytes, bytes, &constant->data);
        SC_ASSERT(inside);
    } else {
        constant->data = gather(ctx, exprs, p, spec);
    }
    *out = constant;
    return SC_OK;
}
