// Decomposition against PyTorch's own: tests/decompose/*.ir hold cases, each a line "=== name", an
// exported program, a line "----" and torch's decomposed graph (tests/make/make_decomp_cases.py).
// Ours must be the same up to names, node for node. --update writes the graph of a case without
// one.
#include "ops/formula.h"
#include "passes/passes.h"
#include "pt2/import.h"
#include "setup.h"
#include "trace/expand.h"

static bool same_operators(const sc_graph *a, const sc_graph *b) {
    const sc_node *x = a->first, *y = b->first;
    for (; x && y; x = x->next, y = y->next)
        if (x->op != y->op) return false;
    return !x && !y;
}

static void check_signature(const sc_method *a, const sc_method *b) {
    if (!CHECK_EQ_UINT(a->outputs.count, b->outputs.count)) return;
    for (uint32_t i = 0; i < a->outputs.count; i++) {
        const sc_output_sig *x = &a->outputs.data[i], *y = &b->outputs.data[i];
        CHECK_EQ_INT(x->kind, y->kind);
        CHECK(sc_str_equal(x->target, y->target));
    }
}

static void check_same(setup *s, sc_program *actual, sc_program *expected) {
    sc_sb why;
    sc_method *a = actual->methods.data[0], *b = expected->methods.data[0];
    sc_sb_init(&why, &s->arena);
    if (!sc_graph_isomorphic(a->graph, b->graph, &why))
        FAIL("%s", sc_sb_terminate(&why));
    else if (!same_operators(a->graph, b->graph))
        FAIL("the same nodes in another order");
    check_signature(a, b);
}

static void check_equal(setup *s, sc_program *actual, sc_str text) {
    sc_program *expected;
    REQUIRE_OK(sc_program_parse(&s->ctx, text, &expected));
    check_same(s, actual, expected);
}

// Returns the graph to write down for a case that has none yet; else an empty text.
static sc_str check_case(setup *s, sc_str text) {
    char *copy = sc_str_dup(&s->arena, text);
    char *divider = strstr(copy, "\n----\n");
    sc_str input = {copy, divider ? (size_t)(divider + 1 - copy) : text.size};
    sc_program *program;
    if (!CHECK_OK(sc_program_parse(&s->ctx, input, &program)) ||
        !CHECK_OK(sc_decompose(&s->ctx, program->methods.data[0], NULL)) ||
        !CHECK_OK(sc_verify(&s->ctx, program))) {
        FAIL("%s", setup_message(s));
        return (sc_str){0};
    }
    if (!divider && test_updating()) {
        sc_sb graph;
        sc_sb_init(&graph, &s->arena);
        sc_program_print(&graph, program, (sc_print_options){.signature = true});
        return sc_sb_str(&graph);
    }
    if (!divider) {
        FAIL("no expected graph; run with --update and look at it");
        return (sc_str){0};
    }
    check_equal(s, program, sc_str_from(divider + 6));
    // A decomposed graph stays as it is.
    if (CHECK_OK(sc_decompose(&s->ctx, program->methods.data[0], NULL)))
        check_equal(s, program, sc_str_from(divider + 6));
    return (sc_str){0};
}

static void check_file(const char *file, uint32_t *count) {
    setup whole;
    size_t bytes;
    setup_begin(&whole);
    char *text = test_read(file, &bytes);
    sc_sb updated;
    sc_sb_init(&updated, &whole.arena);
    const char *at = strstr(text, "\n=== ");
    sc_sb_add(&updated, (sc_str){text, at ? (size_t)(at - text) : bytes});
    while (at) {
        setup s;
        const char *next = strstr(at + 5, "\n=== ");
        const char *name = at + 5, *body = strchr(name, '\n') + 1;
        sc_str program = {body, (size_t)((next ? next : text + bytes) - body)};
        setup_begin(&s);
        sc_sb_add(&updated, (sc_str){at, (size_t)(body - at) + program.size});
        if (test_case("%s %.*s", file, (int)(body - 1 - name), name)) {
            sc_str made = check_case(&s, program);
            if (made.size) {
                sc_sb_add_text(&updated, "----\n");
                sc_sb_add(&updated, made);
            }
        }
        setup_end(&s);
        (*count)++;
        at = next;
    }
    if (test_updating() && updated.size != bytes) test_write(file, updated.data, updated.size);
    setup_end(&whole);
}

