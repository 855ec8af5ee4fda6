// Emission end to end: IR text in executable form, placed and emitted, is compared with the bytes
// and the JSON dump that are committed with it (tests/emit/NAME.ir, .pte, .json). Constants hold
// small numbers made from their names, so that an official runtime can run the files too.
#include "emit/emit.h"

#include "flat_tensor_fbs.h"
#include "harness.h"
#include "plan/place.h"
#include "program_fbs.h"
#include "rt/rt.h"

typedef struct setup {
    sc_arena arena, scratch;
    sc_ctx ctx;
    sc_program *program;
    sc_storage_table *tables;
    sc_options options;
    sc_emit_result result;
    const uint8_t *bytes;
    size_t size;
} setup;

static void begin(setup *s) {
    memset(s, 0, sizeof *s);
    sc_arena_init(&s->arena);
    sc_arena_init(&s->scratch);
    sc_ctx_init(&s->ctx, &s->arena, &s->scratch);
    s->options = sc_options_default();
    s->options.share_mutable_buffers = true;
    CHECK_OK(sc_ops_init());
}

static void end(setup *s) {
    sc_arena_deinit(&s->arena);
    sc_arena_deinit(&s->scratch);
}

static const char *last_message(setup *s) {
    return s->ctx.diags.count ? sc_vec_last(&s->ctx.diags).message.data : "";
}

static float sample(sc_str name, uint64_t i) {
    uint64_t seed = name.size ? (uint8_t)name.data[name.size - 1] : 0;
    return (float)((int64_t)((i * 7 + seed) % 11) - 5) / 4;
}

static void fill(setup *s, sc_constant *constant) {
    if (constant->lifted_scalar || constant->spec.dtype != SC_DTYPE_F32) return;
    uint64_t count = constant->data.size / 4;
    float *values = sc_new_array(&s->arena, float, count + 1);
    for (uint64_t i = 0; i < count; i++) values[i] = sample(constant->name, i);
    constant->data = sc_extent_whole(sc_source_from_memory(&s->arena, values, constant->data.size));
}

static sc_status emit(setup *s, sc_str text) {
    sc_place_report *reports = NULL;
    SC_TRY(sc_program_parse(&s->ctx, text, &s->program));
    SC_TRY(sc_verify(&s->ctx, s->program));
    for (uint32_t m = 0; m < s->program->methods.count; m++) {
        sc_method *method = s->program->methods.data[m];
        for (uint32_t i = 0; i < method->inputs.count; i++)
            if (method->inputs.data[i].constant) fill(s, method->inputs.data[i].constant);
    }
    SC_TRY(sc_place_program(&s->ctx, s->program, &s->options, NULL, &s->tables, &reports));
    SC_TRY(sc_emit_program(&s->ctx, s->program, s->tables, &s->options, &s->result));
    return sc_cord_flatten(&s->ctx, &s->result.program, &s->arena, 1 << 20, &s->bytes);
}

static sc_str str(const char *text) { return sc_str_from(text); }

static sc_status emit_file(setup *s, const char *path) {
    size_t size = 0;
    const char *text = test_read(path, &size);
    sc_status status = emit(s, (sc_str){text, size});
    s->size = (size_t)s->result.program.size;
    if (status != SC_OK) FAIL("%s: %s", path, last_message(s));
    return status;
}

static void check_bytes(const char *path, const uint8_t *bytes, size_t size) {
    if (test_updating()) {
        test_write(path, bytes, size);
        return;
    }
    size_t wanted = 0;
    const char *golden = test_read(path, &wanted);
    if (CHECK_EQ_UINT(size, wanted)) CHECK_EQ_MEM(bytes, golden, size);
}

static void check_dump(setup *s, const sc_fb_schema *schema, const uint8_t *bytes, size_t size,
                       const char *path) {
    sc_sb sb;
    sc_json_writer writer;
    REQUIRE_OK(sc_fb_verify(&s->ctx, schema, bytes, size));
    sc_sb_init(&sb, &s->arena);
    sc_json_writer_init(&writer, &sb, SC_JSON_PRETTY);
    sc_fb_dump(&writer, schema, bytes, 64);
    CHECK_GOLDEN(path, sb.data, sb.size);
}

TEST_CASES(emitted_files_are_byte_for_byte_what_they_were) {
    size_t count = 0;
    const char **files = test_list("emit", ".ir", &count);
    CHECK(count > 0);
    for (size_t i = 0; i < count; i++) {
        if (!test_case("%s", files[i])) continue;
        int stem = (int)strlen(files[i]) - 3;
        setup s;
        begin(&s);
        if (CHECK_OK(emit_file(&s, files[i]))) {
            check_dump(&s, &sc_pte_schema, s.bytes, (size_t)s.result.program_bytes,
                       test_format("%.*s.json", stem, files[i]));
            check_bytes(test_format("%.*s.pte", stem, files[i]), s.bytes, s.size);
        }
        end(&s);
    }
}

TEST(the_same_program_gives_the_same_bytes_twice) {
    setup a, b;
    begin(&a);
    begin(&b);
    if (CHECK_OK(emit_file(&a, "emit/methods.ir")) && CHECK_OK(emit_file(&b, "emit/methods.ir")) &&
        CHECK_EQ_UINT(a.size, b.size))
        CHECK_EQ_MEM(a.bytes, b.bytes, a.size);
    end(&a);
    end(&b);
}

static sc_fb_table plan_at(const setup *s, uint32_t index) {
    return sc_fb_vec_table(sc_pte_Program_execution_plan(sc_fb_root(s->bytes)), index);
}

