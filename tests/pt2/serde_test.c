// Programs as records hold them: what is written is read as the same program, with its names, its
// metadata and its weights; what the format cannot hold is refused; nonsense is an error.
#include "api/compiling.h"
#include "pt2/serde.h"
#include "setup.h"

static const sc_print_options all = {.meta = true, .signature = true};

static sc_str text_of(sc_arena *arena, const sc_program *program) {
    sc_sb sb;
    sc_sb_init(&sb, arena);
    sc_program_print(&sb, program, all);
    return sc_sb_str(&sb);
}

// Line by line, up to the first that differs.
static void check_lines(sc_arena *arena, sc_str a, sc_str b) {
    bool same = true;
    while (same && (a.size || b.size)) {
        const ptrdiff_t x = sc_str_find(a, '\n'), y = sc_str_find(b, '\n');
        const size_t i = x < 0 ? a.size : (size_t)x + 1, k = y < 0 ? b.size : (size_t)y + 1;
        same = CHECK_EQ_STR(sc_str_dup(arena, sc_str_slice(a, 0, i)),
                            sc_str_dup(arena, sc_str_slice(b, 0, k)));
        a = sc_str_slice(a, i, a.size);
        b = sc_str_slice(b, k, b.size);
    }
}

// Drops the facts that the format has no place for: versions, names of arguments, and that a
// constant was made from a number.
static void forget(sc_program *program, bool is_edge) {
    for (uint32_t m = 0; m < program->methods.count; m++) {
        sc_method *method = program->methods.data[m];
        method->torch_version = SC_STR("");
        method->schema_major = method->schema_minor = 0;
        method->arg_names = SC_STR("");
        if (is_edge) method->decomposed = false;
        for (uint32_t i = 0; i < method->inputs.count; i++)
            if (method->inputs.data[i].constant) {
                sc_constant *constant = method->inputs.data[i].constant;
                constant->lifted_scalar = constant->persistent = false;
                if (method->inputs.data[i].kind == SC_INPUT_BUFFER)
                    constant->spec.requires_grad = false;  // where it is written
            }
    }
}

typedef SC_VEC(sc_graph *) graphs;

static sc_status collect(sc_ctx *ctx, sc_graph *graph, void *user) {
    sc_vec_push(ctx->arena, (graphs *)user, graph);
    return SC_OK;
}

// Words of Python are the names that may change; what was read gets the old ones back.
static void give_back(const sc_name *old_name, const sc_name **name) {
    const size_t size = old_name->size;
    if (old_name == *name) return;
    CHECK((*name)->size > size && memcmp((*name)->text, old_name->text, size) == 0 &&
          strcmp((*name)->text + size, "_1") >= 0);
    CHECK(strstr(" max min pow round slice sum all any ", old_name->text));
    *name = old_name;
}

static void match_names(sc_ctx *ctx, sc_method *method, sc_method *read) {
    graphs a = {0}, b = {0};
    CHECK_OK(sc_graphs_visit(ctx, method->graph, collect, &a));
    CHECK_OK(sc_graphs_visit(ctx, read->graph, collect, &b));
    REQUIRE(a.count == b.count);
    for (uint32_t g = 0; g < a.count; g++) {
        sc_node *y = b.data[g]->first;
        for (const sc_node *x = a.data[g]->first; x && y; x = x->next, y = y->next) {
            give_back(x->name, &y->name);
            for (uint32_t i = 0; i < x->out_count && i < y->out_count; i++)
                give_back(x->outs[i]->name, &y->outs[i]->name);
        }
    }
}

// Every method of `program`, written and read.
static sc_program *again(sc_ctx *ctx, sc_program *program, sc_serde_options options,
                         sc_serde_info *info) {
    sc_program *read = sc_program_new(ctx);
    for (uint32_t m = 0; m < program->methods.count; m++) {
        sc_serde_files files;
        const sc_method *method = program->methods.data[m];
        if (!CHECK_OK(sc_serde_write(ctx, method, &options, &files)) ||
            !CHECK_OK(sc_serde_read(ctx, &files, sc_name_str(method->name), read, info)))
            return NULL;
    }
    return CHECK_OK(sc_verify(ctx, read)) ? read : NULL;
}