TEST_CASES(decompose_makes_the_graphs_that_torch_makes) {
    size_t file_count;
    uint32_t count = 0;
    const char **files = test_list("decompose", ".ir", &file_count);
    CHECK_OK(sc_ops_init());
    for (size_t i = 0; i < file_count; i++) check_file(files[i], &count);
    CHECK(count >= 600);
}

static sc_program *import_model(setup *s, const char *file) {
    sc_program *program = sc_program_new(&s->ctx);
    sc_import_options options = {.method = {NULL, 0}};
    if (!CHECK_OK(sc_import_pt2(&s->ctx, setup_file(s, file).source, &options, program)))
        FAIL("%s: %s", file, setup_message(s));
    return program;
}

// To the last stride, those of dims of size 1 included, which PyTorch itself never looks at.
static void check_strides(const sc_graph *ours, const sc_graph *torchs) {
    const sc_node *x = ours->first, *y = torchs->first;
    for (; x && y; x = x->next, y = y->next)
        for (uint32_t i = 0; i < x->out_count && i < y->out_count; i++) {
            const sc_spec *a = &x->outs[i]->spec, *b = &y->outs[i]->spec;
            if (x->outs[i]->type != SC_VALUE_TENSOR || a->rank != b->rank) continue;
            for (uint32_t d = 0; d < a->rank; d++)
                if (sc_dim_is_int(a->strides[d]) && sc_dim_is_int(b->strides[d]) &&
                    a->strides[d].value != b->strides[d].value)
                    FAIL("stride %u of %s (%s)", d, x->name->text, x->op->name);
        }
}

// models/NAME.core.pt2 is what PyTorch's own run_decompositions made of models/NAME.pt2.
TEST_CASES(decompose_makes_the_models_that_torch_makes) {
    size_t count;
    const char **files = test_list("models", ".core.pt2", &count);
    CHECK_OK(sc_ops_init());
    for (size_t i = 0; i < count; i++) {
        setup s;
        if (!test_case("%s", files[i])) continue;
        setup_begin(&s);
        const char *end = strstr(files[i], ".core.pt2");
        const char *source = test_format("%.*s.pt2", (int)(end - files[i]), files[i]);
        sc_program *ours = import_model(&s, source);
        if (!s.ctx.error_count && CHECK_OK(sc_decompose(&s.ctx, ours->methods.data[0], NULL))) {
            sc_program *torchs = import_model(&s, files[i]);
            check_same(&s, ours, torchs);
            check_strides(ours->methods.data[0]->graph, torchs->methods.data[0]->graph);
        }
        setup_end(&s);
    }
}

TEST(decompose_expansions_name_known_operators) {
    setup s;
    setup_begin(&s);
    CHECK_OK(sc_ops_init());
    for (uint32_t id = 1; id < SC_OP_COUNT; id++) {
        const sc_op *op = sc_op_get((sc_op_id)id);
        const sc_expansion *how = sc_op_expansion(op);
        const sc_formula_names names = sc_formula_names_of(op);
        sc_formula formula;
        if (how && how->text &&
            sc_formula_parse(&s.ctx, &s.arena, sc_str_from(how->text), &names, &formula) != SC_OK)
            FAIL("%s: %s", op->name, setup_message(&s));
        if (!op->infer && !sc_op_has(op, SC_HIGHER_ORDER)) CHECK(how != NULL);
    }
    setup_end(&s);
}

static sc_status decompose_text(setup *s, const char *text, sc_program **out) {
    SC_TRY(sc_ops_init());
    SC_TRY(sc_program_parse(&s->ctx, sc_str_from(text), out));
    return sc_decompose(&s->ctx, (*out)->methods.data[0], NULL);
}

// As a partitioner asks: operators by name, and of each call whether it will do.
static bool wants_static_linear(void *user, const sc_node *node) {
    (*(uint32_t *)user)++;
    return strcmp(node->op->name, "aten::linear") == 0 &&
           sc_dim_is_int(node->outs[0]->spec.sizes[0]);
}

static uint32_t count_kept(const sc_program *program) {
    uint32_t count = 0;
    for (const sc_node *n = program->methods.data[0]->graph->first; n; n = n->next)
        count += n->is_kept && strcmp(n->op->name, "aten::linear") == 0;
    return count;
}