TEST(instructions_know_their_nodes_and_debug_handles) {
    setup s;
    begin(&s);
    const char *text = "method forward {\n"
                       "  input %x: f32[2]\n"
                       "  %a: f32[2] = aten::relu(%x) !(handle 5)\n"
                       "  %b: f32[2] = aten::neg(%a)\n"
                       "  return %b\n}\n";
    REQUIRE_OK(emit(&s, str(text)));
    const sc_emit_plan *plan = &s.result.plans.data[0];
    CHECK_EQ_UINT(plan->instruction_count, 2);
    CHECK_EQ_UINT(plan->debug_handles[0], 5);
    CHECK_EQ_UINT(plan->debug_handles[1], 0);
    CHECK_EQ_STR(plan->nodes[1]->name->text, "b");
    CHECK_EQ_UINT(plan->operator_count, 2);
    CHECK(!plan->is_constant);
    end(&s);
}

// counter = 0; length; L: slice; body; stack; counter + 1; done?; jump
TEST(scaffolding_has_the_handle_of_its_loop) {
    static const uint32_t handles[] = {0, 7, 7, 3, 7, 7, 7, 0};
    static const char *const nodes[] = {NULL, NULL, NULL, "r", "m", NULL, NULL, NULL};
    setup s;
    begin(&s);
    const char *text = "method forward {\n"
                       "  input %x: f32[3, 2]\n"
                       "  %m: f32[3, 2] = higher_order::map_impl(graph body {\n"
                       "    input %a: f32[2]\n"
                       "    %r: f32[2] = aten::relu(%a) !(handle 3)\n"
                       "    return %r\n"
                       "  }, [%x], []) !(handle 7)\n"
                       "  return %m\n}\n";
    REQUIRE_OK(emit(&s, str(text)));
    const sc_emit_plan *plan = &s.result.plans.data[0];
    if (!CHECK_EQ_UINT(plan->instruction_count, SC_COUNT_OF(handles))) return;
    for (uint32_t i = 0; i < plan->instruction_count; i++) {
        CHECK_EQ_UINT(plan->debug_handles[i], handles[i]);
        CHECK_EQ_STR(plan->nodes[i] ? plan->nodes[i]->name->text : "none",
                     nodes[i] ? nodes[i] : "none");
    }
    end(&s);
}

// The last nodes in the list make the call's results, whatever the part's order.
TEST(calls_of_parts_list_the_handles_behind_them) {
    static const uint32_t expected[] = {2, 4, 3, 9, 1};
    setup s;
    begin(&s);
    const char *text = "method forward {\n"
                       "  input %x: f32[2]\n"
                       "  d: (%p: f32[2], %q: f32[2], %t: f32[2]) = "
                       "higher_order::executorch_call_delegate(part lowered_module_0 \"B\" {\n"
                       "    processed \"bytes\"\n"
                       "    events \"one\" [1]\n"
                       "    events \"rest\" [2, 3, 4]\n"
                       "    input %a: f32[2]\n"
                       "    %f: f32[2] = aten::abs(%a) !(handle 1)\n"
                       "    %g: f32[2] = aten::neg(%a) !(handle 2)\n"
                       "    %h: f32[2] = aten::relu(%g) !(handle 3)\n"
                       "    %i: f32[2] = aten::relu(%h) !(handle 4)\n"
                       "    return %h, %a, %f\n"
                       "  }, [%x]) !(handle 9)\n"
                       "  return %p, %q, %t\n}\n";
    REQUIRE_OK(emit(&s, str(text)));
    const sc_emit_plan *plan = &s.result.plans.data[0];
    if (!CHECK_EQ_UINT(plan->part_calls.count, 1)) return;
    const sc_emit_part_call *call = &plan->part_calls.data[0];
    CHECK_EQ_UINT(call->instruction, 0);
    CHECK_EQ_UINT(call->output_count, 3);
    CHECK_EQ_UINT(call->part->events.count, 2);
    if (CHECK_EQ_UINT(call->handle_count, SC_COUNT_OF(expected)))
        CHECK_EQ_MEM(call->handles, expected, sizeof expected);
    CHECK_EQ_UINT(plan->debug_handles[0], 9);
    end(&s);
}

// Weights in a file of their own, found by name; numbers written into the code stay inside.
static const sc_weight_file APART[] = {{{"*", 1}, {SC_EXTERNAL_FILE, sizeof SC_EXTERNAL_FILE - 1}}};
static const sc_weight_files ALL_APART = {APART, 1};

static const char external_text[] =
    "method forward {\n"
    "  input %w: f32[2, 2] parameter \"layer.w\" const f32[2, 2] 16\n"
    "  input %same: f32[4] parameter \"other.w\" const f32[4] 16\n"
    "  input %one: f32[] constant_tensor \"_lifted_tensor_constant0\" const f32[] 4 lifted "
    "0000803f\n"
    "  input %x: f32[2, 2]\n"
    "  %mm: f32[2, 2] = aten::mm(%x, %w)\n"
    "  %add: f32[2, 2] = aten::add.Tensor(%mm, %one)\n"
    "  return %add, %same\n}\n";