static void check_weights(sc_ctx *ctx, const sc_method *a, const sc_method *b) {
    for (uint32_t i = 0; i < a->inputs.count; i++) {
        bool same;
        if (!a->inputs.data[i].constant) continue;
        CHECK_OK(sc_extent_equal(ctx, a->inputs.data[i].constant->data,
                                 b->inputs.data[i].constant->data, &same));
        CHECK(same);
    }
}

static void check_same(sc_job *job, sc_program *program, sc_serde_options options) {
    sc_ctx *ctx = &job->ctx;
    sc_serde_info info = {0};
    const bool is_edge = options.dialect == SC_SERDE_EDGE;
    sc_program *read = again(ctx, program, options, &info);
    if (!read) {
        FAIL("%s", ctx->diags.count ? sc_vec_last(&ctx->diags).message.data : "");
        return;
    }
    CHECK(info.is_edge == is_edge && info.has_weights);
    CHECK(!is_edge || info.graph_id == options.graph_id);
    forget(program, is_edge);
    forget(read, is_edge);
    for (uint32_t m = 0; m < program->methods.count; m++)
        match_names(ctx, program->methods.data[m], read->methods.data[m]);
    check_lines(ctx->arena, text_of(ctx->arena, read), text_of(ctx->arena, program));
    for (uint32_t m = 0; m < program->methods.count; m++)
        check_weights(ctx, program->methods.data[m], read->methods.data[m]);
}

static sc_job *open_model(const char *file) {
    size_t bytes;
    sc_job *job = sc_job_open(NULL);
    const char *data = test_read(file, &bytes);
    sc_source *source = sc_source_from_memory(&job->arena, data, bytes);
    CHECK_OK(sc_compile_open(job, source, SC_STR(""), SC_STR("")));
    return job;
}

static sc_program *program_of(sc_job *job, uint32_t number) {
    sc_version *version;
    CHECK_OK(sc_job_version(job, number, &version));
    return version->program;
}

static void check_kinds(const char *file) {
    uint32_t edge = 0;
    const sc_serde_options aten = {.dialect = SC_SERDE_ATEN};
    sc_serde_options options = {.dialect = SC_SERDE_EDGE, .graph_id = 77};
    sc_job *job = open_model(file);
    check_same(job, program_of(job, 0), aten);
    CHECK_OK(sc_compile_to_edge(job, 0, SC_STR(""), &edge));
    options.source = program_of(job, 0)->methods.data[0];
    check_same(job, program_of(job, edge), options);
    sc_job_close(job);
}

TEST_CASES(programs_are_read_as_they_were_written) {
    size_t count;
    const char **files = test_list("models", ".pt2", &count);
    CHECK(count >= 40);
    for (size_t i = 0; i < count; i++)
        if (test_case("%s", files[i])) check_kinds(files[i]);
}

// --- Delegates -----------------------------------------------------------------------------------

static void check_cords(sc_ctx *ctx, const sc_cord *a, const sc_cord *b) {
    const uint8_t *x, *y;
    REQUIRE_OK(sc_cord_flatten(ctx, a, ctx->arena, 1 << 24, &x));
    REQUIRE_OK(sc_cord_flatten(ctx, b, ctx->arena, 1 << 24, &y));
    if (CHECK_EQ_UINT(a->size, b->size)) CHECK_EQ_MEM(x, y, (size_t)a->size);
}