TEST(decompose_keeps_what_somebody_wants_whole) {
    static const char text[] = "method f {\n"
                               "  symbol s0 [2, 8]\n"
                               "  input %x: f32[2, 4]\n"
                               "  input %y: f32[s0, 4]\n"
                               "  input %w: f32[3, 4]\n"
                               "  %p: f32[2, 3] = aten::linear(%x, %w)\n"
                               "  %q: f32[s0, 3] = aten::linear(%y, %w)\n"
                               "  %r: f32[2, 3] = aten::relu(%p)\n"
                               "  return %r, %q\n"
                               "}\n";
    setup s;
    setup_begin(&s);
    uint32_t asked = 0;
    sc_program *program = NULL, *copy = NULL;
    const sc_keep keep = {wants_static_linear, &asked};
    sc_pipeline pipeline = {.verify = true, .env = {.keep = &keep}};
    REQUIRE_OK(sc_ops_init());
    REQUIRE_OK(sc_program_parse(&s.ctx, sc_str_from(text), &program));
    REQUIRE_OK(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_decompose));
    REQUIRE_OK(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_to_edge));
    CHECK_EQ_UINT(asked, 2);  // relu has no expansion
    CHECK_EQ_UINT(count_kept(program), 1);
    // The mark stays with copies and in text, and is enough to be kept again.
    REQUIRE_OK(sc_program_clone(program, &copy));
    REQUIRE_OK(sc_decompose(&s.ctx, copy->methods.data[0], NULL));
    CHECK_EQ_UINT(count_kept(copy), 1);
    sc_sb printed;
    sc_sb_init(&printed, &s.arena);
    sc_program_print(&printed, copy, (sc_print_options){.meta = true, .signature = true});
    CHECK(strstr(sc_sb_terminate(&printed), "kept)") != NULL);
    REQUIRE_OK(sc_program_parse(&s.ctx, sc_sb_str(&printed), &copy));
    CHECK_EQ_UINT(count_kept(copy), 1);
    // A node that no backend took in the end is decomposed.
    CHECK_OK(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_to_executorch));
    CHECK_EQ_UINT(count_kept(program), 0);
    setup_end(&s);
}

static bool wants_torchao(void *user, const sc_node *node) {
    (void)user;
    return strncmp(node->op->name, "torchao::", 9) == 0;
}

TEST(decompose_keeps_quantization_whole) {
    setup s;
    setup_begin(&s);
    REQUIRE_OK(sc_ops_init());
    const sc_keep keep = {wants_torchao, NULL};
    sc_pipeline pipeline = {.verify = true, .env = {.keep = &keep}};
    sc_program *program = import_model(&s, "models/quantized_layers.pt2");
    REQUIRE_OK(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_decompose));
    REQUIRE_OK(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_to_edge));
    uint32_t count = 0;
    for (const sc_node *n = program->methods.data[0]->graph->first; n; n = n->next) {
        count += n->is_kept;
        CHECK_EQ_INT(n->is_kept, wants_torchao(NULL, n));
    }
    // Scales twice, quantized twice; weights of three layers and activations of one dequantized.
    CHECK_EQ_UINT(count, 8);
    setup_end(&s);
}

TEST(decompose_names_the_node_whose_record_is_wrong) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    CHECK_STATUS(decompose_text(&s,
                                "method f {\n"
                                "  input %x: f32[2, 3]\n"
                                "  %y: f32[3, 3] = aten::silu(%x)\n"
                                "  return %y\n}\n",
                                &program),
                 SC_ERR_MISMATCH);
    CHECK(strstr(setup_message(&s), "'y' is f32[3, 3] in the file, but f32[2, 3]") != NULL);
    CHECK(sc_str_is(sc_vec_last(&s.ctx.diags).where.node, "y"));
    setup_end(&s);
}

#define CHOOSE "choose: (%y: f32[9], %z: i32[4]) = torchao::choose_qparams_affine(%x, "
#define GROUP \
    "%y: i8[4, 8] = quantized_decomposed::quantize_per_channel_group(%x, %x, %x, -8, 7, i8, "

// The result for a program, whose text has a place for the line.
static void check_status(const char *form, const char *line, sc_status expected) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    const sc_status status = decompose_text(&s, test_format(form, line), &program);
    if (status != expected) FAIL("%s: %s", sc_status_slug(status), line);
    setup_end(&s);
}