TEST(weights_can_go_to_a_file_of_their_own) {
    setup s;
    begin(&s);
    s.options.external_constants = ALL_APART;
    REQUIRE_OK(emit(&s, str(external_text)));
    s.size = (size_t)s.result.program.size;
    REQUIRE(s.result.files.count == 1);
    CHECK_EQ_UINT(s.result.constant_bytes, 4);
    const sc_emit_file *file = &s.result.files.data[0];
    CHECK_EQ_TEXT(file->tag.data, file->tag.size, "_default_external_constant");
    const uint8_t *ptd = NULL;
    size_t size = (size_t)file->cord.size;
    REQUIRE_OK(sc_cord_flatten(&s.ctx, &file->cord, &s.arena, 1 << 20, &ptd));
    size_t flatbuffer = (size_t)(sc_fb_load_u64(ptd + 16) + sc_fb_load_u64(ptd + 24));
    check_dump(&s, &sc_ptd_schema, ptd, flatbuffer, "emit/external.weights.json");
    check_bytes("emit/external.weights.ptd", ptd, size);
    check_dump(&s, &sc_pte_schema, s.bytes, (size_t)s.result.program_bytes, "emit/external.json");
    check_bytes("emit/external.pte", s.bytes, s.size);
    // Equal bytes, two names: one segment.
    CHECK_EQ_UINT(sc_ptd_FlatTensor_segments(sc_fb_root(ptd)).count, 1);
    CHECK_EQ_UINT(sc_ptd_FlatTensor_named_data(sc_fb_root(ptd)).count, 2);
    end(&s);
}

// --- Stack traces --------------------------------------------------------------------------------

#define TRACE_OF_RELU \
    "  File \\\"net.py\\\", line 12, in forward\\n    y = relu(x)\\n    ^^^^^^^\\n"
#define TRACE_OF_NEG                                                                               \
    TRACE_OF_RELU "  File \\\"a.py\\\", line 99999999999, in f\\n  File \\\"b.py\\\", line 3, in " \
                  "g"

static const char traced_text[] = "method forward {\n"
                                  "  input %x: f32[2]\n"
                                  "  %a: f32[2] = aten::relu(%x) !(trace \"" TRACE_OF_RELU "\")\n"
                                  "  %b: f32[2] = aten::neg(%a) !(trace \"" TRACE_OF_NEG "\")\n"
                                  "  %c: f32[2] = aten::abs(%b)\n"
                                  "  %d: f32[2] = aten::sin(%c) !(trace \"" TRACE_OF_RELU "\")\n"
                                  "  return %d\n}\n";

static sc_fb_table first_chain(const setup *s) {
    return sc_fb_vec_table(sc_pte_ExecutionPlan_chains(plan_at(s, 0)), 0);
}

static void check_frame(sc_fb_vec frames, uint32_t index, const char *wanted) {
    sc_fb_table frame = sc_fb_vec_table(frames, index);
    sc_str file = sc_pte_Frame_filename(frame), name = sc_pte_Frame_name(frame),
           code = sc_pte_Frame_context(frame);
    const char *text =
        test_format(SC_STR_FMT ":%d " SC_STR_FMT " '" SC_STR_FMT "'", SC_STR_ARG(file),
                    (int)sc_pte_Frame_lineno(frame), SC_STR_ARG(name), SC_STR_ARG(code));
    CHECK_EQ_STR(text, wanted);
}

TEST(a_chain_has_a_stack_trace_for_each_instruction) {
    setup s;
    begin(&s);
    s.options.emit_stacktrace = true;
    REQUIRE_OK(emit(&s, str(traced_text)));
    CHECK_OK(sc_fb_verify(&s.ctx, &sc_pte_schema, s.bytes, (size_t)s.result.program_bytes));
    sc_fb_vec lists = sc_pte_Chain_stacktrace(first_chain(&s));
    REQUIRE(lists.count == 4);
    static const uint32_t counts[] = {1, 3, 0, 1};
    for (uint32_t i = 0; i < 4; i++)
        CHECK_EQ_UINT(sc_pte_FrameList_items(sc_fb_vec_table(lists, i)).count, counts[i]);
    sc_fb_vec frames = sc_pte_FrameList_items(sc_fb_vec_table(lists, 1));
    check_frame(frames, 0, "net.py:12 forward 'y = relu(x)'");
    check_frame(frames, 1, "a.py:2147483647 f ''");
    check_frame(frames, 2, "b.py:3 g ''");
    // Instructions of one line share its frames.
    CHECK(sc_fb_vec_table(lists, 0).at == sc_fb_vec_table(lists, 3).at);
    end(&s);
}

TEST(stack_traces_are_written_on_request_only) {
    setup s;
    begin(&s);
    REQUIRE_OK(emit(&s, str(traced_text)));
    CHECK(!sc_pte_Chain_stacktrace(first_chain(&s)).items);
    end(&s);
}

// Jumps and moves have a list, too, so that the two lists match.
TEST(scaffolding_of_loops_has_the_stack_trace_of_the_loop) {
    static const uint32_t counts[] = {0, 1, 1, 0, 1, 1, 1, 0};
    setup s;
    begin(&s);
    s.options.emit_stacktrace = true;
    const char *text = "method forward {\n"
                       "  input %x: f32[3, 2]\n"
                       "  %m: f32[3, 2] = higher_order::map_impl(graph body {\n"
                       "    input %a: f32[2]\n"
                       "    %r: f32[2] = aten::relu(%a)\n"
                       "    return %r\n"
                       "  }, [%x], []) !(trace \"" TRACE_OF_RELU "\")\n"
                       "  return %m\n}\n";
    REQUIRE_OK(emit(&s, str(text)));
    sc_fb_vec lists = sc_pte_Chain_stacktrace(first_chain(&s));
    REQUIRE(lists.count == SC_COUNT_OF(counts));
    for (uint32_t i = 0; i < lists.count; i++)
        CHECK_EQ_UINT(sc_pte_FrameList_items(sc_fb_vec_table(lists, i)).count, counts[i]);
    end(&s);
}