static void check_part(sc_ctx *ctx, const sc_part *a, const sc_part *b) {
    CHECK(sc_str_equal(a->backend, b->backend) && a->method->name == b->method->name);
    check_cords(ctx, a->processed, b->processed);
    REQUIRE(a->data.count == b->data.count && a->specs.count == b->specs.count);
    for (uint32_t i = 0; i < a->specs.count; i++)
        CHECK(sc_str_equal(a->specs.data[i].key, b->specs.data[i].key) &&
              sc_str_equal(a->specs.data[i].value, b->specs.data[i].value));
    for (uint32_t i = 0; i < a->data.count; i++) {
        CHECK(sc_str_equal(a->data.data[i].key, b->data.data[i].key) &&
              a->data.data[i].align == b->data.data[i].align);
        const sc_spec *x = a->data.data[i].layout, *y = b->data.data[i].layout;
        CHECK(x == y || (x && y && sc_spec_equal(x, y)));
        check_cords(ctx, a->data.data[i].bytes, b->data.data[i].bytes);
    }
    CHECK(sc_graph_isomorphic(a->method->graph, b->method->graph, NULL));
    check_weights(ctx, a->method, b->method);
}

static uint32_t check_parts(sc_ctx *ctx, sc_method *method, sc_method *read) {
    uint32_t parts = 0;
    sc_node *y = read->graph->first;
    for (const sc_node *x = method->graph->first; x && y; x = x->next, y = y->next) {
        const sc_part *a = sc_node_part(x), *b = sc_node_part(y);
        if (!CHECK((a != NULL) == (b != NULL)) || !a) continue;
        check_part(ctx, a, b);
        CHECK_EQ_UINT(y->meta.debug_handle, x->meta.debug_handle);
        parts++;
    }
    return parts;
}

// Says of the first data of a part that it is a tensor.
static void lay_out(const sc_method *method) {
    static const int64_t sizes[] = {2, 3, 1}, order[] = {1, 0, 2};
    for (const sc_node *node = method->graph->first; node; node = node->next) {
        const sc_part *part = sc_node_part(node);
        if (!part || !part->data.count) continue;
        part->data.data[0].layout = sc_part_layout(part, SC_DTYPE_BF16, 3, sizes, order);
        return;
    }
    FAIL("no part has named data");
}

TEST(delegates_are_read_as_they_were_written) {
    uint32_t number = 0;
    const sc_serde_options edge = {.dialect = SC_SERDE_EDGE, .graph_id = 5};
    sc_job *job = open_model("models/cnn_dyn.pt2");
    REQUIRE_OK(sc_compile_to_edge_transform_and_lower(
        job, 0, SC_STR("[]"), SC_STR("{\"all\": [{\"backend\": \"XnnpackBackend\"}]}"), SC_STR(""),
        SC_STR(""), &number));
    sc_program *program = program_of(job, number);
    lay_out(program->methods.data[0]);
    sc_program *read = again(&job->ctx, program, edge, NULL);
    if (read)
        CHECK(check_parts(&job->ctx, program->methods.data[0], read->methods.data[0]) >= 1);
    else
        FAIL("%s", sc_vec_last(&job->ctx.diags).message.data);
    sc_job_close(job);
}

// The bytes of a delegate are text in a text, and each is as long as its weights.
TEST(strings_of_delegates_may_be_as_long_as_the_document) {
    uint32_t number = 0;
    const sc_serde_options edge = {.dialect = SC_SERDE_EDGE, .graph_id = 5};
    sc_job *job = open_model("models/cnn_dyn.pt2");
    REQUIRE_OK(sc_compile_to_edge_transform_and_lower(
        job, 0, SC_STR("[]"), SC_STR("{\"all\": [{\"backend\": \"XnnpackBackend\"}]}"), SC_STR(""),
        SC_STR(""), &number));
    job->ctx.limits.json_string_bytes_max = 64;
    sc_program *read = again(&job->ctx, program_of(job, number), edge, NULL);
    if (!read) FAIL("%s", sc_vec_last(&job->ctx.diags).message.data);
    CHECK_EQ_UINT(job->ctx.limits.json_string_bytes_max, 64);
    sc_job_close(job);
}