TEST(decompose_refuses_what_it_cannot_write_out) {
    static const struct {
        const char *line;
        sc_status status;
    } cases[] = {
        {"%y: c64[1, 8, 5] = aten::fft_rfft(%x, 0)", SC_ERR_ARGUMENT},
        {"%y: f32[4, 8] = aten::flatten.using_ints(%x, 1, 7)", SC_ERR_ARGUMENT},
        {"%y: f32[4, 8] = aten::reshape(%x, [3, -1, -1])", SC_ERR_SHAPE},
        {"%y: f32[4, 8] = aten::pixel_shuffle(%x, 2)", SC_ERR_ARGUMENT},
        {"%y: f32[4, 8] = aten::einsum(\"ij,jk->ik\", [%x])", SC_ERR_ARGUMENT},
        {"%y: f32[4, 8] = aten::einsum(\"i\", [%x])", SC_ERR_ARGUMENT},
        {"%y: f32[4, 8] = aten::matmul(%x, %x)", SC_ERR_SHAPE},
        {"%y: f32[4, 8] = aten::conv2d(%x, %x)", SC_ERR_SHAPE},
        {"%y: f32[4, 8] = aten::linspace(0, 1, -1)", SC_ERR_UNSUPPORTED},
        {"%y: f32[4, 18] = aten::_pad_circular(%x, [9, 1])", SC_ERR_ARGUMENT},
        {"%y: f32[4, 1] = aten::_pad_circular(%x, [-8, 1])", SC_ERR_ARGUMENT},
        {"%y: f32[2] = aten::as_strided(%x, [2], [31], 1)", SC_ERR_UNSUPPORTED},
        {"%y: f32[2]{31} = aten::as_strided(%x, [2], [31])", SC_OK},
        {CHOOSE "\"SKEWED\", [1, 8], i8)", SC_ERR_UNSUPPORTED},
        {CHOOSE "\"SYMMETRIC\", [8], i8)", SC_ERR_SHAPE},
        {CHOOSE "\"SYMMETRIC\", [1, 3], i8)", SC_ERR_SHAPE},
        {CHOOSE "\"SYMMETRIC\", [1, 0], i8)", SC_ERR_SHAPE},
        {CHOOSE "\"SYMMETRIC\", [1, -8], i8)", SC_ERR_SHAPE},
        {CHOOSE "\"SYMMETRIC\", [1, 16], i8)", SC_ERR_SHAPE},
        {CHOOSE "\"SYMMETRIC\", [1, 8], f32)", SC_ERR_UNSUPPORTED},
        {CHOOSE "\"SYMMETRIC\", [1, 8], i8, 7, -8)", SC_ERR_ARGUMENT},
        {CHOOSE "\"SYMMETRIC\", [1, 8], i8, -129)", SC_ERR_ARGUMENT},
        {CHOOSE "\"SYMMETRIC\", [1, 8], i8, preserve_zero=False)", SC_ERR_UNSUPPORTED},
        {CHOOSE "\"ASYMMETRIC\", [1, 8], i8, zero_point_domain=\"FLOAT\")", SC_ERR_UNSUPPORTED},
        {CHOOSE "\"ASYMMETRIC\", [1, 8], i8, zero_point_domain=\"INT\")", SC_ERR_MISMATCH},
        {"%y: i8[4, 8] = torchao::quantize_affine(%x, [1, 8], %x, %x, i8)", SC_ERR_SHAPE},
        {"%y: f32[4, 8] = torchao::dequantize_affine(%x, [1, 8], %x, %x, i8)", SC_ERR_DTYPE},
        {GROUP "3)", SC_ERR_SHAPE},
        {GROUP "0)", SC_ERR_SHAPE},
        {GROUP "-1)", SC_ERR_SHAPE},
        {GROUP "8589934592)", SC_ERR_LIMIT},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        check_status("method f {\n  input %%x: f32[4, 8]\n  %s\n  return %%y\n}\n", cases[i].line,
                     cases[i].status);
    }
}