// x[i] of two rows, with i out of range.
static const sc_diag *fail_in_a_run(setup *s) {
    static const int64_t at = 7, one = 1, sizes[] = {2, 2};
    static const float x[4];
    const sc_rt_input inputs[] = {{.tag = SC_EVALUE_TENSOR,
                                   .dtype = SC_DTYPE_F32,
                                   .rank = 2,
                                   .sizes = sizes,
                                   .data = x,
                                   .bytes = sizeof x},
                                  {.tag = SC_EVALUE_TENSOR,
                                   .dtype = SC_DTYPE_I64,
                                   .rank = 1,
                                   .sizes = &one,
                                   .data = &at,
                                   .bytes = 8}};
    sc_rt_program *program = NULL;
    sc_rt_method *method = NULL;
    sc_source *source = sc_source_from_memory(&s->arena, s->bytes, (size_t)s->result.program.size);
    CHECK_OK(sc_rt_program_open(&s->ctx, source, NULL, &program));
    CHECK_OK(sc_rt_method_load(&s->ctx, program, SC_STR("forward"), &method));
    for (uint32_t i = 0; i < 2; i++)
        CHECK_OK(sc_rt_method_set_input(&s->ctx, method, i, &inputs[i]));
    CHECK(sc_rt_method_run(&s->ctx, method) != SC_OK);
    sc_rt_program_close(program);
    return &sc_vec_last(&s->ctx.diags);
}

TEST(errors_of_a_run_show_the_stack_trace_of_the_file) {
    for (int traced = 0; traced < 2; traced++) {
        setup s;
        begin(&s);
        s.options.emit_stacktrace = traced;
        const char *text =
            "method forward {\n"
            "  input %x: f32[2, 2]\n"
            "  input %i: i64[1]\n"
            "  %a: f32[1, 2] = aten::index_select(%x, 0, %i) !(trace \"" TRACE_OF_RELU "\")\n"
            "  return %a\n}\n";
        REQUIRE_OK(emit(&s, str(text)));
        sc_str trace = fail_in_a_run(&s)->where.stack_trace;
        CHECK_EQ_TEXT(trace.data, trace.size,
                      traced ? "  File \"net.py\", line 12, in forward\n    y = relu(x)\n" : "");
        end(&s);
    }
}

// --- Delegated parts -----------------------------------------------------------------------------

TEST(named_data_of_parts_may_go_to_files) {
    setup s;
    begin(&s);
    REQUIRE_OK(emit_file(&s, "emit/delegate.ir"));
    REQUIRE(s.result.files.count == 1);
    const sc_emit_file *file = &s.result.files.data[0];
    const uint8_t *ptd = NULL;
    CHECK_EQ_TEXT(file->tag.data, file->tag.size, "shared");
    REQUIRE_OK(sc_cord_flatten(&s.ctx, &file->cord, &s.arena, 1 << 20, &ptd));
    sc_fb_vec named = sc_ptd_FlatTensor_named_data(sc_fb_root(ptd));
    REQUIRE(named.count == 1);
    sc_str key = sc_ptd_NamedData_key(sc_fb_vec_table(named, 0));
    CHECK_EQ_TEXT(key.data, key.size, "outside");
    CHECK(!sc_ptd_NamedData_tensor_layout(sc_fb_vec_table(named, 0)).at);
    CHECK_EQ_MEM(ptd + sc_fb_load_u64(ptd + 32), "more bytes", 10);
    end(&s);
}

TEST(segments_lie_in_the_file_as_they_asked_for) {
    setup s;
    begin(&s);
    REQUIRE_OK(emit_file(&s, "emit/delegate_methods.ir"));
    sc_fb_vec segments = sc_pte_Program_segments(sc_fb_root(s.bytes));
    uint64_t base = sc_fb_load_u64(s.bytes + 24);
    REQUIRE(segments.count == 4);
    uint64_t at = base + sc_pte_DataSegment_offset(sc_fb_vec_table(segments, 3));
    CHECK_EQ_UINT(at % 768, 0);
    CHECK_EQ_MEM(s.bytes + at, "weights of both", 15);
    end(&s);
}

TEST(what_backends_get_can_lie_in_the_flatbuffer) {
    setup s;
    begin(&s);
    s.options.extract_delegate_segments = false;
    REQUIRE_OK(emit_file(&s, "emit/delegate.ir"));
    sc_fb_vec data = sc_pte_Program_backend_delegate_data(sc_fb_root(s.bytes));
    sc_fb_vec delegates = sc_pte_ExecutionPlan_delegates(plan_at(&s, 0));
    REQUIRE(data.count == 1 && delegates.count == 2);
    sc_fb_vec bytes = sc_pte_BackendDelegateInlineData_data(sc_fb_vec_table(data, 0));
    REQUIRE(bytes.count == 7);
    CHECK_EQ_MEM(bytes.items, "add \0\1\xfe", 7);
    CHECK_EQ_UINT((size_t)(bytes.items - s.bytes) % 16, 0);
    CHECK_EQ_UINT(sc_fb_load_u32(s.bytes + 12), 32);
    for (uint32_t i = 0; i < 2; i++) {
        sc_fb_table to = sc_pte_BackendDelegate_processed(sc_fb_vec_table(delegates, i));
        CHECK_EQ_INT(sc_pte_BackendDelegateDataReference_location(to), SC_PTE_DataLocation_INLINE);
        CHECK_EQ_UINT(sc_pte_BackendDelegateDataReference_index(to), 0);
    }
    end(&s);
}

