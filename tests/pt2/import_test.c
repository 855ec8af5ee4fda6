// Importing .pt2 files: small programs of PyTorch against their text, one valid document with one
// thing wrong at a time, and containers that are something else.
#include "format/zip.h"
#include "passes/passes.h"
#include "pt2/import.h"
#include "setup.h"

static sc_status import_file(setup *s, sc_extent file, sc_import_options options,
                             sc_program **out) {
    *out = sc_program_new(&s->ctx);
    return sc_import_pt2(&s->ctx, file.source, &options, *out);
}

// --- Programs of PyTorch -------------------------------------------------------------------------

static void print_bytes(setup *s, sc_sb *sb, const sc_constant *constant) {
    const uint8_t *bytes;
    REQUIRE_OK(sc_extent_load(&s->ctx, &s->arena, constant->data, 1 << 16, &bytes));
    sc_sb_addf(sb, "# " SC_STR_FMT ":", SC_STR_ARG(constant->name));
    for (uint64_t i = 0; i < constant->data.size; i++)
        sc_sb_addf(sb, "%s%02x", i % 4 ? "" : " ", bytes[i]);
    sc_sb_add_char(sb, '\n');
}

// The text of a program, and below it the bytes of its constants as they will be emitted.
static sc_str program_text(setup *s, const sc_program *program) {
    sc_sb sb;
    sc_sb_init(&sb, &s->arena);
    sc_program_print(&sb, program, (sc_print_options){.meta = true, .signature = true});
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++)
            if (method->inputs.data[i].constant)
                print_bytes(s, &sb, method->inputs.data[i].constant);
    }
    return sc_sb_str(&sb);
}

TEST_CASES(import_matches_text) {
    size_t count;
    const char **files = test_list("import", ".pt2", &count);
    CHECK(count >= 10);
    for (size_t i = 0; i < count; i++) {
        if (!test_case("%s", files[i])) continue;
        setup s;
        sc_program *program;
        setup_begin(&s);
        if (CHECK_OK(import_file(&s, setup_file(&s, files[i]), (sc_import_options){0}, &program)) &&
            CHECK_OK(sc_verify(&s.ctx, program))) {
            sc_str text = program_text(&s, program);
            const char *golden = test_format("%.*s.ir", (int)strlen(files[i]) - 4, files[i]);
            CHECK_GOLDEN(golden, text.data, text.size);
        }
        for (uint32_t d = 0; d < s.ctx.diags.count; d++)
            FAIL("%s", sc_str_dup(&s.arena, s.ctx.diags.data[d].message));
        setup_end(&s);
    }
}

TEST(import_names_methods) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    sc_extent package = setup_file(&s, "import/package.pt2");
    sc_extent custom = setup_file(&s, "import/custom.pt2");
    REQUIRE_OK(import_file(&s, package, (sc_import_options){0}, &program));
    CHECK(sc_program_method(program, SC_STR("text/decode")) != NULL);
    // A second file adds to the program; a name that is taken is refused.
    sc_import_options options = {.method = SC_STR("third")};
    CHECK_OK(sc_import_pt2(&s.ctx, custom.source, &options, program));
    CHECK(program->methods.count == 3 && sc_program_method(program, SC_STR("third")));
    CHECK_STATUS(sc_import_pt2(&s.ctx, custom.source, &options, program), SC_ERR_ARGUMENT);

    options.model = SC_STR("encode");
    REQUIRE_OK(import_file(&s, package, options, &program));
    CHECK(program->methods.count == 1 && sc_program_method(program, SC_STR("third")));
    options.model = SC_STR("nope");
    CHECK_STATUS(import_file(&s, package, options, &program), SC_ERR_NOT_FOUND);
    options.model = SC_STR("");
    CHECK_STATUS(import_file(&s, package, options, &program), SC_ERR_OPTION);
    setup_end(&s);
}

// --- One document --------------------------------------------------------------------------------

#define META(sizes, strides)                                                        \
    "{\"dtype\": 7, \"sizes\": [" sizes "], \"requires_grad\": false, \"device\": " \
    "{\"type\": \"cpu\", \"index\": null}, \"strides\": [" strides                  \
    "], \"storage_offset\": {\"as_int\": 0}, \"layout\": 7}"
