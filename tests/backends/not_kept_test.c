// Operators that were to stay whole for a backend and did not, with the operators that they became.
#include "api/compiling.h"
#include "backends/xnnpack/aot/xnnpack.h"
#include "setup.h"

static bool lower(sc_job *job, const char *model, const char *options, uint32_t *delegated) {
    size_t bytes = 0;
    const char *data = test_read(test_format("models/%s.pt2", model), &bytes);
    sc_source *source = sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
    sc_str partitioners = SC_STR("{\"all\": [{\"backend\": \"xnnpack\"}]}");
    return sc_compile_open(job, source, SC_STR("forward"), (sc_str){0}) == SC_OK &&
           sc_compile_to_edge_transform_and_lower(job, 0, SC_STR("[]"), partitioners, (sc_str){0},
                                                  sc_str_from(options), delegated) == SC_OK;
}

TEST(linear_layers_say_why_they_are_taken_apart) {
    sc_job *job = sc_job_open(NULL);
    uint32_t delegated = 0, reported = 0;
    if (!CHECK(lower(job, "linear_bf16", "{\"target_runtime\": \"1.4\"}", &delegated))) return;
    const sc_delegation *all = &sc_job_compiling(job)->versions.data[delegated].delegation;
    for (uint32_t i = 0; i < all->rows.count; i++) {
        const sc_delegation_row *row = &all->rows.data[i];
        if (strcmp(row->op->name, "aten::addmm") != 0) continue;
        CHECK(!row->part);
        CHECK(sc_str_starts_with(row->reason, "aten::linear was not kept whole: it computes in"));
        CHECK(row->hint.size > 0);
        reported++;
    }
    CHECK(reported > 0);
    sc_job_close(job);
}

// Their addend is an operand of the branch.
TEST(linear_layers_of_branches_are_kept) {
    sc_job *job = sc_job_open(NULL);
    uint32_t delegated = 0, kept = 0;
    if (!CHECK(lower(job, "cond", "", &delegated))) return;
    const sc_delegation *all = &sc_job_compiling(job)->versions.data[delegated].delegation;
    for (uint32_t i = 0; i < all->rows.count; i++) {
        const sc_delegation_row *row = &all->rows.data[i];
        CHECK(strcmp(row->op->name, "aten::addmm") != 0);
        if (strcmp(row->op->name, "aten::linear") != 0) continue;
        CHECK(row->part && row->graph.size > 0);
        kept++;
    }
    CHECK_EQ_UINT(kept, 2);
    sc_job_close(job);
}

// A view of the edge program is a copy, however it lies before.
TEST(linear_layers_of_transposed_inputs_are_kept) {
    sc_job *job = sc_job_open(NULL);
    uint32_t delegated = 0, kept = 0;
    if (!CHECK(lower(job, "lstm", "", &delegated))) return;
    const sc_delegation *all = &sc_job_compiling(job)->versions.data[delegated].delegation;
    for (uint32_t i = 0; i < all->rows.count; i++) {
        const sc_delegation_row *row = &all->rows.data[i];
        if (strcmp(row->op->name, "aten::linear") != 0) continue;
        CHECK(row->part);
        kept++;
    }
    CHECK(kept > 0);
    sc_job_close(job);
}

// Asked of the program as it was exported: the reason is that of the layer that reads it.
TEST(what_goes_with_a_layer_has_the_reason_of_the_layer) {
    static const struct {
        const char *node, *reason, *hint;
    } rows[] = {
        {"d16", "it can only be taken with aten::linear: its groups have 16 weights",
         "Use a group size of 32."},
        {"alone", "no node that XNNPACK computes with 8 bits reads it",
         "Compute with the dequantized values."},
    };
    static const char text[] =
        "method forward {\n"
        "  input %x: f32[3, 64]\n"
        "  input %w: i8[2, 64] parameter \"w\" const i8[2, 64] 128 kept\n"
        "  input %g: f32[2, 4] parameter \"g\" const f32[2, 4] 32 kept\n"
        "  alone: (%as: f32[3, 1], %az: i8[3, 1]) = torchao::choose_qparams_affine(%x, "
        "\"SYMMETRIC\", [1, 64], i8, -128, 127, None, None, i8)\n"
        "  %d16: f32[2, 64] = torchao::dequantize_affine(%w, [1, 16], %g, None, i8, -8, 7)\n"
        "  %l: f32[3, 2] = aten::linear(%x, %d16)\n"
        "  return %l, %as, %az\n"
        "}\n";
    setup s;
    setup_begin(&s);
    sc_program *program = NULL;
    const sc_options options = sc_options_default();
    CHECK_OK(sc_ops_init());
    if (!CHECK_OK(sc_program_parse(&s.ctx, sc_str_from(text), &program)))
        FAIL("%s", setup_message(&s));
    const sc_backend *backend = &sc_backend_xnnpack;
    const sc_node *node = program->methods.data[0]->graph->first;
    uint32_t reported = 0;
    for (; node; node = node->next)
        for (uint32_t i = 0; i < SC_COUNT_OF(rows); i++) {
            sc_claim claim = {0};
            if (strcmp(node->name->text, rows[i].node) != 0) continue;
            CHECK(!backend->keeps(backend, &options, node, &claim));
            CHECK(sc_str_starts_with(claim.reason, rows[i].reason));
            CHECK(sc_str_is(claim.hint, rows[i].hint));
            reported++;
        }
    CHECK(reported == SC_COUNT_OF(rows));
    setup_end(&s);
}
