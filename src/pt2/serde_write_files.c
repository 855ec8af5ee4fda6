// The files that go with the JSON: weights and other constants by name, each storage once, and the
// inputs that the program was exported with.
#include "format/torch_save.h"
#include "pt2/serde_write.h"

// --- Constants -----------------------------------------------------------------------------------

typedef struct collector {
    sc_serde_writer *w;
    const sc_method *method;
    sc_pickle_value *dict;
    sc_map names;
    SC_VEC(sc_pickle_storage *) storages;
    SC_VEC(uint8_t) codes;  // by the tensors that the storages were made for
} collector;

// Tied weights share their storage, as long as they are of one dtype.
static sc_pickle_storage *storage_of(collector *c, const sc_constant *constant, uint8_t code) {
    sc_arena *work = c->w->work;
    for (uint32_t i = 0; i < c->storages.count; i++)
        if (constant->data.size && c->codes.data[i] == code &&
            sc_extent_is(c->storages.data[i]->extent, constant->data))
            return c->storages.data[i];
    sc_pickle_storage *storage = sc_pickle_make_storage(work, constant->data);
    sc_vec_push(work, &c->storages, storage);
    sc_vec_push(work, &c->codes, code);
    return storage;
}

static sc_status check_data(sc_serde_writer *w, const sc_input_sig *sig) {
    uint64_t bytes;
    const sc_constant *constant = sig->constant;
    if (constant && sc_spec_bytes_max(&constant->spec, &bytes) && constant->data.size == bytes)
        return SC_OK;
    return sc_fail(w->ctx, SC_ERR_UNSUPPORTED, "Write the record without weights.",
                   "'" SC_STR_FMT "' has no data", SC_STR_ARG(sig->target));
}

// A value that is written in place cannot require gradients, even if it did when it was exported.
static bool is_written(const sc_method *method, const sc_input_sig *sig) {
    for (uint32_t i = 0; i < method->outputs.count && sig->kind == SC_INPUT_BUFFER; i++)
        if (method->outputs.data[i].kind == SC_OUTPUT_BUFFER_MUTATION &&
            sc_str_equal(method->outputs.data[i].target, sig->target))
            return true;
    return false;
}

static sc_status add_constant(collector *c, const sc_input_sig *sig) {
    int64_t sizes[SC_RANK_MAX], strides[SC_RANK_MAX];
    SC_TRY(check_data(c->w, sig));
    if (!sc_map_add(&c->names, sig->target, NULL)) return SC_OK;  // the graph takes it twice
    const sc_spec *spec = &sig->constant->spec;
    for (uint32_t i = 0; i < spec->rank; i++) {
        sizes[i] = spec->sizes[i].value;
        strides[i] = spec->strides[i].value;
    }
    const uint8_t code = sc_dtype_to_pt2((sc_dtype)spec->dtype);
    const sc_pickle_view view = {.code = code,
                                 .rank = spec->rank,
                                 .sizes = sizes,
                                 .strides = strides,
                                 .is_parameter = sig->kind == SC_INPUT_PARAMETER,
                                 .requires_grad =
                                     spec->requires_grad && !is_written(c->method, sig)};
    sc_pickle_storage *storage = storage_of(c, sig->constant, code);
    sc_pickle_put(c->w->work, c->dict, sig->target,
                  sc_pickle_make_tensor(c->w->work, storage, &view));
    return SC_OK;
}

// Does the deserialized program look for it in its state?
static bool is_state(const sc_input_sig *sig) {
    return sig->kind == SC_INPUT_PARAMETER || (sig->kind == SC_INPUT_BUFFER && sig->persistent);
}

sc_status sc_serde_write_constants(sc_serde_writer *w, const sc_method *method, bool state,
                                   sc_extent *out) {
    collector c = {
        .w = w, .method = method, .dict = sc_pickle_make_container(w->work, SC_PICKLE_DICT)};
    sc_cord file;
    sc_map_init(&c.names, w->work);
    for (uint32_t i = 0; i < method->inputs.count; i++) {
        const sc_input_sig *sig = &method->inputs.data[i];
        if (sc_input_has_constant(sig->kind) && is_state(sig) == state)
            SC_TRY(add_constant(&c, sig));
    }
    sc_cord_init(&file, w->ctx->arena);
    SC_TRY(sc_torch_save_write(w->ctx, c.dict, &file));
    *out = sc_serde_extent(w, &file);
    return SC_OK;
}

// --- Example inputs ------------------------------------------------------------------------------

// (args, kwargs), of those that can be loaded again.
static sc_status check_examples(sc_ctx *ctx, sc_arena *work, sc_extent file) {
    sc_torch_save save;
    sc_sb pickle;
    sc_pickle_storages storages = {0};
    SC_TRY(sc_torch_save_open(ctx, work, file, &save));
    if (!save.root || save.root->kind != SC_PICKLE_TUPLE)
        return sc_fail(ctx, SC_ERR_FORMAT, NULL, "they are not a tuple of arguments");
    sc_sb_init(&pickle, work);
    return sc_pickle_write(ctx, work, save.root, &pickle, &storages);
}

// Taken from the file if it has them: its inputs state more than values do.
sc_status sc_serde_write_examples(sc_ctx *ctx, const sc_method *method, sc_extent *out) {
    sc_arena work;
    const sc_diag_mark mark = sc_diags_mark(ctx);
    *out = method->examples;
    if (out->size == 0) return SC_OK;
    sc_arena_init(&work);
    sc_status status = check_examples(ctx, &work, method->examples);
    sc_arena_deinit(&work);
    if (status == SC_OK || status == SC_ERR_IO || status == SC_ERR_CANCELLED) return status;
    const sc_str why = sc_vec_last(&ctx->diags).message;
    sc_diags_rewind(ctx, mark);
    sc_report(ctx, SC_WARNING, status, "Pass inputs of your own.",
              "the example inputs are left out of the record: " SC_STR_FMT, SC_STR_ARG(why));
    *out = (sc_extent){0};
    return SC_OK;
}