#define INT(n) "{\"as_int\": " n "}"

static const char model_text[] =
    "{\"graph_module\": {\"graph\": {\"inputs\": [{\"as_tensor\": {\"name\": \"p_w\"}}, "
    "{\"as_tensor\": {\"name\": \"x\"}}], \"outputs\": [{\"as_tensor\": {\"name\": \"mm\"}}], "
    "\"nodes\": [{\"target\": \"torch.ops.aten.mm.default\", \"inputs\": [{\"name\": \"self\", "
    "\"arg\": {\"as_tensor\": {\"name\": \"x\"}}, \"kind\": 1}, {\"name\": \"mat2\", \"arg\": "
    "{\"as_tensor\": {\"name\": \"p_w\"}}, \"kind\": 1}], \"outputs\": [{\"as_tensor\": "
    "{\"name\": \"mm\"}}], \"metadata\": {}, \"name\": \"mm\"}], \"tensor_values\": "
    "{\"p_w\": " META(INT("3") ", " INT("2"), INT("2") ", " INT("1")) ", \"x\": " META(
        "{\"as_expr\": {\"expr_str\": \"Symbol('s0', positive=True, integer=True)\", \"hint\": "
        "{\"as_int\": 5}}}, " INT("3"),
        INT("3") ", " INT(
            "1")) ", \"mm\": " META("{\"as_expr\": {\"expr_str\": \"Symbol('s0', positive=True, "
                                    "integer=True)\", \"hint\": "
                                    "null}}, " INT("2"),
                                    INT("2") ", " INT(
                                        "1")) "}, \"sym_int_values\": {}}, \"signature\": "
                                              "{\"input_specs\": [{\"parameter\": {\"arg\": "
                                              "{\"name\": \"p_w\"}, \"parameter_name\": \"w\"}}, "
                                              "{\"user_input\": {\"arg\": {\"as_tensor\": "
                                              "{\"name\": \"x\"}}}}], \"output_specs\": "
                                              "[{\"user_output\": {\"arg\": {\"as_tensor\": "
                                              "{\"name\": \"mm\"}}}}]}}, \"range_constraints\": "
                                              "{\"s0\": {\"min_val\": 2, \"max_val\": 9}}, "
                                              "\"schema_version\": {\"major\": 8, \"minor\": 20}}";

static const char config_text[] =
    "{\"config\": {\"w\": {\"path_name\": \"weight_0\", \"is_param\": true, \"use_pickle\": false, "
    "\"tensor_meta\": " META(INT("3") ", " INT("2"), INT("2") ", " INT("1")) "}}}";