// A header in front of the data keeps its place, and the file says so.
TEST(inline_data_is_aligned_as_the_option_says) {
    for (uint32_t align = 1; align <= 4096; align *= 8) {
        setup s;
        begin(&s);
        s.options.extract_delegate_segments = false;
        s.options.delegate_alignment = align;
        REQUIRE_OK(emit_file(&s, "emit/delegate.ir"));
        CHECK_OK(sc_fb_verify(&s.ctx, &sc_pte_schema, s.bytes, (size_t)s.result.program_bytes));
        sc_fb_vec data = sc_pte_Program_backend_delegate_data(sc_fb_root(s.bytes));
        REQUIRE(data.count == 1);
        sc_fb_vec bytes = sc_pte_BackendDelegateInlineData_data(sc_fb_vec_table(data, 0));
        CHECK_EQ_MEM(bytes.items, "add \0\1\xfe", 7);
        CHECK_EQ_UINT((size_t)(bytes.items - s.bytes) % align, 0);
        CHECK_EQ_UINT(sc_fb_load_u64(s.bytes + 16), s.result.program_bytes);
        end(&s);
    }
}

TEST(segments_of_delegates_are_aligned_as_the_option_says) {
    setup s;
    begin(&s);
    s.options.delegate_alignment = 4096;
    REQUIRE_OK(emit_file(&s, "emit/delegate.ir"));
    sc_fb_vec delegates = sc_pte_ExecutionPlan_delegates(plan_at(&s, 0));
    sc_fb_table to = sc_pte_BackendDelegate_processed(sc_fb_vec_table(delegates, 0));
    CHECK_EQ_INT(sc_pte_BackendDelegateDataReference_location(to), SC_PTE_DataLocation_SEGMENT);
    uint32_t index = sc_pte_BackendDelegateDataReference_index(to);
    sc_fb_vec segments = sc_pte_Program_segments(sc_fb_root(s.bytes));
    REQUIRE(index < segments.count);
    uint64_t at =
        sc_fb_load_u64(s.bytes + 24) + sc_pte_DataSegment_offset(sc_fb_vec_table(segments, index));
    CHECK_EQ_UINT(at % 4096, 0);
    CHECK_EQ_MEM(s.bytes + at, "add \0\1\xfe", 7);
    end(&s);
}

// Two methods, two parts, one key.
static sc_status emit_keys(setup *s, const char *first, const char *second) {
    const char *method =
        "method %s {\n  input %%x: f32[2]\n"
        "  %%y: f32[2] = higher_order::executorch_call_delegate(part p \"TestBackend\" {\n"
        "    data \"key\" %s\n    input %%a: f32[2]\n    return %%a\n  }, [%%x])\n"
        "  return %%y\n}\n";
    sc_str a = sc_str_format(&s->arena, method, "a", first);
    sc_str b = sc_str_format(&s->arena, method, "b", second);
    return emit(s, sc_str_format(&s->arena, SC_STR_FMT SC_STR_FMT, SC_STR_ARG(a), SC_STR_ARG(b)));
}

TEST(a_key_of_named_data_means_the_same_in_all_parts) {
    setup s;
    begin(&s);
    CHECK_OK(emit_keys(&s, "align 4 \"same\"", "align 6 \"sa\" \"me\""));
    CHECK_STATUS(emit_keys(&s, "align 4 \"one\"", "align 4 \"other\""), SC_ERR_DELEGATE);
    CHECK_EQ_STR(last_message(&s), "backend 'TestBackend' gives named data 'key' of 5 bytes, but "
                                   "other data of 3 bytes has that name");
    CHECK_STATUS(emit_keys(&s, "align 4 \"one\"", "align 4 file \"f\" \"one\""), SC_ERR_DELEGATE);
    CHECK_EQ_STR(last_message(&s),
                 "backend 'TestBackend' puts named data 'key' into two different files");
    end(&s);
}

// A weight that a kernel reads and a backend looks up is stored once.
TEST(named_data_may_be_a_constant) {
    enum { BYTES = 1 << 16 };
    setup s;
    begin(&s);
    REQUIRE_OK(
        emit(&s, sc_str_format(&s.arena,
                               "method forward {\n  input %%x: f32[2]\n"
                               "  input %%p_u: i8[3] parameter \"u\" const i8[3] 3\n"
                               "  input %%p_w: i8[%d] parameter \"w\" const i8[%d] %d\n"
                               "  %%y: f32[2] = higher_order::executorch_call_delegate("
                               "part p \"TestBackend\" {\n"
                               "    data \"key\" align 256 zeros %d\n    input %%a: f32[2]\n"
                               "    return %%a\n  }, [%%x])\n"
                               "  %%v: i8[3] = aten::neg(%%p_u)\n"
                               "  %%z: i8[%d] = aten::neg(%%p_w)\n  return %%y, %%v, %%z\n}\n",
                               BYTES, BYTES, BYTES, BYTES, BYTES)));
    const sc_fb_vec segments = sc_pte_Program_segments(sc_fb_root(s.bytes));
    const sc_fb_table named = sc_fb_vec_table(sc_pte_Program_named_data(sc_fb_root(s.bytes)), 0);
    const uint32_t index = sc_pte_NamedData_segment_index(named);
    REQUIRE(index && index < segments.count);
    const sc_fb_table all = sc_fb_vec_table(segments, 0), one = sc_fb_vec_table(segments, index);
    CHECK_EQ_UINT(sc_pte_DataSegment_size(one), BYTES);
    CHECK_EQ_UINT((sc_fb_load_u64(s.bytes + 24) + sc_pte_DataSegment_offset(one)) % 256, 0);
    CHECK(sc_pte_DataSegment_offset(one) >= sc_pte_DataSegment_offset(all));
    CHECK(sc_pte_DataSegment_offset(one) + BYTES <=
          sc_pte_DataSegment_offset(all) + sc_pte_DataSegment_size(all));
    CHECK(s.result.program.size < 2 * BYTES);
    end(&s);
}