// A size that is open is no number of its own, and least of all 0.
TEST(decompose_refuses_numbers_that_only_the_running_program_knows) {
    static const struct {
        const char *line;
        bool fails;
    } cases[] = {
        {"%y: f64[s0, 4] = aten::float_power.Tensor_Scalar(%x, 2)", false},
        {"%y: f64[s0, 4] = aten::float_power.Tensor_Scalar(%x, %n)", true},
        {"%y: f32[s0] = aten::std.correction(%x, [1], correction=2)", false},
        {"%y: f32[s0] = aten::std.correction(%x, [1], correction=%n)", true},
        {"%y: f32[s0] = aten::linalg_vector_norm(%x, 3, [1])", false},
        {"%y: f32[s0] = aten::linalg_vector_norm(%x, %n, [1])", true},
        {"g: (%y: f32[s0, 4]) = aten::gradient.scalarint(%x, spacing=3, dim=1)", false},
        {"g: (%y: f32[s0, 4]) = aten::gradient.scalarint(%x, spacing=%n, dim=1)", true},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        check_status("method f {\n  symbol s0 [3, 9] hint 3\n"
                     "  input %%x: f32[s0, 4]\n"
                     "  %%n: int(s0) = aten::sym_size.int(%%x, 0)\n"
                     "  %s\n  return %%y\n}\n",
                     cases[i].line, cases[i].fails ? SC_ERR_UNSUPPORTED : SC_OK);
    }
}

// Sizes that are open are asked for by name, and PyTorch's own expansions are named where it has
// one.
TEST(decompose_says_which_size_is_open) {
    static const char own[] = "run_decompositions()", static_size[] = "static";
    static const struct {
        const char *line, *message, *hint;
    } cases[] = {
        {"sp: (%y: f32[((s0 + 1)//2), 4, 3], %z: f32[s0 - ((s0 + 1)//2), 4, 3]) = "
         "aten::tensor_split.sections(%x, 2, 0)",
         "goes along a dimension of the open size s0", own},
        {"%y: f32[4, s0, 5, 2] = aten::affine_grid_generator(%t, [4, 3, %n, 5], False)",
         "makes something of the open size s0", static_size},
        {"%y: f32[4, 3, 7] = aten::upsample_linear1d.vec(%o, None, False, [1.3])",
         "cannot resize an open size by 1.3", "like 1.25"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        sc_program *program;
        setup_begin(&s);
        const char *text = test_format("method f {\n  symbol s0 [3, 9] hint 4\n"
                                       "  input %%x: f32[s0, 4, 3]\n  input %%t: f32[4, 2, 3]\n"
                                       "  input %%o: f32[4, 3, s0]\n"
                                       "  %%n: int(s0) = aten::sym_size.int(%%x, 0)\n"
                                       "  %s\n  return %%y\n}\n",
                                       cases[i].line);
        CHECK_STATUS(decompose_text(&s, text, &program), SC_ERR_UNSUPPORTED);
        CHECK(strstr(setup_message(&s), cases[i].message) != NULL);
        REQUIRE(s.ctx.diags.count > 0);
        const char *hint = sc_str_dup(&s.arena, sc_vec_last(&s.ctx.diags).hint);
        CHECK(strstr(hint, cases[i].hint) != NULL);
        setup_end(&s);
    }
}

// Elements of the storage outside of a view's tensor are gone once views are copies.
TEST(decompose_refuses_to_look_behind_a_view) {
    static const char *const views[] = {"aten::permute(%x, [1, 0])",
                                        "aten::slice.Tensor(%x, 0, 1)"};
    static const char *const specs[] = {"f32[8, 4]{1, 8}", "f32[3, 8]<8>"};
    for (size_t i = 0; i < SC_COUNT_OF(views); i++) {
        setup s;
        sc_program *program;
        setup_begin(&s);
        const char *text = test_format("method f {\n  input %%x: f32[4, 8]\n  %%v: %s = %s\n"
                                       "  %%y: f32[2]%s = aten::as_strided(%%v, [2], [1])\n"
                                       "  return %%y\n}\n",
                                       specs[i], views[i], i ? "<8>" : "");
        CHECK_STATUS(decompose_text(&s, text, &program), SC_ERR_UNSUPPORTED);
        CHECK(strstr(setup_message(&s), "sees more than the elements of its tensor") != NULL);
        setup_end(&s);
    }
}

// The running statistics go on from the call to the buffers.
TEST(decompose_takes_batch_norm_apart_as_the_composite) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    REQUIRE_OK(decompose_text(
        &s,
        "method f {\n"
        "  input %x: f32[2, 3]\n"
        "  input %m: f32[3] buffer \"m\" const f32[3] 12\n"
        "  input %v: f32[3] buffer \"v\" const f32[3] 12\n"
        "  bn: (%y: f32[2, 3], %a: f32[0], %b: f32[0]) = aten::_native_batch_norm_legit(%x, None, "
        "None, %m, %v, False, 0.1, 1e-05)\n"
        "  tr: (%z: f32[2, 3], %c: f32[3], %d: f32[3]) = aten::_native_batch_norm_legit(%x, None, "
        "None, %m, %v, True, 0.1, 1e-05)\n"
        "  return %y, %z\n}\n",
        &program));
    const sc_method *method = program->methods.data[0];
    const sc_node *first = method->graph->first;
    CHECK_EQ_STR(first->op->name, "aten::_native_batch_norm_legit_no_training");
    CHECK_EQ_STR(first->next->op->name, "aten::_native_batch_norm_legit.no_stats");
    REQUIRE(method->outputs.count == 4);
    CHECK_EQ_INT(method->outputs.data[0].kind, SC_OUTPUT_BUFFER_MUTATION);
    CHECK(sc_str_is(method->outputs.data[1].target, "v"));
    setup_end(&s);
}