// `text` with the first `from` replaced; the test is wrong when there is none.
static sc_str replace(setup *s, const char *text, const char *from, const char *to) {
    const char *at = from[0] ? strstr(text, from) : NULL;
    if (from[0] && !CHECK(at != NULL)) FAIL("no '%s' to replace", from);
    if (!at) return sc_str_from(text);
    return sc_str_format(&s->arena, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static sc_extent zeros(setup *s, uint64_t bytes) {
    return sc_extent_whole(sc_source_zeros(&s->arena, bytes));
}

static void write_document(setup *s, sc_str model, sc_str config, sc_extent data, sc_cord *out) {
    sc_zip_writer writer;
    sc_cord_init(out, &s->arena);
    sc_zip_writer_init(&writer, out, 64);
    sc_ctx *ctx = &s->ctx;
    REQUIRE_OK(sc_zip_add_bytes(ctx, &writer, SC_STR("r/archive_format"), "pt2", 3));
    REQUIRE_OK(
        sc_zip_add_bytes(ctx, &writer, SC_STR("r/models/model.json"), model.data, model.size));
    REQUIRE_OK(sc_zip_add_bytes(ctx, &writer, SC_STR("r/data/weights/model_weights_config.json"),
                                config.data, config.size));
    REQUIRE_OK(sc_zip_add_extent(ctx, &writer, SC_STR("r/data/weights/weight_0"), data));
    sc_zip_finish(&writer);
}

static sc_status import_document(setup *s, sc_str model, sc_str config, sc_extent data,
                                 sc_program **out) {
    sc_cord cord;
    write_document(s, model, config, data, &cord);
    sc_extent archive = sc_extent_whole(sc_source_from_cord(&s->arena, &cord));
    return import_file(s, archive, (sc_import_options){0}, out);
}

TEST(import_reads_the_smallest_document) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    REQUIRE_OK(import_document(&s, sc_str_from(model_text), sc_str_from(config_text), zeros(&s, 24),
                               &program));
    CHECK_OK(sc_verify(&s.ctx, program));
    CHECK_EQ_UINT(s.ctx.diags.count, 0);
    const sc_method *method = program->methods.data[0];
    sc_symbol *symbol = sc_dim_symbol(method->graph->inputs.data[1]->spec.sizes[0]);
    REQUIRE(symbol != NULL);
    CHECK(symbol->range.min == 2 && symbol->range.max == 9 && symbol->has_hint &&
          symbol->hint == 5);
    setup_end(&s);
}

// The symbol of the document when x has a size of that text, and the most that the file says.
static sc_symbol symbol_of(setup *s, const char *size, const char *most) {
    static const char symbol[] = "Symbol('s0', positive=True, integer=True)";
    sc_program *program;
    sc_str model = replace(s, model_text, "\"max_val\": 9", most);
    model = replace(s, sc_str_dup(&s->arena, model), symbol, size);
    if (!CHECK_OK(import_document(s, model, sc_str_from(config_text), zeros(s, 24), &program)))
        return (sc_symbol){0};
    return *sc_exprs_symbol(program->methods.data[0]->exprs, SC_STR("s0"));
}

TEST(import_reads_what_a_symbol_can_be) {
    setup s;
    setup_begin(&s);
    sc_symbol symbol = symbol_of(&s, "2*s0 - 1", "\"max_val\": null");
    CHECK(symbol.range.max == SC_DIM_INF && symbol.has_hint && symbol.hint == 3);
    symbol = symbol_of(&s, "2*s0", "\"max_val\": 9223372036854775806");
    CHECK(symbol.range.max == SC_DIM_INF && !symbol.has_hint);
    symbol = symbol_of(&s, "9223372036854775807 - s0", "\"max_val\": 9223372036854775805");
    CHECK(symbol.range.max == INT64_MAX - 2 && !symbol.has_hint);
    setup_end(&s);
}

typedef struct fault {
    const char *from, *to;
    sc_status status;
    const char *message;
} fault;

static const fault model_faults[] = {
    {"\"graph\": {", "\"graph\": {\"nodes\": [], ", SC_ERR_FORMAT,
     "graph has two fields \"nodes\""},
    {"\"major\": 8", "\"major\": 4", SC_ERR_VERSION,
     "the model has schema version 4.20, which is not supported"},
    {"{\"as_tensor\": {\"name\": \"x\"}}, \"kind\"", "{\"as_tensor\": {\"name\": \"y\"}}, \"kind\"",
     SC_ERR_CORRUPT, "'y' is used before it is defined"},
    {"{\"as_tensor\": {\"name\": \"x\"}}, \"kind\"",
     "{\"as_tensor\": {\"name\": \"mm\"}}, \"kind\"", SC_ERR_CORRUPT,
     "'mm' is used before it is defined"},
    {"{\"as_tensor\": {\"name\": \"x\"}}, \"kind\"", "{\"as_none\": true, \"as_int\": 1}, \"kind\"",
     SC_ERR_FORMAT, "argument is not an object with exactly one key"},
    {"{\"as_tensor\": {\"name\": \"x\"}}, \"kind\"", "{\"as_none\": true}, \"kind\"",
     SC_ERR_ARGUMENT, "argument 'self' of aten::mm has the wrong type"},
    {"{\"as_tensor\": {\"name\": \"x\"}}, \"kind\"", "{\"as_wonder\": true}, \"kind\"",
     SC_ERR_FORMAT, "argument 'as_wonder' is unknown or malformed"},
    {"\"name\": \"mat2\"", "\"name\": \"self\"", SC_ERR_CORRUPT, "argument 'self' is given twice"},
    {"\"name\": \"mat2\"", "\"name\": \"mat3\"", SC_ERR_ARGUMENT,
     "aten::mm has no argument 'mat3'"},
    {"\"outputs\": [{\"as_tensor\": {\"name\": \"mm\"}}], \"metadata\"",
     "\"outputs\": [{\"as_tensor\": {\"name\": \"x\"}}], \"metadata\"", SC_ERR_CORRUPT,
     "'x' is defined twice"},
    {"{\"as_tensor\": {\"name\": \"x\"}}]", "{\"as_tensor\": {\"name\": \"p_w\"}}]", SC_ERR_CORRUPT,
     "input 'p_w' is called 'x' in the signature"},
    {"\"p_w\": {\"dtype\": 7", "\"p_w\": {\"dtype\": 6", SC_ERR_CORRUPT,
     "'w' is stored with a different shape or dtype than the graph has"},
    {"\"x\": {\"dtype\": 7", "\"x\": {\"dtype\": 33", SC_ERR_DTYPE,
     "a tensor has dtype float8_e8m0fnu, which is not supported"},
    {"\"x\": {\"dtype\": 7", "\"z\": {\"dtype\": 7", SC_ERR_CORRUPT,
     "the input 'x' has no description"},
    {"\"x\": {\"dtype\": 7", "\"p_w\": {\"dtype\": 7", SC_ERR_CORRUPT,
     "the value 'p_w' is described twice"},
    {"[{\"as_int\": 3}, {\"as_int\": 2}]", "[{\"as_int\": -3}, {\"as_int\": 2}]", SC_ERR_CORRUPT,
     "a size is negative"},
    {"[{\"as_int\": 3}, {\"as_int\": 2}]", "[{\"as_int\": 3}]", SC_ERR_FORMAT,
     "malformed tensor description"},
    {"\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": -1}", SC_ERR_CORRUPT,
     "a storage offset is negative"},
    {"\"layout\": 7", "\"layout\": 1", SC_ERR_UNSUPPORTED, "a tensor is sparse"},
    {"\"parameter_name\": \"w\"", "\"parameter_name\": \"v\"", SC_ERR_CORRUPT,
     "the file has no data for 'v'"},
    {"{\"user_output\": {", "{\"buffer_mutation\": {\"buffer_name\": \"w\", ", SC_ERR_CORRUPT,
     "an output writes to 'w', which is not an input that it can write to"},
    {"\"output_specs\": [{", "\"output_specs\": [{\"token\": {}}, {", SC_ERR_CORRUPT,
     "the signature and the graph have different numbers of outputs"},
    {"\"max_val\": 9", "\"max_val\": 1", SC_ERR_CORRUPT, "the range of s0 is empty"},
    {"\"sym_int_values\": {}", "\"sym_int_values\": []", SC_ERR_FORMAT,
     "a value table is not a JSON object"},
};