// --- Official files ------------------------------------------------------------------------------

// exir.serde's own archives.
TEST_CASES(official_archives_are_read) {
    size_t count;
    const char **files = test_list("data/serde", ".serde", &count);
    CHECK(count >= 2);
    for (size_t i = 0; i < count; i++) {
        if (!test_case("%s", files[i])) continue;
        sc_job *job = open_model(files[i]);
        CHECK_EQ_UINT(job->ctx.diags.count, 0);
        CHECK_OK(sc_verify(&job->ctx, program_of(job, 0)));
        const sc_str text = text_of(&job->arena, program_of(job, 0));
        CHECK_GOLDEN(test_format("%.*s.ir", (int)strlen(files[i]) - 6, files[i]), text.data,
                     text.size);
        sc_job_close(job);
    }
}

// --- Refusals while writing ----------------------------------------------------------------------

typedef struct refusal {
    const char *body;
    sc_status status;
    const char *message;
} refusal;

static const refusal refusals[] = {
    {"input %x: u32[2]\nreturn %x\n", SC_ERR_DTYPE, "tensors of uint32"},
    {"input %x: bool\nreturn %x\n", SC_ERR_UNSUPPORTED, "'x' is neither a tensor nor an integer"},
    {"input %x: f32[2]\n%y: float = aten::_local_scalar_dense(%x)\nreturn %x\n", SC_ERR_UNSUPPORTED,
     "a float that is computed at run time"},
    {"input %n: int\n%y: int = sym::neg(%n)\nreturn %y\n", SC_ERR_UNSUPPORTED_OP, "sym::neg"},
    {"input %x: f32[2]\nreturn %x, 1.5\n", SC_ERR_UNSUPPORTED, "a constant that is not an integer"},
    {"input %w: f32[2] parameter \"w\" const f32[2] 8\nreturn %w parameter_mutation \"w\"\n",
     SC_ERR_UNSUPPORTED, "parameters that the program writes"},
    {"input %x: f32[2]\n%y: f32[2] = mine::op([1, 2.5], %x)\nreturn %y\n", SC_ERR_UNSUPPORTED,
     "a list of values of different kinds"},
};

TEST(what_the_format_cannot_hold_is_refused) {
    const sc_serde_options edge = {.dialect = SC_SERDE_EDGE};
    for (size_t i = 0; i < SC_COUNT_OF(refusals); i++) {
        setup s;
        sc_program *program = NULL;
        sc_serde_files files;
        setup_begin(&s);
        char *text = test_format("method m {\n%s}\n", refusals[i].body);
        CHECK_OK(sc_ops_init());
        if (!CHECK_OK(sc_program_parse(&s.ctx, sc_str_from(text), &program)))
            FAIL("%s", setup_message(&s));
        if (program) {
            CHECK_STATUS(sc_serde_write(&s.ctx, program->methods.data[0], &edge, &files),
                         refusals[i].status);
            if (!strstr(setup_message(&s), refusals[i].message))
                FAIL("'%s' does not say '%s'", setup_message(&s), refusals[i].message);
            CHECK(sc_str_is(sc_vec_last(&s.ctx.diags).where.method, "m"));
        }
        setup_end(&s);
    }
}