TEST(a_tag_of_named_data_is_the_name_of_a_file) {
    static const char *const tags[] = {".", "..", "../esc", "/esc", "a/b", "a\\\\b"};
    setup s;
    begin(&s);
    CHECK_OK(emit_keys(&s, "align 4 \"same\"", "align 4 \"same\""));
    for (uint32_t i = 0; i < SC_COUNT_OF(tags); i++) {
        const char *data = sc_str_format(&s.arena, "align 4 file \"%s\" \"one\"", tags[i]).data;
        CHECK_STATUS(emit_keys(&s, data, data), SC_ERR_DELEGATE);
    }
    CHECK_EQ_STR(last_message(&s), "backend 'TestBackend' puts 'key' into a .ptd with the tag "
                                   "'a\\b', which is not a valid file name");
    CHECK_OK(emit_keys(&s, "align 4 file \"a..b\" \"one\"", "align 4 file \"a..b\" \"one\""));
    end(&s);
}

// --- Values --------------------------------------------------------------------------------------

TEST(a_name_in_a_ptd_means_one_tensor) {
    setup s;
    begin(&s);
    s.options.external_constants = ALL_APART;
    const char *text = "method one {\n"
                       "  input %w: f32[2] parameter \"w\" const f32[2] 8\n"
                       "  return %w\n}\n"
                       "method two {\n"
                       "  input %w: f32[2, 1] parameter \"w\" const f32[2, 1] 8\n"
                       "  return %w\n}\n";
    CHECK_STATUS(emit(&s, str(text)), SC_ERR_MISMATCH);
    CHECK_EQ_STR(last_message(&s),
                 "methods 'one' and 'two' have different weights that are called 'w', of 8 and 8 "
                 "bytes, and file '_default_external_constant' knows weights by name only");
    end(&s);
}

TEST(rules_choose_the_files_of_weights) {
    static const sc_weight_file RULES[] = {
        {{"base.*.b", 8}, {0}}, {{"base.*", 6}, {"foundation", 10}}, {{"*.w", 3}, {"heads", 5}}};
    static const struct {
        const char *name, *file;
    } rows[] = {{"base.w", "foundation"},
                {"base.x.b", ""},
                {"base..b", ""},
                {"base.b", "foundation"},
                {"head.w", "heads"},
                {".w", "heads"},
                {"w", ""},
                {"other.w.b", ""},
                {"abase.w", "heads"},
                {"base.", "foundation"},
                {"base", ""},
                {"base.w.b.c", "foundation"}};
    const sc_weight_files files = {RULES, SC_COUNT_OF(RULES)};
    for (size_t i = 0; i < SC_COUNT_OF(rows); i++) {
        const sc_str found = sc_weight_files_of(&files, sc_str_from(rows[i].name));
        CHECK_EQ_TEXT(found.data ? found.data : "", found.size, rows[i].file);
    }
}

TEST(weights_have_the_files_of_the_rules) {
    static const sc_weight_file RULES[] = {{{"base.*", 6}, {"foundation", 10}}};
    const char *text = "method one {\n"
                       "  input %w: f32[2] parameter \"base.w\" const f32[2] 8\n"
                       "  input %a: f32[2] parameter \"lora.w\" const f32[2] 8\n"
                       "  return %w, %a\n}\n"
                       "method two {\n"
                       "  input %w: f32[2] parameter \"base.w\" const f32[2] 8\n"
                       "  input %a: f32[2, 1] parameter \"lora.w\" const f32[2, 1] 8\n"
                       "  return %w, %a\n}\n";
    setup s;
    begin(&s);
    s.options.external_constants = (sc_weight_files){RULES, 1};
    REQUIRE_OK(emit(&s, str(text)));
    REQUIRE(s.result.files.count == 1);
    CHECK_EQ_TEXT(s.result.files.data[0].tag.data, s.result.files.data[0].tag.size, "foundation");
    end(&s);
}

TEST(mutable_buffers_keep_their_names_on_request) {
    setup s;
    begin(&s);
    s.options.emit_mutable_buffer_names = true;
    size_t size = 0;
    const char *text = test_read("emit/counter.ir", &size);
    REQUIRE_OK(emit(&s, (sc_str){text, size}));
    bool found = false;
    sc_fb_vec values = sc_pte_ExecutionPlan_values(plan_at(&s, 0));
    for (uint32_t i = 0; i < values.count; i++) {
        sc_fb_table value = sc_fb_vec_table(values, i);
        if (sc_pte_EValue_val_type(value) != SC_PTE_KernelTypes_Tensor) continue;
        sc_fb_table extra = sc_pte_Tensor_extra_tensor_info(sc_pte_EValue_val(value));
        found |= extra.at && sc_str_is(sc_pte_ExtraTensorInfo_fully_qualified_name(extra), "count");
    }
    CHECK(found);
    end(&s);
}

// `first` and `second` are the contents of buffer "k" in two methods that share their state.
static sc_status emit_sharing(setup *s, const char *first, const char *second) {
    const char *method = "method %s {\n"
                         "  input %%k: f32[1] buffer \"k\" const f32[1] 4 lifted %s\n"
                         "  input %%x: f32[1]\n"
                         "  %%n: f32[1] = aten::add.Tensor(%%k, %%x)\n"
                         "  %%s: f32[1] = aten::copy_(%%k, %%n)\n"
                         "  return %%s buffer_mutation \"k\", %%n\n}\n";
    sc_str a = sc_str_format(&s->arena, method, "a", first);
    sc_str b = sc_str_format(&s->arena, method, "b", second);
    return emit(s, sc_str_format(&s->arena, SC_STR_FMT SC_STR_FMT, SC_STR_ARG(a), SC_STR_ARG(b)));
}