static const fault config_faults[] = {
    {"\"weight_0\"", "\"weight_1\"", SC_ERR_CORRUPT,
     "the data of 'w' is missing: no entry 'data/weights/weight_1'"},
    {"{\"as_int\": 3}", "{\"as_int\": 3.5}", SC_ERR_FORMAT, "malformed tensor_meta of 'w'"},
    {"{\"as_int\": 3}", "{\"as_int\": 4611686018427387904}", SC_ERR_CORRUPT,
     "the size of 'w' overflows"},
    {"\"storage_offset\": {\"as_int\": 0}", "\"storage_offset\": {\"as_int\": 1}", SC_ERR_TRUNCATED,
     "'w' needs 28 bytes, but the file has 24"},
    {"\"strides\": [{\"as_int\": 2}", "\"strides\": [{\"as_int\": -2}", SC_ERR_FORMAT,
     "malformed tensor_meta of 'w'"},
    {"\"dtype\": 7", "\"dtype\": 0", SC_ERR_DTYPE, "'w' has dtype 0, which is not supported"},
    {"\"tensor_meta\": {", "\"x\": {", SC_ERR_UNSUPPORTED, "'w' is an object, not a plain tensor"},
    {META(INT("3") ", " INT("2"), INT("2") ", " INT("1")),
     META(INT("1099511627776") ", " INT("2"), INT("0") ", " INT("1")), SC_ERR_LIMIT,
     "'w' expands to more than 268435456 bytes"},
    {"\"config\"", "\"confit\"", SC_ERR_FORMAT,
     "r/data/weights/model_weights_config.json has no config"},
};