// Without weights there is something to look at, nothing to run, and nothing to write in full.
TEST(light_programs_have_no_weights) {
    sc_serde_options options = {.dialect = SC_SERDE_ATEN, .light = true};
    sc_serde_files files;
    sc_serde_info info;
    sc_job *job = open_model("models/mlp.pt2");
    sc_ctx *ctx = &job->ctx;
    sc_program *read = sc_program_new(ctx);
    REQUIRE_OK(sc_serde_write(ctx, program_of(job, 0)->methods.data[0], &options, &files));
    CHECK(files.program.size > 1000 && files.state_dict.size == 0 && files.constants.size == 0 &&
          files.example_inputs.size == 0);
    REQUIRE_OK(sc_serde_read(ctx, &files, SC_STR("forward"), read, &info));
    CHECK_OK(sc_verify(ctx, read));
    CHECK(!info.has_weights && !info.is_edge && info.graph_id == 0);
    uint8_t byte;
    const sc_constant *weight = read->methods.data[0]->inputs.data[0].constant;
    CHECK_STATUS(sc_extent_read(ctx, weight->data, 0, &byte, 1), SC_ERR_TRUNCATED);
    CHECK_OK(sc_serde_write(ctx, read->methods.data[0], &options, &files));
    options.light = false;
    CHECK_STATUS(sc_serde_write(ctx, read->methods.data[0], &options, &files), SC_ERR_UNSUPPORTED);
    sc_job_close(job);
}

// --- Nonsense ------------------------------------------------------------------------------------

// A call of a delegate that negates; what a case replaces in it stands once.
static const char valid[] =
    "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": \"x\"}}], "
    "\"outputs\": [{\"as_tensor\": {\"name\": \"y\"}}], \"nodes\": [{\"name\": \"call\", "
    "\"target\": \"torch.ops.higher_order.executorch_call_delegate\", \"inputs\": [{\"name\": "
    "\"lowered_module_0\", \"arg\": {\"as_string\": \"{\\\"backend_id\\\": \\\"B\\\", "
    "\\\"processed_bytes\\\": \\\"YWI=\\\", \\\"compile_specs\\\": [], \\\"original_module\\\": "
    "{\\\"graph_module\\\": {\\\"graph\\\": {\\\"inputs\\\": [{\\\"as_tensor\\\": {\\\"name\\\": "
    "\\\"a\\\"}}], \\\"outputs\\\": [{\\\"as_tensor\\\": {\\\"name\\\": \\\"a\\\"}}], "
    "\\\"nodes\\\": [], \\\"tensor_values\\\": {\\\"a\\\": {\\\"dtype\\\": 14, \\\"sizes\\\": "
    "[{\\\"as_int\\\": 2}], \\\"strides\\\": [{\\\"as_int\\\": 1}]}}}, \\\"signature\\\": "
    "{\\\"input_specs\\\": [{\\\"user_input\\\": {\\\"arg\\\": {\\\"as_tensor\\\": {\\\"name\\\": "
    "\\\"a\\\"}}}}], \\\"output_specs\\\": [{\\\"user_output\\\": {\\\"arg\\\": "
    "{\\\"as_tensor\\\": "
    "{\\\"name\\\": \\\"a\\\"}}}}]}}, \\\"schema_version\\\": {\\\"major\\\": 5, \\\"minor\\\": "
    "1}}, \\\"original_state_dict\\\": \\\"\\\", \\\"original_constants\\\": \\\"\\\"}\"}}, "
    "{\"name\": \"delegate_arg_0\", \"arg\": {\"as_tensor\": {\"name\": \"x\"}}}], \"outputs\": "
    "[{\"as_tensors\": [{\"name\": \"y\"}]}], \"metadata\": {\"debug_handle\": \"3\", "
    "\"from_node\": \"[{\\\"name\\\": \\\"n\\\", \\\"graph_id\\\": 9, \\\"from_node\\\": "
    "[]}]\"}}], "
    "\"tensor_values\": {\"x\": {\"dtype\": 14, \"sizes\": [{\"as_int\": 2}], \"strides\": "
    "[{\"as_int\": 1}]}, \"y\": {\"dtype\": 14, \"sizes\": [{\"as_int\": 2}], \"strides\": "
    "[{\"as_int\": 1}]}}}, \"signature\": {\"input_specs\": [{\"user_input\": {\"arg\": "
    "{\"as_tensor\": {\"name\": \"x\"}}}}], \"output_specs\": [{\"user_output\": {\"arg\": "
    "{\"as_tensor\": {\"name\": \"y\"}}}}]}}, \"schema_version\": {\"major\": 5, \"minor\": 99}, "
    "\"range_constraints\": {\"s0\": {\"min_val\": 2, \"max_val\": Infinity}}, \"verifiers\": "
    "[\"EDGE\"]}";

