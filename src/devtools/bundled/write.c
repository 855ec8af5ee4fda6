// Writes a bundled program. The program's bytes come last, after a FlatBuffer whose size is a
// multiple of 32. So they are never copied, and keep their own alignment.
#include "bundled_program_fbs.h"
#include "devtools/bundled/bundled.h"

#define PROGRAM_ALIGN 32u
#define VALUES_MAX    (UINT64_C(256) << 20)
#define FILE_MAX      (UINT64_C(1) << 31)  // the largest distance of a reference

static sc_fb_ref add_tensor(sc_fb_builder *b, const sc_bundled_value *value) {
    int32_t sizes[64];
    SC_ASSERT(value->rank <= SC_COUNT_OF(sizes));
    for (uint32_t d = 0; d < value->rank; d++) sizes[d] = (int32_t)value->sizes[d];
    const sc_fb_ref data = sc_fb_add_vector(b, value->data, (uint32_t)value->bytes, 1, 16);
    const sc_fb_ref order = sc_fb_add_vector(b, value->dim_order, value->rank, 1, 1);
    const sc_fb_ref sizes_ref = sc_fb_add_vector(b, sizes, value->rank, 4, 4);
    sc_fb_begin(b);
    sc_bpte_Tensor_set_scalar_type(b, (int8_t)value->dtype);
    sc_bpte_Tensor_set_sizes(b, sizes_ref);
    sc_bpte_Tensor_set_data(b, data);
    sc_bpte_Tensor_set_dim_order(b, order);
    return sc_fb_end(b);
}

static sc_fb_ref add_content(sc_fb_builder *b, const sc_bundled_value *value) {
    if (value->kind == SC_BUNDLED_TENSOR) return add_tensor(b, value);
    sc_fb_begin(b);
    if (value->kind == SC_BUNDLED_INT) sc_bpte_Int_set_int_val(b, value->i);
    if (value->kind == SC_BUNDLED_BOOL) sc_bpte_Bool_set_bool_val(b, value->i != 0);
    if (value->kind == SC_BUNDLED_DOUBLE) sc_bpte_Double_set_double_val(b, value->d);
    return sc_fb_end(b);
}

static sc_fb_ref add_values(sc_fb_builder *b, sc_arena *arena, sc_bundled_values values) {
    static const uint8_t TYPES[] = {SC_BPTE_ValueUnion_Tensor, SC_BPTE_ValueUnion_Int,
                                    SC_BPTE_ValueUnion_Bool, SC_BPTE_ValueUnion_Double};
    sc_fb_ref *refs = sc_new_array(arena, sc_fb_ref, (size_t)values.count + 1);
    for (uint32_t i = 0; i < values.count; i++) {
        const sc_fb_ref content = add_content(b, &values.items[i]);
        sc_fb_begin(b);
        sc_bpte_Value_set_val(b, TYPES[values.items[i].kind], content);
        refs[i] = sc_fb_end(b);
    }
    return sc_fb_add_refs(b, refs, values.count);
}

static sc_fb_ref add_case(sc_fb_builder *b, sc_arena *arena, const sc_bundled_case *test_case) {
    const sc_fb_ref inputs = add_values(b, arena, test_case->inputs);
    const sc_fb_ref expected = add_values(b, arena, test_case->expected);
    sc_fb_begin(b);
    sc_bpte_BundledMethodTestCase_set_inputs(b, inputs);
    sc_bpte_BundledMethodTestCase_set_expected_outputs(b, expected);
    return sc_fb_end(b);
}

static sc_fb_ref add_suite(sc_fb_builder *b, sc_arena *arena, const sc_bundled_suite *suite) {
    sc_fb_ref *refs = sc_new_array(arena, sc_fb_ref, (size_t)suite->case_count + 1);
    for (uint32_t i = 0; i < suite->case_count; i++) refs[i] = add_case(b, arena, &suite->cases[i]);
    const sc_fb_ref cases = sc_fb_add_refs(b, refs, suite->case_count);
    const sc_fb_ref name = sc_fb_add_string(b, suite->method);
    sc_fb_begin(b);
    sc_bpte_BundledMethodTestSuite_set_method_name(b, name);
    sc_bpte_BundledMethodTestSuite_set_test_cases(b, cases);
    return sc_fb_end(b);
}

static uint64_t bytes_of(sc_bundled_values values) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < values.count; i++) bytes += values.items[i].bytes + 64;
    return bytes;
}

static sc_status check_size(sc_ctx *ctx, const sc_bundled *bundled) {
    uint64_t bytes = 0;
    for (uint32_t s = 0; s < bundled->suite_count; s++) {
        const sc_bundled_suite *suite = &bundled->suites[s];
        for (uint32_t c = 0; c < suite->case_count; c++)
            bytes += bytes_of(suite->cases[c].inputs) + bytes_of(suite->cases[c].expected);
    }
    if (bytes > VALUES_MAX)
        return sc_fail(
            ctx, SC_ERR_LIMIT, "Bundle fewer cases, or make several files.",
            "inputs and outputs need %llu MB, but a bundled program holds at most %llu MB",
            (unsigned long long)(bytes >> 20), (unsigned long long)VALUES_MAX >> 20);
    if (bundled->program_bytes + bytes >= FILE_MAX)
        return sc_fail(ctx, SC_ERR_LIMIT,
                       "Write the weights to a separate .ptd file (externalConstants).",
                       "this bundled program would be larger than 2 GB, which is the limit");
    return SC_OK;
}

sc_status sc_bundled_write(sc_ctx *ctx, sc_arena *arena, const sc_bundled *bundled,
                           const uint8_t **head, size_t *size) {
    SC_TRY(check_size(ctx, bundled));
    sc_fb_builder b;
    sc_fb_builder_init(&b, arena);
    // The vector is empty so far and at the very end, and its items follow later. Its count is
    // written last.
    const sc_fb_ref program = sc_fb_add_vector(&b, NULL, 0, 1, PROGRAM_ALIGN);
    sc_fb_ref *refs = sc_new_array(arena, sc_fb_ref, (size_t)bundled->suite_count + 1);
    for (uint32_t i = 0; i < bundled->suite_count; i++)
        refs[i] = add_suite(&b, arena, &bundled->suites[i]);
    const sc_fb_ref suites = sc_fb_add_refs(&b, refs, bundled->suite_count);
    sc_fb_begin(&b);
    sc_bpte_BundledProgram_set_version(&b, SC_BUNDLED_VERSION);
    sc_bpte_BundledProgram_set_method_test_suites(&b, suites);
    sc_bpte_BundledProgram_set_program(&b, program);
    SC_TRY(sc_fb_finish(ctx, &b, sc_fb_end(&b), SC_BPTE_IDENTIFIER, head, size));
    SC_ASSERT(*size % PROGRAM_ALIGN == 0);
    sc_fb_store_u32(b.data + b.capacity - sizeof(uint32_t), bundled->program_bytes);
    return SC_OK;
}