static void check_fault(const fault *f, bool in_config) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    sc_str model = in_config ? sc_str_from(model_text) : replace(&s, model_text, f->from, f->to);
    sc_str config = in_config ? replace(&s, config_text, f->from, f->to) : sc_str_from(config_text);
    CHECK_STATUS(import_document(&s, model, config, zeros(&s, 24), &program), f->status);
    CHECK_EQ_STR(setup_message(&s), f->message);
    CHECK(s.ctx.diags.count && sc_str_is(sc_vec_last(&s.ctx.diags).where.pass, "import"));
    setup_end(&s);
}

TEST_CASES(import_says_what_is_wrong) {
    for (size_t i = 0; i < SC_COUNT_OF(model_faults); i++)
        if (test_case("model %zu", i)) check_fault(&model_faults[i], false);
    for (size_t i = 0; i < SC_COUNT_OF(config_faults); i++)
        if (test_case("config %zu", i)) check_fault(&config_faults[i], true);
}

// Entries that are read whole are checked on the way; weights are not read for that.
TEST(import_warns_of_wrong_checksums) {
    static const struct {
        const char *from, *to, *message;
    } cases[] = {{"\"minor\": 20", "\"minor\": 19",
                  "the checksum of zip entry r/models/model.json is wrong"},
                 {"\"is_param\": true", "\"is_param\":true ",
                  "the checksum of zip entry r/data/weights/model_weights_config.json is wrong"},
                 {"weights!", "WEIGHTS!", NULL}};
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        setup_begin(&s);
        sc_cord cord;
        sc_program *program;
        const uint8_t *bytes;
        sc_source *data = sc_source_from_memory(&s.arena, "these are the weights!!!", 24);
        write_document(&s, sc_str_from(model_text), sc_str_from(config_text), sc_extent_whole(data),
                       &cord);
        REQUIRE_OK(sc_cord_flatten(&s.ctx, &cord, &s.arena, 1 << 20, &bytes));
        uint8_t *damaged = sc_arena_alloc(&s.arena, (size_t)cord.size);
        memcpy(damaged, bytes, (size_t)cord.size);
        size_t length = strlen(cases[i].from), at = 0;
        while (at + length < cord.size && memcmp(damaged + at, cases[i].from, length) != 0) at++;
        REQUIRE(at + length < cord.size);
        memcpy(damaged + at, cases[i].to, length);
        sc_source *archive = sc_source_from_memory(&s.arena, damaged, cord.size);
        CHECK_OK(import_file(&s, sc_extent_whole(archive), (sc_import_options){0}, &program));
        CHECK_EQ_UINT(s.ctx.error_count, 0);
        if (CHECK_EQ_UINT(s.ctx.diags.count, cases[i].message ? 1 : 0) && cases[i].message) {
            CHECK_EQ_INT(s.ctx.diags.data[0].severity, SC_WARNING);
            CHECK_EQ_STR(setup_message(&s), cases[i].message);
        }
        setup_end(&s);
    }
}