static sc_status read_text(setup *s, const char *text, sc_program **program, sc_serde_info *info) {
    sc_source *source = sc_source_from_memory(&s->arena, text, strlen(text));
    const sc_serde_files files = {.program = sc_extent_whole(source)};
    *program = sc_program_new(&s->ctx);
    return sc_serde_read(&s->ctx, &files, SC_STR("forward"), *program, info);
}

TEST(the_valid_program_is_read) {
    setup s;
    sc_program *program;
    sc_serde_info info;
    setup_begin(&s);
    if (CHECK_OK(read_text(&s, valid, &program, &info))) {
        const sc_node *call = program->methods.data[0]->graph->first;
        CHECK_OK(sc_verify(&s.ctx, program));
        CHECK(info.is_edge && info.graph_id == 9 && call->meta.debug_handle == 3);
        CHECK_EQ_STR(call->meta.origin->text, "n");
        CHECK(sc_node_part(call) && sc_node_part(call)->processed->size == 2);
        CHECK_EQ_INT(call->outs[0]->spec.dtype, SC_DTYPE_U16);
        CHECK_EQ_UINT(s.ctx.diags.count, 0);
    } else {
        FAIL("%s", setup_message(&s));
    }
    setup_end(&s);
}

typedef struct nonsense {
    const char *old_text, *new_text;
    sc_status status;
    const char *message;
} nonsense;

static const nonsense cases_of_nonsense[] = {
    {"\"major\": 5, \"minor\": 99", "\"major\": 4, \"minor\": 99", SC_ERR_VERSION, "version 4.99"},
    {"\"debug_handle\": \"3\"", "\"debug_handle\": \"x\"", SC_ERR_FORMAT, "not a number"},
    {"\"debug_handle\": \"3\"", "\"debug_handle\": \"4294967296\"", SC_ERR_FORMAT, "not a number"},
    {"\"[{\\\"name\\\": \\\"n\\\"", "\"[{", SC_ERR_FORMAT, ""},
    {"YWI=", "YWI", SC_ERR_FORMAT, "not base64"},
    {"YWI=", "YW*=", SC_ERR_FORMAT, "not base64"},
    {"\\\"compile_specs\\\": [], ", "", SC_ERR_FORMAT, "compile specs"},
    {"\"as_string\"", "\"as_int\"", SC_ERR_FORMAT, "not described"},
    {"\"as_tensors\": [{\"name\": \"y\"}]", "\"as_tensors\": []", SC_ERR_CORRUPT, ""},
    {"\\\"original_constants\\\": \\\"\\\"", "\\\"original_constants\\\": \\\"AAAA\\\"",
     SC_ERR_TRUNCATED, ""},
    {"\\\"backend_id\\\": \\\"B\\\"", "\\\"backend_id\\\": \\\"\\\"", SC_ERR_CORRUPT, "no backend"},
    {"\"dtype\": 14, \"sizes\": [{\"as_int\": 2}], \"strides\": [{\"as_int\": 1}]}, \"y\"",
     "\"dtype\": 14, \"sizes\": [{\"as_int\": 3}], \"strides\": [{\"as_int\": 1}]}, \"y\"",
     SC_ERR_CORRUPT, "does not give its part"},
    {"\"dtype\": 14, \"sizes\": [{\"as_int\": 2}], \"strides\": [{\"as_int\": 1}]}, \"y\"",
     "\"dtype\": 28, \"sizes\": [{\"as_int\": 2}], \"strides\": [{\"as_int\": 1}]}, \"y\"",
     SC_ERR_DTYPE, "dtype 28"},
};

