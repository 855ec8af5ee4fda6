// Reads a bundled program and checks it down to the bytes of each tensor. A hostile file may share
// tables. So the size of the file bounds the sum over all of them.
#include "bundled_program_fbs.h"
#include "devtools/bundled/bundled.h"

typedef struct reader {
    sc_ctx *ctx;
    sc_arena *arena;
    sc_str method;
    uint32_t test_case;
    const char *list;  // "input" or "expected output"
    uint32_t index;
    uint64_t left;        // tables that may still be read
    uint64_t bytes_left;  // bytes of tensors that may still be read
} reader;

static sc_status bad_value(const reader *r, const char *what) {
    return sc_fail(r->ctx, SC_ERR_CORRUPT, "Bundle the program again.",
                   "%s %u of case %u of method '" SC_STR_FMT "' %s", r->list, r->index,
                   r->test_case, SC_STR_ARG(r->method), what);
}

static sc_status take(reader *r, uint32_t count) {
    if (count > r->left)
        return sc_fail(r->ctx, SC_ERR_LIMIT, "Bundle the program again.",
                       "the file lists more values than it has room for");
    r->left -= count;
    return SC_OK;
}

// --- Values --------------------------------------------------------------------------------------

static sc_status read_dim_order(reader *r, sc_fb_vec vec, sc_bundled_value *out) {
    uint8_t *order = sc_new_array(r->arena, uint8_t, out->rank + 1);
    out->dim_order = order;
    if (!vec.items) {
        for (uint32_t d = 0; d < out->rank; d++) order[d] = (uint8_t)d;
        return SC_OK;
    }
    uint32_t seen = 0;
    if (vec.count != out->rank) return bad_value(r, "has a dim order of the wrong length");
    for (uint32_t d = 0; d < out->rank; d++) {
        order[d] = vec.items[d];
        if (order[d] >= out->rank || seen >> order[d] & 1)
            return bad_value(r, "has a dim order that is not a permutation");
        seen |= 1u << order[d];
    }
    return SC_OK;
}

static sc_status read_tensor(reader *r, sc_fb_table table, sc_bundled_value *out) {
    const sc_fb_vec sizes = sc_bpte_Tensor_sizes(table), data = sc_bpte_Tensor_data(table);
    const unsigned dtype = (uint8_t)sc_bpte_Tensor_scalar_type(table);
    if (!sc_dtype_is_known(dtype)) return bad_value(r, "has an unknown dtype");
    if (sizes.count > r->ctx->limits.rank_max) return bad_value(r, "has too many dimensions");
    out->kind = SC_BUNDLED_TENSOR;
    out->dtype = (sc_dtype)dtype;
    out->rank = sizes.count;
    int64_t *kept = sc_new_array(r->arena, int64_t, out->rank + 1);
    uint64_t bytes = sc_dtype_bytes(out->dtype);
    bool is_empty = false;
    for (uint32_t d = 0; d < out->rank; d++) {
        kept[d] = sc_fb_vec_i32(sizes, d);
        is_empty = is_empty || kept[d] == 0;
        if (kept[d] < 0) return bad_value(r, "has a negative size");
        // A size of 0 counts as 1, so that strides do not overflow either.
        if (!sc_mul_u64(bytes, kept[d] ? (uint64_t)kept[d] : 1, &bytes) || bytes > INT64_MAX)
            return bad_value(r, "is too large");
    }
    out->sizes = kept;
    out->data = data.items;
    out->bytes = is_empty ? 0 : bytes;
    if (data.count != out->bytes) return bad_value(r, "has not as many bytes as its sizes say");
    if (out->bytes > r->bytes_left)
        return sc_fail(r->ctx, SC_ERR_LIMIT, "Bundle the program again.",
                       "the tensors of the file have more bytes than the file");
    r->bytes_left -= out->bytes;
    return read_dim_order(r, sc_bpte_Tensor_dim_order(table), out);
}