// Only what is read has to be inflated.
TEST(import_leaves_compressed_extra_files_alone) {
    static const char *const names[] = {"r/extra/notes", "r/data/sample_inputs/model.pt",
                                        "r/data/weights/more"};
    for (size_t i = 0; i < SC_COUNT_OF(names); i++) {
        setup s;
        setup_begin(&s);
        sc_cord document, cord;
        sc_zip zip;
        sc_program *program;
        write_document(&s, sc_str_from(model_text), sc_str_from(config_text), zeros(&s, 24),
                       &document);
        sc_extent archive = sc_extent_whole(sc_source_from_cord(&s.arena, &document));
        REQUIRE_OK(sc_zip_open(&s.ctx, &s.arena, archive, &zip));
        sc_zip_writer writer;
        sc_cord_init(&cord, &s.arena);
        sc_zip_writer_init(&writer, &cord, 64);
        for (uint32_t e = 0; e < zip.count; e++)
            REQUIRE_OK(
                sc_zip_add_extent(&s.ctx, &writer, zip.entries[e].name, zip.entries[e].extent));
        REQUIRE_OK(sc_zip_add_bytes(&s.ctx, &writer, sc_str_from(names[i]), "packed", 6));
        sc_zip_finish(&writer);
        const uint8_t *bytes;
        REQUIRE_OK(sc_cord_flatten(&s.ctx, &cord, &s.arena, 1 << 20, &bytes));
        uint8_t *packed = sc_arena_alloc(&s.arena, (size_t)cord.size);
        memcpy(packed, bytes, (size_t)cord.size);
        size_t length = strlen(names[i]);
        for (size_t at = 46; at + length < cord.size; at++) {
            if (memcmp(packed + at, names[i], length) != 0) continue;
            bool is_local = memcmp(packed + at - 30, "PK\3\4", 4) == 0;
            packed[is_local ? at - 30 + 8 : at - 46 + 10] = SC_ZIP_DEFLATED;
        }
        sc_source *source = sc_source_from_memory(&s.arena, packed, cord.size);
        bool is_needed = i == 2;
        CHECK_STATUS(import_file(&s, sc_extent_whole(source), (sc_import_options){0}, &program),
                     is_needed ? SC_ERR_COMPRESSED : SC_OK);
        REQUIRE_OK(sc_import_directory(&s.ctx, &s.arena, source, &zip));
        CHECK_EQ_UINT(zip.count, is_needed ? 5 : 4);
        CHECK(sc_zip_find(&zip, SC_STR("r/models/model.json")));
        CHECK_EQ_INT(sc_zip_is_compressed(&zip), is_needed);
        setup_end(&s);
    }
}

TEST(import_says_where) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    sc_str model =
        replace(&s, model_text, "\"metadata\": {}", "\"metadata\": {\"stack_trace\": \"line 7\"}");
    model = replace(&s, sc_str_dup(&s.arena, model), "\"mat2\"", "\"mat3\"");
    CHECK_STATUS(import_document(&s, model, sc_str_from(config_text), zeros(&s, 24), &program),
                 SC_ERR_ARGUMENT);
    const sc_where *where = &sc_vec_last(&s.ctx.diags).where;
    CHECK(sc_str_is(where->method, "forward") && sc_str_is(where->node, "mm"));
    CHECK(sc_str_is(where->op, "torch.ops.aten.mm.default"));
    CHECK(sc_str_is(where->stack_trace, "line 7"));
    CHECK(s.ctx.where.node.size == 0 && s.ctx.where.pass.size == 0);
    setup_end(&s);
}

TEST(import_takes_weights_without_data_as_zeros) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    REQUIRE_OK(import_document(&s, sc_str_from(model_text), sc_str_from(config_text), zeros(&s, 0),
                               &program));
    CHECK_EQ_STR(setup_message(&s), "'w' was saved without data and is read as zeros");
    CHECK_EQ_UINT(program->methods.data[0]->inputs.data[0].constant->data.size, 24);
    setup_end(&s);
}

// A tensor subclass is pickled whole; we can name it but not compute with it.
TEST(import_names_pickled_objects) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    sc_str config = replace(&s, config_text, "\"use_pickle\": false", "\"use_pickle\": true");
    sc_extent data = setup_file(&s, "data/pickle/opaque.pt");
    CHECK_STATUS(import_document(&s, sc_str_from(model_text), config, data, &program),
                 SC_ERR_UNSUPPORTED);
    CHECK_EQ_STR(setup_message(&s), "'w' is a Python value, not a plain tensor");
    setup_end(&s);
}

TEST(import_takes_unreadable_expressions_as_unknown) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    // Both sizes that this text describes stay equal.
    const char *from = "Symbol('s0', positive=True, integer=True)\", \"hint\": {",
               *to = "OpaqueUnaryFn_exp(Symbol('s0'))\", \"hint\": {";
    sc_str model = replace(&s, model_text, from, to);
    model = replace(&s, model.data, "Symbol('s0', positive=True, integer=True)\", \"hint\": null",
                    "OpaqueUnaryFn_exp(Symbol('s0'))\", \"hint\": null");
    REQUIRE_OK(import_document(&s, model, sc_str_from(config_text), zeros(&s, 24), &program));
    CHECK_EQ_UINT(s.ctx.error_count, 0);
    CHECK_EQ_STR(setup_message(&s), "the expression OpaqueUnaryFn_exp(Symbol('s0')) cannot be "
                                    "read, so its value is treated as unknown");
    const sc_graph *graph = program->methods.data[0]->graph;
    CHECK(sc_dim_equal(graph->inputs.data[1]->spec.sizes[0], graph->first->outs[0]->spec.sizes[0]));
    setup_end(&s);
}