// Calls of delegates are in records only. Elsewhere they are operators that nobody knows, and
// written to a record they would be taken for what they are not.
TEST(calls_that_were_read_without_a_part_are_not_written) {
    const sc_serde_options options = {.dialect = SC_SERDE_EDGE, .light = true};
    setup s;
    sc_program *program;
    sc_serde_files files;
    sc_serde_info info;
    setup_begin(&s);
    char *text = test_format("%s", valid);
    strstr(text, "\"major\": 5, \"minor\": 99")[9] = '6';
    // uint16 has another number there.
    for (char *at = text; (at = strstr(at, "\"dtype\": 14"));) memcpy(at + 9, " 7", 2);
    if (CHECK_OK(read_text(&s, text, &program, &info))) {
        CHECK(!sc_node_part(program->methods.data[0]->graph->first));
        CHECK_STATUS(sc_serde_write(&s.ctx, program->methods.data[0], &options, &files),
                     SC_ERR_UNSUPPORTED_OP);
        if (!strstr(setup_message(&s), "could not be imported"))
            FAIL("it said: %s", setup_message(&s));
    } else {
        FAIL("%s", setup_message(&s));
    }
    setup_end(&s);
}

// Whatever gives two results gives two, or it is not what it is called.
TEST(calls_with_too_few_results_are_not_of_their_operator) {
    static const char TEXT[] =
        "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": \"x\"}}], "
        "\"outputs\": [{\"as_tensor\": {\"name\": \"y\"}}], \"nodes\": [{\"name\": \"y\", "
        "\"target\": \"torch.ops.aten.max.dim\", \"inputs\": [{\"name\": \"self\", \"arg\": "
        "{\"as_tensor\": {\"name\": \"x\"}}}, {\"name\": \"dim\", \"arg\": {\"as_int\": 0}}], "
        "\"outputs\": [{\"as_tensor\": {\"name\": \"y\"}}], \"metadata\": {}}], "
        "\"tensor_values\": {\"x\": {\"dtype\": 7, \"sizes\": [{\"as_int\": 2}], \"strides\": "
        "[{\"as_int\": 1}]}, \"y\": {\"dtype\": 7, \"sizes\": [], \"strides\": []}}}, "
        "\"signature\": {\"input_specs\": [{\"user_input\": {\"arg\": {\"as_tensor\": "
        "{\"name\": \"x\"}}}}], \"output_specs\": [{\"user_output\": {\"arg\": "
        "{\"as_tensor\": {\"name\": \"y\"}}}}]}}, \"schema_version\": {\"major\": 5, "
        "\"minor\": 4}, \"range_constraints\": {}, \"verifiers\": [\"EDGE\"]}";
    setup s;
    sc_program *program;
    sc_serde_info info;
    setup_begin(&s);
    if (CHECK_OK(read_text(&s, TEXT, &program, &info))) {
        const sc_op *op = program->methods.data[0]->graph->first->op;
        CHECK_OK(sc_verify(&s.ctx, program));
        REQUIRE(sc_op_has(op, SC_REFUSED));
        CHECK_EQ_STR(((const sc_refused_op *)op)->what,
                     "cannot be imported: aten::max.dim has 1 results instead of 2");
    } else {
        FAIL("%s", setup_message(&s));
    }
    setup_end(&s);
}

TEST(nonsense_is_an_error) {
    for (size_t i = 0; i < SC_COUNT_OF(cases_of_nonsense); i++) {
        setup s;
        sc_program *program;
        const nonsense *n = &cases_of_nonsense[i];
        const char *at = strstr(valid, n->old_text);
        setup_begin(&s);
        REQUIRE(at);
        char *text = test_format("%.*s%s%s", (int)(at - valid), valid, n->new_text,
                                 at + strlen(n->old_text));
        CHECK_STATUS(read_text(&s, text, &program, NULL), n->status);
        if (!strstr(setup_message(&s), n->message))
            FAIL("%zu: '%s' does not say '%s'", i, setup_message(&s), n->message);
        setup_end(&s);
    }
}
