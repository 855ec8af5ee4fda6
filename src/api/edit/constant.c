// Constants of a method that a pass reads and adds.
#include "api/edit/edit.h"

// --- Reading -------------------------------------------------------------------------------------

sc_status sc_edit_read_constant(sc_job *job, uint32_t input, void *out, uint32_t bytes) {
    sc_edit *edit;
    SC_TRY(sc_edit_require(job, &edit));
    const sc_method *method = edit->method;
    const sc_constant *c =
        input < method->inputs.count ? method->inputs.data[input].constant : NULL;
    if (!c || c->data.size != bytes)
        return sc_fail(&job->ctx, SC_ERR_NOT_FOUND, NULL, "there is no such constant");
    return sc_extent_read(&job->ctx, sc_constant_row_major(job->ctx.arena, c), 0, out, bytes);
}

// --- Adding --------------------------------------------------------------------------------------

static sc_status bad(sc_ctx *ctx, const char *what) {
    return sc_fail(ctx, SC_ERR_ARGUMENT,
                   "Give a name, a dtype, sizes, and the bytes of all elements.",
                   "a new constant %s", what);
}

static sc_status read_sizes(sc_ctx *ctx, const sc_json *shape, sc_spec *spec, uint64_t *bytes) {
    const sc_json *item = sc_json_first(shape);
    *bytes = sc_dtype_bytes((sc_dtype)spec->dtype);
    for (uint32_t d = 0; d < spec->rank; d++, item = sc_json_next(item)) {
        int64_t size = -1;
        if (!sc_json_i64(item, &size) || size < 0 || size > UINT32_MAX)
            return bad(ctx, "has a size that is not a whole number");
        spec->sizes[d] = sc_dim_int(size);
        *bytes *= (uint64_t)size;
        if (*bytes > UINT32_MAX) return bad(ctx, "is larger than 4 GB");
    }
    return SC_OK;
}

static sc_status read_spec(sc_edit *edit, const sc_json *json, sc_spec *spec, uint64_t *bytes) {
    sc_ctx *ctx = &edit->job->ctx;
    const sc_json *shape = sc_json_get(json, "shape"), *name = sc_json_get(json, "dtype");
    const sc_dtype dtype = name && name->kind == SC_JSON_STRING
                               ? sc_dtype_from_short(sc_json_str(ctx->scratch, name))
                               : SC_DTYPE_NONE;
    if (dtype == SC_DTYPE_NONE) return bad(ctx, "has no dtype");
    if (!shape || shape->kind != SC_JSON_ARRAY) return bad(ctx, "has no sizes");
    if (shape->size > SC_RANK_MAX) return bad(ctx, "has too many dims");
    *spec = sc_spec_new(ctx->arena, dtype, shape->size);
    SC_TRY(read_sizes(ctx, shape, spec, bytes));
    sc_spec_set_contiguous(edit->method->exprs, spec);
    return SC_OK;
}

// Constants of all methods may be in one file, where a name must mean one of them.
static bool is_taken(const sc_program *program, sc_str name) {
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++)
            if (sc_str_equal(method->inputs.data[i].target, name)) return true;
    }
    return false;
}

static sc_status read_name(sc_edit *edit, const sc_json *json, sc_str *out) {
    sc_ctx *ctx = &edit->job->ctx;
    const sc_json *name = sc_json_get(json, "name");
    if (!name || name->kind != SC_JSON_STRING || !name->size) return bad(ctx, "has no name");
    *out = sc_str_copy(ctx->arena, sc_json_str(ctx->scratch, name));
    if (!is_taken(edit->program, *out)) return SC_OK;
    return sc_fail(ctx, SC_ERR_ARGUMENT,
                   "Give it another name, such as one that begins with the method's name.",
                   "a constant '" SC_STR_FMT "' exists already", SC_STR_ARG(*out));
}

// Names of values are identifiers.
static sc_str value_name(sc_arena *arena, sc_str name) {
    char *text = sc_arena_alloc(arena, name.size + 1);
    for (size_t i = 0; i < name.size; i++) {
        const char c = name.data[i];
        const bool is_plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        text[i] = is_plain ? c : '_';
    }
    return (sc_str){text, name.size};
}

static sc_status copy_bytes(sc_ctx *ctx, const void *data, size_t bytes, uint8_t **out) {
    *out = sc_arena_try_alloc(ctx->arena, sc_max_u64(bytes, 1));
    if (!*out)
        return sc_fail(ctx, SC_ERR_MEMORY, "Use smaller constants.",
                       "there is no memory for the %zu bytes of a new constant", bytes);
    if (bytes) memcpy(*out, data, bytes);
    return SC_OK;
}

static sc_value *add(sc_edit *edit, sc_str name, sc_spec spec, const uint8_t *data, size_t bytes) {
    sc_arena *arena = edit->job->ctx.arena;
    sc_method *method = edit->method;
    sc_constant *constant = sc_new(arena, sc_constant);
    *constant = (sc_constant){
        .name = name,
        .spec = spec,
        .data = sc_extent_whole(sc_source_from_memory(arena, data, bytes)),
        .persistent = true,
    };
    sc_value *value = sc_graph_add_input(method->graph, value_name(edit->job->ctx.scratch, name),
                                         SC_VALUE_TENSOR);
    value->spec = spec;
    sc_input_sig sig = {.kind = SC_INPUT_CONSTANT_TENSOR, .target = name, .constant = constant};
    sc_vec_push(arena, &method->inputs, sig);
    return value;
}

sc_status sc_edit_add_constant(sc_job *job, sc_str constant_json, const void *data, uint32_t bytes,
                               sc_str *json) {
    sc_ctx *ctx = &job->ctx;
    const sc_json *parsed;
    sc_edit *edit;
    sc_str name;
    sc_spec spec;
    uint64_t wanted;
    SC_TRY(sc_edit_require(job, &edit));
    SC_TRY(sc_edit_begin_change(edit));
    SC_TRY(sc_json_parse(ctx, ctx->arena, sc_str_copy(ctx->arena, constant_json), &parsed));
    SC_TRY(read_name(edit, parsed, &name));
    SC_TRY(read_spec(edit, parsed, &spec, &wanted));
    if (wanted != bytes)
        return sc_fail(ctx, SC_ERR_ARGUMENT, "Give the bytes of all elements, row-major.",
                       "constant '" SC_STR_FMT "' needs %llu bytes, not %u", SC_STR_ARG(name),
                       (unsigned long long)wanted, bytes);
    uint8_t *kept;
    SC_TRY(copy_bytes(ctx, data, bytes, &kept));
    sc_value *value = add(edit, name, spec, kept, bytes);
    sc_sb text = sc_job_text(job);
    sc_json_writer w;
    sc_json_writer_init(&w, &text, SC_JSON_COMPACT);
    sc_json_begin_object(&w);
    sc_json_key(&w, "input");
    sc_edit_add_value(edit, &w, value);
    sc_json_key(&w, "row");
    sc_edit_add_input_row(&w, &sc_vec_last(&edit->method->inputs));
    sc_json_end_object(&w);
    *json = sc_sb_str(&text);
    return SC_OK;
}