TEST(import_keeps_unknown_operators) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    sc_str model = replace(&s, model_text, "torch.ops.aten.mm.default", "torch.ops.my.mm.default");
    REQUIRE_OK(import_document(&s, model, sc_str_from(config_text), zeros(&s, 24), &program));
    CHECK_OK(sc_verify(&s.ctx, program));
    const sc_node *node = program->methods.data[0]->graph->first;
    CHECK(sc_op_has(node->op, SC_FOREIGN));
    CHECK_EQ_STR(node->op->name, "my::mm");
    CHECK(node->arg_count == 2 && sc_str_is(node->arg_names[1], "mat2"));
    setup_end(&s);
}

// An unsupported call waits for the report on the whole program.
TEST_CASES(import_keeps_calls_that_are_not_supported) {
    static const char *const cases[][3] = {
        {"{\"as_complex\": {\"real\": 0.0, \"imag\": 1.0}}",
         "aten::mm is not supported for complex numbers",
         "Write its formula out in real numbers, or compute it outside of the model: x.real and "
         "x.imag give the parts, and torch.complex() joins two, but only what is linear is the "
         "same "
         "of each part."},
        {"{\"as_scalar_type\": 99}",
         "aten::mm cannot be imported: an argument has dtype 99, which is not supported",
         "Cast the inputs to a supported dtype."}};
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        if (!test_case("%zu", i)) continue;
        setup s;
        setup_begin(&s);
        sc_program *program;
        sc_str model = replace(&s, model_text, "\"arg\": {\"as_tensor\": {\"name\": \"x\"}}",
                               test_format("\"arg\": %s", cases[i][0]));
        REQUIRE_OK(import_document(&s, model, sc_str_from(config_text), zeros(&s, 24), &program));
        CHECK_EQ_UINT(s.ctx.diags.count, 0);
        CHECK_EQ_UINT(s.ctx.error_count, 0);
        CHECK_OK(sc_verify(&s.ctx, program));
        sc_pipeline pipeline = {.arena = &s.arena};
        CHECK_STATUS(sc_pipeline_run(&s.ctx, &pipeline, program, SC_STEP_decompose),
                     SC_ERR_UNSUPPORTED_OP);
        if (CHECK_EQ_UINT(s.ctx.diags.count, 1)) {
            const sc_diag *diag = &s.ctx.diags.data[0];
            CHECK_EQ_STR(diag->message.data, cases[i][1]);
            CHECK_EQ_STR(diag->hint.data, cases[i][2]);
            CHECK_EQ_TEXT(diag->where.node.data, diag->where.node.size, "mm");
        }
        setup_end(&s);
    }
}