// The exporter knows no maximum of a size that values decide; the sizes that it comes from have
// one.
TEST(decompose_bounds_the_sizes_that_values_decide) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    REQUIRE_OK(decompose_text(&s,
                              "method f {\n"
                              "  symbol s0 [2, 8] hint 4\n"
                              "  symbol u0 [0, inf]\n"
                              "  input %x: f32[s0, 3]\n"
                              "  %y: i64[u0, 2] = aten::nonzero(%x)\n"
                              "  return %y\n}\n",
                              &program));
    const sc_value *found = program->methods.data[0]->graph->first->outs[0];
    int64_t most = 0;
    CHECK(sc_spec_size_max(&found->spec, 0, &most));
    CHECK_EQ_INT(most, 24);
    setup_end(&s);
}

// The exporter counts the elements of the tensor, where the mask may be larger; a lower bound is
// the user's.
TEST(decompose_bounds_what_a_larger_mask_selects_by_the_mask) {
    static const int64_t bounds[][2] = {{3, 12}, {2, 2}, {14, 14}};
    for (uint32_t i = 0; i < SC_COUNT_OF(bounds); i++) {
        setup s;
        sc_program *program;
        int64_t most = 0;
        setup_begin(&s);
        REQUIRE_OK(decompose_text(&s,
                                  test_format("method f {\n"
                                              "  symbol u0 [0, %d]\n"
                                              "  input %%x: f32[3]\n"
                                              "  input %%mask: b8[4, 3]\n"
                                              "  %%y: f32[u0] = aten::masked_select(%%x, %%mask)\n"
                                              "  return %%y\n}\n",
                                              (int)bounds[i][0]),
                                  &program));
        const sc_value *found = program->methods.data[0]->graph->first->outs[0];
        CHECK(sc_spec_size_max(&found->spec, 0, &most));
        CHECK_EQ_INT(most, bounds[i][1]);
        setup_end(&s);
    }
}

// --- Records that differ from what we derive -----------------------------------------------------

static const sc_value *result_of(const sc_program *program, const char *op) {
    for (const sc_node *n = program->methods.data[0]->graph->first; n; n = n->next)
        if (strcmp(n->op->name, op) == 0) return n->outs[0];
    FAIL("there is no %s", op);
    return NULL;
}

// Strides cannot change a number: users get one warning, and the file's are the truth.
TEST(decompose_goes_on_with_the_recorded_strides) {
    static const char text[] = "method f {\n"
                               "  input %x: f32[2, 6, 4]\n"
                               "  %y: f32[2, 6, 4]{24, 1, 6} = aten::silu(%x)\n"
                               "  %z: f32[2, 6, 4] = aten::exp(%y)\n"
                               "  %v: f32[2, 24]{24, 1} = aten::view(%y, [2, 24])\n"
                               "  return %z, %v\n}\n";
    for (int strict = 0; strict < 2; strict++) {
        setup s;
        sc_program *program;
        setup_begin(&s);
        s.ctx.strict = strict != 0;
        sc_status status = decompose_text(&s, text, &program);
        CHECK_EQ_INT(status, strict ? SC_ERR_MISMATCH : SC_OK);
        CHECK_EQ_INT(s.ctx.diags.count, 1);
        CHECK(strstr(setup_message(&s), "'y' is f32[2, 6, 4]{24, 1, 6} in the file") != NULL);
        CHECK_EQ_INT(sc_vec_last(&s.ctx.diags).severity, strict ? SC_ERROR : SC_NOTE);
        if (status == SC_OK) {
            const sc_value *y = result_of(program, "aten::mul.Tensor");
            const sc_value *copy = result_of(program, "aten::clone");  // a view of y is not a copy
            CHECK(y && sc_dim_is(y->spec.strides[1], 1));
            CHECK(copy && copy->node->args[0].value == y);
            CHECK_OK(sc_verify(&s.ctx, program));
        }
        setup_end(&s);
    }
}