static sc_status read_value(reader *r, sc_fb_table value, sc_bundled_value *out) {
    const sc_fb_table content = sc_bpte_Value_val(value);
    switch (content.at ? sc_bpte_Value_val_type(value) : SC_BPTE_ValueUnion_NONE) {
    case SC_BPTE_ValueUnion_Tensor: return read_tensor(r, content, out);
    case SC_BPTE_ValueUnion_Int:
        *out = (sc_bundled_value){.kind = SC_BUNDLED_INT, .i = sc_bpte_Int_int_val(content)};
        return SC_OK;
    case SC_BPTE_ValueUnion_Bool:
        *out = (sc_bundled_value){.kind = SC_BUNDLED_BOOL, .i = sc_bpte_Bool_bool_val(content)};
        return SC_OK;
    case SC_BPTE_ValueUnion_Double:
        *out =
            (sc_bundled_value){.kind = SC_BUNDLED_DOUBLE, .d = sc_bpte_Double_double_val(content)};
        return SC_OK;
    default: return bad_value(r, "has no value");
    }
}

static sc_status read_values(reader *r, const char *list, sc_fb_vec vec, sc_bundled_values *out) {
    SC_TRY(take(r, vec.count));
    sc_bundled_value *values = sc_new_array(r->arena, sc_bundled_value, (size_t)vec.count + 1);
    *out = (sc_bundled_values){values, vec.count};
    r->list = list;
    for (r->index = 0; r->index < vec.count; r->index++)
        SC_TRY(read_value(r, sc_fb_vec_table(vec, r->index), &values[r->index]));
    return SC_OK;
}

// --- Suites --------------------------------------------------------------------------------------

static sc_status read_suite(reader *r, sc_fb_table suite, sc_bundled_suite *out) {
    const sc_fb_vec cases = sc_bpte_BundledMethodTestSuite_test_cases(suite);
    r->method = sc_bpte_BundledMethodTestSuite_method_name(suite);
    if (!r->method.size)
        return sc_fail(r->ctx, SC_ERR_CORRUPT, "Bundle the program again.",
                       "a test suite does not say which method it is for");
    SC_TRY(take(r, cases.count));
    sc_bundled_case *read = sc_new_array(r->arena, sc_bundled_case, (size_t)cases.count + 1);
    *out = (sc_bundled_suite){r->method, read, cases.count};
    for (r->test_case = 0; r->test_case < cases.count; r->test_case++) {
        const sc_fb_table table = sc_fb_vec_table(cases, r->test_case);
        sc_bundled_case *c = &read[r->test_case];
        SC_TRY(read_values(r, "input", sc_bpte_BundledMethodTestCase_inputs(table), &c->inputs));
        SC_TRY(read_values(r, "expected output",
                           sc_bpte_BundledMethodTestCase_expected_outputs(table), &c->expected));
    }
    return SC_OK;
}

sc_status sc_bundled_read(sc_ctx *ctx, sc_arena *arena, const uint8_t *data, size_t size,
                          sc_bundled *out) {
    SC_TRY(sc_fb_verify(ctx, &sc_bpte_schema, data, size));
    const sc_fb_table root = sc_fb_root(data);
    if (sc_bpte_BundledProgram_version(root) > SC_BUNDLED_VERSION)
        return sc_fail(ctx, SC_ERR_VERSION, "Bundle the program with a supported release.",
                       "this bundled program has version %u; %u is the newest that is known",
                       sc_bpte_BundledProgram_version(root), SC_BUNDLED_VERSION);
    const sc_fb_vec program = sc_bpte_BundledProgram_program(root);
    if (!program.count)
        return sc_fail(ctx, SC_ERR_CORRUPT, "Bundle the program again.",
                       "this bundled program has no program in it");
    const sc_fb_vec suites = sc_bpte_BundledProgram_method_test_suites(root);
    reader r = {.ctx = ctx, .arena = arena, .left = size / 4, .bytes_left = size};
    SC_TRY(take(&r, suites.count));
    sc_bundled_suite *read = sc_new_array(arena, sc_bundled_suite, (size_t)suites.count + 1);
    for (uint32_t i = 0; i < suites.count; i++)
        SC_TRY(read_suite(&r, sc_fb_vec_table(suites, i), &read[i]));
    *out = (sc_bundled){read, suites.count, program.items, program.count};
    return SC_OK;
}