TEST(shared_state_starts_with_the_same_contents_in_all_methods) {
    setup s;
    begin(&s);
    CHECK_OK(emit_sharing(&s, "0000803f", "0000803f"));
    CHECK_STATUS(emit_sharing(&s, "0000803f", "00000040"), SC_ERR_MISMATCH);
    CHECK_EQ_STR(
        last_message(&s),
        "buffer 'k' starts with different contents in methods 'b' and 'a', which share it");
    end(&s);
}

// The planner leaves dynamic views alone; a table that says otherwise is honoured with et_view.
TEST(views_of_unknown_shape_are_made_at_run_time) {
    setup s;
    begin(&s);
    size_t size = 0;
    const char *text = test_read("emit/dynamic.ir", &size);
    REQUIRE_OK(emit(&s, (sc_str){text, size}));
    const sc_node *view = s.program->methods.data[0]->graph->last;
    sc_storage *storage = sc_storage_of(&s.tables[0], view->outs[0]);
    storage->kind = SC_STORAGE_ALIAS;
    storage->base = view->args[0].value;
    storage->offset = 0;
    REQUIRE_OK(sc_emit_program(&s.ctx, s.program, s.tables, &s.options, &s.result));
    REQUIRE_OK(sc_cord_flatten(&s.ctx, &s.result.program, &s.arena, 1 << 20, &s.bytes));
    check_dump(&s, &sc_pte_schema, s.bytes, (size_t)s.result.program_bytes, "emit/et_view.json");
    check_bytes("emit/et_view.pte", s.bytes, (size_t)s.result.program.size);
    end(&s);
}

typedef struct refusal {
    const char *text;
    sc_status status;
    const char *message;  // part of it
} refusal;

static const refusal refusals[] = {
    {"method f {\n  input %n: int(3)\n  return %n\n}\n", SC_ERR_UNSUPPORTED, "'n' is a number"},
    {"constant f = 1\nmethod f {\n  input %x: f32[2]\n  return %x\n}\n", SC_ERR_ARGUMENT,
     "two methods are called 'f'"},
    {"method f {\n  input %x: f32[2]\n  %y: f32[2] = mine::op(%x)\n  return %y\n}\n",
     SC_ERR_UNSUPPORTED_OP, "mine::op"},
    {"method f {\n  input %x: f32[2, 2]\n  %y: f32[2, 2] = aten::t(%x)\n  return %y\n}\n",
     SC_ERR_UNSUPPORTED_OP, "aten::t"},
    {"method f {\n  input %x: f32[2, 3]\n"
     "  g: (%a: none, %b: i64[2]) = aten::max.dim(%x, 1)\n  return %b\n}\n",
     SC_ERR_UNSUPPORTED_OP, "cannot be called without some of its results"},
    {"method f {\n  symbol s0 [0, inf]\n  input %x: f32[s0]\n  return %x\n}\n", SC_ERR_UNBOUNDED,
     "no upper bound"},
    {"method f {\n  input %x: f32[2, 2, 2, 2]\n"
     "  %y: f32[2, 2, 2, 2] = aten::clone(%x, memory_format=channels_last)\n  return %y\n}\n",
     SC_ERR_UNSUPPORTED, "dim orders"},
    {"method f {\n  input %a: f32[2]\n  input %b: f32[2]\n"
     "  w: (%c: f32[2], %d: f32[2]) = higher_order::while_loop(graph p {\n"
     "    input %x: f32[2]\n    input %y: f32[2]\n"
     "    %any: b8[] = aten::any(%x)\n    return %any\n  }, graph q {\n"
     "    input %x1: f32[2]\n    input %y1: f32[2]\n    return %y1, %x1\n  }, [%a, %b], [])\n"
     "  return %c, %d\n}\n",
     SC_ERR_UNSUPPORTED, "in another position"},
    {"method f {\n  symbol s0 [1, 8] hint 4\n  input %a: f64[s0]\n"
     "  w: (%c: f32[s0]) = higher_order::while_loop(graph p {\n    input %x: f32[s0]\n"
     "    %any: b8[] = aten::any(%x)\n    return %any\n  }, graph q {\n"
     "    input %x1: f32[s0]\n    %y: f32[s0] = aten::neg(%x1)\n    return %y\n  }, [%a], [])\n"
     "  return %c\n}\n",
     SC_ERR_UNSUPPORTED, "values of different kinds"},
    {"method f {\n  symbol s0 [1, 8] hint 4\n  input %a: f32[s0]\n"
     "  w: (%c: f32[s0]) = higher_order::while_loop(graph p {\n    input %x: f32[s0]\n"
     "    %any: b8[] = aten::any(%x)\n    return %any\n  }, graph q {\n"
     "    input %x1: f32[s0]\n    %y: b8[s0] = aten::logical_not(%x1)\n    return %y\n"
     "  }, [%a], [])\n"
     "  return %c\n}\n",
     SC_ERR_UNSUPPORTED, "values of different kinds"},
};

TEST(what_a_program_cannot_hold_is_refused_in_words) {
    for (size_t i = 0; i < SC_COUNT_OF(refusals); i++) {
        setup s;
        begin(&s);
        CHECK_STATUS(emit(&s, str(refusals[i].text)), refusals[i].status);
        if (!CHECK(strstr(last_message(&s), refusals[i].message)))
            FAIL("\"%s\" is not in \"%s\"", refusals[i].message, last_message(&s));
        end(&s);
    }
}