// An input keeps the strides that it is given with, whatever is recorded of what returns it.
TEST(decompose_does_not_move_inputs) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    s.ctx.strict = false;
    REQUIRE_OK(decompose_text(&s,
                              "method f {\n"
                              "  input %x: f32[2, 6]\n"
                              "  %y: f32[2, 6]{1, 2} = aten::dropout(%x, 0.5, False)\n"
                              "  return %y\n}\n",
                              &program));
    const sc_graph *graph = program->methods.data[0]->graph;
    CHECK(sc_spec_is_contiguous(graph->method->exprs, &graph->inputs.data[0]->spec));
    setup_end(&s);
}

// If two symbolic forms cannot be told apart, the recorded one goes on; other sizes are errors.
TEST(decompose_goes_on_with_recorded_sizes_that_depend_on_data) {
    static const struct {
        const char *size;
        bool strict;
        sc_status status;
    } cases[] = {
        {"4*u0", false, SC_OK},
        {"Min(4*u0, 9)", true, SC_OK},
        {"4*u0", true, SC_ERR_MISMATCH},
        {"10", false, SC_ERR_MISMATCH},
        {"4*u0 + 40", false, SC_ERR_MISMATCH},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        sc_program *program;
        setup_begin(&s);
        s.ctx.strict = cases[i].strict;
        const char *text = test_format("method f {\n  symbol u0 [0, 4]\n"
                                       "  input %%x: f32[9]\n  input %%n: i64[]\n"
                                       "  %%i: int(u0) = aten::item(%%n)\n"
                                       "  %%e: int(4*u0) = sym::mul(%%i, 4)\n"
                                       "  %%y: f32[%s] = aten::slice.Tensor(%%x, 0, 0, %%e)\n"
                                       "  return %%y\n}\n",
                                       cases[i].size);
        sc_status status = decompose_text(&s, text, &program);
        if (status != cases[i].status) FAIL("%s: %s", sc_status_slug(status), cases[i].size);
        if (status == SC_OK) {
            const sc_value *y = result_of(program, "aten::slice.Tensor");
            sc_sb size;
            sc_sb_init(&size, &s.arena);
            if (y) sc_dim_print(&size, y->spec.sizes[0]);
            CHECK_EQ_STR(sc_sb_terminate(&size), cases[i].size);
        }
        setup_end(&s);
    }
}

// --- State ---------------------------------------------------------------------------------------

// PyTorch lifts tensors that are no buffers out of the code, and does not decompose what writes
// them.
TEST(decompose_makes_state_of_constants_that_are_written_to) {
    setup s;
    sc_program *program;
    setup_begin(&s);
    REQUIRE_OK(decompose_text(&s,
                              "method f {\n"
                              "  input %x: f32[3]\n"
                              "  input %k: f32[3] constant_tensor \"lifted\" const f32[3] 12\n"
                              "  input %c: f32[3] constant_tensor \"read\" const f32[3] 12\n"
                              "  %y: f32[3] = aten::add_.Tensor(%k, %x)\n"
                              "  %z: f32[3] = aten::mul.Tensor(%y, %c)\n"
                              "  return %z\n}\n",
                              &program));
    const sc_method *method = program->methods.data[0];
    CHECK_EQ_INT(method->inputs.data[1].kind, SC_INPUT_BUFFER);
    CHECK_EQ_INT(method->inputs.data[2].kind, SC_INPUT_CONSTANT_TENSOR);
    REQUIRE(method->outputs.count == 2);
    CHECK_EQ_INT(method->outputs.data[0].kind, SC_OUTPUT_BUFFER_MUTATION);
    CHECK(sc_str_is(method->outputs.data[0].target, "lifted"));
    CHECK_OK(sc_verify(&s.ctx, program));
    setup_end(&s);
}