// Effects leave the graph: the operator stands alone, tokens are gone from the signature.
TEST(import_unwraps_effects) {
    setup s;
    setup_begin(&s);
    sc_program *program;
    sc_str model =
        replace(&s, model_text, "torch.ops.aten.mm.default", "torch.ops.higher_order.with_effects");
    model =
        replace(&s, model.data, "\"inputs\": [{\"name\": \"self\"",
                "\"inputs\": [{\"name\": \"\", \"arg\": {\"as_tensor\": {\"name\": \"token\"}}}, "
                "{\"name\": \"\", \"arg\": {\"as_operator\": \"torch.ops.aten.mm.default\"}}, "
                "{\"name\": \"self\"");
    model =
        replace(&s, model.data, "\"outputs\": [{\"as_tensor\": {\"name\": \"mm\"}}], \"metadata\"",
                "\"outputs\": [{\"as_tensor\": {\"name\": \"token_1\"}}, "
                "{\"as_tensor\": {\"name\": \"mm\"}}], \"metadata\"");
    model = replace(&s, model.data, "\"inputs\": [{\"as_tensor\"",
                    "\"inputs\": [{\"as_tensor\": {\"name\": \"token\"}}, {\"as_tensor\"");
    model = replace(&s, model.data, "\"input_specs\": [",
                    "\"input_specs\": [{\"token\": {\"arg\": {\"name\": \"token\"}}}, ");
    model = replace(&s, model.data, "\"outputs\": [{\"as_tensor\": {\"name\": \"mm\"}}], \"nodes\"",
                    "\"outputs\": [{\"as_tensor\": {\"name\": \"token_1\"}}, "
                    "{\"as_tensor\": {\"name\": \"mm\"}}], \"nodes\"");
    model = replace(&s, model.data, "\"output_specs\": [",
                    "\"output_specs\": [{\"token\": {\"arg\": {\"name\": \"token_1\"}}}, ");
    REQUIRE_OK(import_document(&s, model, sc_str_from(config_text), zeros(&s, 24), &program));
    CHECK_OK(sc_verify(&s.ctx, program));
    const sc_graph *graph = program->methods.data[0]->graph;
    CHECK_EQ_STR(graph->first->op->name, "aten::mm");
    CHECK(graph->inputs.count == 2 && graph->ret->arg_count == 1 && graph->node_count == 1);
    setup_end(&s);
}

// --- Other files, failing files ------------------------------------------------------------------

TEST(import_recognises_other_files) {
    static const struct {
        const char *bytes, *message;
    } rows[] = {
        {"1234ET12", "this is an ExecuTorch program, not an exported PyTorch program"},
        {"1234FT01", "this is the data file of an ExecuTorch program"},
        {"1234TFL3", "this is a TensorFlow Lite model"},
        {"PYTORCH1", "this is a PyTorch file in the format of 2018"},
        {"\x80\x02}q...", "this is a Python pickle, not a .pt2 archive"},
        {"hello wo", "this is not a .pt2 archive"},
        {"", "this is not a .pt2 archive"},
    };
    setup s;
    setup_begin(&s);
    sc_program *program;
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        sc_str bytes = sc_str_from(rows[i].bytes);
        sc_extent file = sc_extent_whole(sc_source_from_memory(&s.arena, bytes.data, bytes.size));
        CHECK(import_file(&s, file, (sc_import_options){0}, &program) != SC_OK);
        CHECK_EQ_STR(setup_message(&s), rows[i].message);
    }
    sc_extent file = setup_file(&s, "data/pickle/state.pt");
    CHECK_STATUS(import_file(&s, file, (sc_import_options){0}, &program), SC_ERR_FORMAT);
    CHECK_EQ_STR(setup_message(&s),
                 "this is a torch.save file (a state dict?), not an exported program");
    file = setup_file(&s, "data/zip/stored.zip");
    CHECK_STATUS(import_file(&s, file, (sc_import_options){0}, &program), SC_ERR_FORMAT);
    CHECK_EQ_STR(setup_message(&s), "this zip is not a .pt2 archive");
    setup_end(&s);
}

typedef struct failing {
    sc_extent file;
    int reads_left;
} failing;

static sc_status read_failing(sc_source *source, sc_ctx *ctx, uint64_t offset, void *out,
                              size_t bytes) {
    failing *f = source->user;
    if (f->reads_left-- <= 0) return sc_fail(ctx, SC_ERR_IO, NULL, "the disk is gone");
    return sc_extent_read(ctx, f->file, offset, out, bytes);
}

// A source that fails on its n-th read, for every n until none is left: an error, never a crash.
static void check_failing_reads(const char *relative) {
    sc_status status = SC_ERR_IO;
    for (int n = 0; status != SC_OK && n < 1000; n++) {
        setup s;
        setup_begin(&s);
        sc_program *program;
        failing f = {setup_file(&s, relative), n};
        sc_source source = {.read = read_failing, .size = f.file.size, .user = &f};
        status = import_file(&s, sc_extent_whole(&source), (sc_import_options){0}, &program);
        if (status != SC_OK) CHECK_STATUS(status, SC_ERR_IO);
        setup_end(&s);
    }
    CHECK_OK(status);
}

TEST(import_survives_failing_reads) {
    check_failing_reads("import/weights.pt2");
    check_failing_reads("import/legacy.pt2");
}