// The hint names the flags that bound the sizes, as many as there are.
TEST(largest_sizes_beyond_the_limit_name_their_flags) {
    static const struct {
        const char *text, *message, *hint;
    } cases[] = {
        {"method f {\n  symbol s0 [1, 65536]\n  symbol u1 [0, 65536]\n  input %x: f32[2, s0]\n"
         "  input %n: f32[u1, 1, 1]\n"
         "  %y: f32[u1, 2, s0] = aten::add.Tensor(%n, %x)\n  return %y\n}\n",
         "'y' may need 34359738368 bytes",
         "Give smaller largest values: --max-size n.0=N --max-size x.1=N, in JavaScript "
         "compileConfig: { dynamicShapes: { \"n.0\": { max: N }, \"x.1\": { max: N } } }."},
        {"method f {\n  symbol s0 [1, 500000000]\n  input %x: f32[s0]\n"
         "  %a: f32[s0] = aten::sin(%x)\n  %b: f32[s0] = aten::cos(%a)\n"
         "  return %a, %b, %x\n}\n",
         "the method needs 6000000000 bytes", "Give smaller largest values: --max-size x.0=N, "},
        {"method f {\n  input %x: f32[1100000000]\n  %a: f32[1100000000] = aten::sin(%x)\n"
         "  return %a\n}\n",
         "'x' may need 4400000000 bytes", "Use a smaller model"},
    };
    for (size_t i = 0; i < SC_COUNT_OF(cases); i++) {
        setup s;
        begin(&s);
        CHECK_STATUS(emit(&s, str(cases[i].text)), SC_ERR_LIMIT);
        if (!CHECK(strstr(last_message(&s), cases[i].message))) FAIL("%s", last_message(&s));
        const char *hint = sc_vec_last(&s.ctx.diags).hint.data;
        if (!CHECK(hint && strstr(hint, cases[i].hint))) FAIL("%s", hint);
        end(&s);
    }
}

// Two calls, one warning, at the first; what both runtimes can run is no news.
TEST(operators_that_one_runtime_lacks_are_reported) {
    setup s;
    begin(&s);
    REQUIRE_OK(emit(&s, str("method f {\n  input %x: f32[3]\n"
                            "  %a: f32[3] = aten::cumprod(%x, 0)\n"
                            "  %b: f32[3] = aten::cumprod(%a, 0)\n"
                            "  %c: f32[3] = aten::relu(%b)\n  return %c\n}\n")));
    CHECK_EQ_UINT(s.ctx.error_count, 0);
    if (CHECK_EQ_UINT(s.ctx.diags.count, 1)) {
        const sc_diag *diag = &s.ctx.diags.data[0];
        CHECK_EQ_INT(diag->severity, SC_WARNING);
        CHECK_EQ_TEXT(diag->where.node.data, diag->where.node.size, "a");
        CHECK_EQ_STR(diag->message.data,
                     "the official runtime has no kernel for aten::cumprod.out");
    }
    end(&s);
}

// Expanding for that runtime has said of a call why it stays, and where: that is enough.
TEST(warnings_of_expanding_are_not_repeated) {
    setup s;
    begin(&s);
    s.ctx.where = (sc_where){.method = str("f"), .pass = str("official"), .node = str("a")};
    s.ctx.where.op = str("aten::randint");
    sc_report(&s.ctx, SC_WARNING, SC_ERR_UNSUPPORTED_OP, NULL, "within a limit");
    s.ctx.where = (sc_where){.instruction = -1};
    REQUIRE_OK(emit(&s, str("method f {\n"
                            "  %a: i64[3] = aten::randint(1000, [3])\n"
                            "  %b: f32[3] = aten::rand_like(%a, dtype=f32)\n"
                            "  return %a, %b\n}\n")));
    if (CHECK_EQ_UINT(s.ctx.diags.count, 2))
        CHECK_EQ_TEXT(s.ctx.diags.data[1].where.node.data, s.ctx.diags.data[1].where.node.size,
                      "b");
    end(&s);
}

static const struct {
    const char *body, *node, *missing;
} unofficial[] = {
    {"input %x: i32[3]\n  %a: i32[3] = aten::__lshift__.Scalar(%x, 1)\n", "a",
     "aten::__lshift__.Scalar_out"},
    {"input %x: i32[3]\n  %b: i32[3] = aten::__rshift__.Scalar(%x, 1)\n", "b",
     "aten::__rshift__.Scalar_out"},
    {"input %x: f32[3]\n  %c: f32[3] = aten::exp2(%x)\n", "c", "aten::exp2.out"},
};

TEST(a_gap_is_reported_by_node_and_operator) {
    for (size_t i = 0; i < SC_COUNT_OF(unofficial); i++) {
        const char *body = unofficial[i].body, *node = unofficial[i].node;
        setup s;
        begin(&s);
        REQUIRE_OK(
            emit(&s, sc_str_format(&s.arena, "method f {\n  %s  return %%%s\n}\n", body, node)));
        REQUIRE(s.ctx.diags.count == 1);
        const sc_diag *diag = &s.ctx.diags.data[0];
        CHECK_EQ_INT(diag->severity, SC_WARNING);
        CHECK_EQ_INT(diag->code, SC_ERR_UNSUPPORTED_OP);
        CHECK_EQ_TEXT(diag->where.node.data, diag->where.node.size, node);
        CHECK(strstr(diag->message.data, "the official runtime has no kernel for ") &&
              strstr(diag->message.data, unofficial[i].missing));
        end(&s);
    }
}
