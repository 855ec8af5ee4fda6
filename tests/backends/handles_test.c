// Every node of an edge program has a debug handle and an origin, which is a node of the program
// that was exported; what is made executable of it keeps them, in parts and bodies too; and what
// XNNPACK tells while it runs are the events that its compiler half has mapped to handles.
#include <stdio.h>

#include "api/compile/backends.h"
#include "api/compile/executable.h"
#include "api/compiling.h"
#include "api/run/backends.h"
#include "api/run/running.h"
#include "harness.h"
#include "program_fbs.h"
#include "rt/event.h"
#include "rt/setup.h"

static void fail_node(const char *what, const sc_node *node) {
    FAIL("%%%s (%s, origin %s, handle %u) %s", node->name->text, node->op->name,
         node->meta.origin ? node->meta.origin->text : "none", node->meta.debug_handle, what);
}

// --- The source ----------------------------------------------------------------------------------

typedef struct sources {
    sc_imap origins;  // of the nodes of one method of the exported program
    sc_imap handles;  // of the edge program -> origin
    uint32_t count;   // of nodes that were looked at
} sources;

static sc_status note_origins(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    sources *s = user;
    for (const sc_node *node = graph->first; node; node = node->next)
        sc_imap_set(&s->origins, SC_PTR_KEY(node->meta.origin), 1);
    return SC_OK;
}

// One origin has one handle, and one handle one origin.
static void check_pair(sources *s, const sc_node *node) {
    const uint64_t *known = sc_imap_find(&s->handles, node->meta.debug_handle);
    if (known && *known != SC_PTR_KEY(node->meta.origin))
        fail_node("has the handle of another origin", node);
    sc_imap_set(&s->handles, node->meta.debug_handle, SC_PTR_KEY(node->meta.origin));
}

// State written back from what a part gives, or from an input, has no node in the source.
static bool is_made_up(const sc_node *node) {
    if (!sc_op_has(node->op, SC_MUTATES)) return false;
    const sc_node *from = node->args[1].value->node;
    return !from || sc_node_part(from);
}

static sc_status check_nodes(sc_ctx *ctx, sc_graph *graph, void *user) {
    sources *s = user;
    for (const sc_node *node = graph->first; node; node = node->next) {
        const sc_part *part = sc_node_part(node);
        s->count++;
        if (!node->meta.debug_handle) fail_node("has no handle", node);
        if (part) {
            SC_TRY(sc_graphs_visit(ctx, part->method->graph, check_nodes, user));
            continue;
        }
        if (!node->meta.origin && is_made_up(node)) continue;
        if (!node->meta.origin || !sc_imap_find(&s->origins, SC_PTR_KEY(node->meta.origin)))
            fail_node("has an origin that is not in the exported program", node);
        check_pair(s, node);
    }
    return SC_OK;
}

static void check_program(sc_job *job, const sc_program *program) {
    const sc_program *exported = sc_job_compiling(job)->versions.data[0].program;
    sc_ctx *ctx = sc_job_ctx(job);
    for (uint32_t m = 0; m < program->methods.count; m++) {
        const sc_method *method = program->methods.data[m];
        const sc_method *source = sc_program_method(exported, sc_name_str(method->name));
        sources s = {0};
        sc_imap_init(&s.origins, &job->arena);
        sc_imap_init(&s.handles, &job->arena);
        CHECK_OK(sc_graphs_visit(ctx, source->graph, note_origins, &s));
        CHECK_OK(sc_graphs_visit(ctx, method->graph, check_nodes, &s));
    }
}

// --- The plan ------------------------------------------------------------------------------------

static uint32_t highest_handle(const sc_emit_plan *plan) {
    uint32_t highest = 0;
    for (uint32_t i = 0; i < plan->instruction_count; i++)
        highest = sc_max_u32(highest, plan->debug_handles[i]);
    return highest;
}

// No id is part of another.
static void check_ids(const sc_part *part) {
    const uint32_t count = part->events.count;
    const char **ids = test_alloc((count + 1) * sizeof *ids);
    for (uint32_t i = 0; i < count; i++)
        ids[i] = test_format(SC_STR_FMT, SC_STR_ARG(part->events.data[i].name));
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < count; k++)
            if (i != k && strstr(ids[i], ids[k])) FAIL("'%s' is part of '%s'", ids[k], ids[i]);
}

static bool is_mapped(const sc_part *part, uint32_t handle) {
    for (uint32_t i = 0; i < part->events.count; i++)
        for (uint32_t k = 0; k < part->events.data[i].handle_count; k++)
            if (part->events.data[i].handles[k] == handle) return true;
    return false;
}

// No node of a part is forgotten, whatever it was fused with.
static void check_events(const sc_emit_plan *plan, const sc_emit_part_call *call) {
    if (!call->part->has_events) return;
    for (uint32_t i = 0; i < call->handle_count; i++)
        if (call->handles[i] != plan->debug_handles[call->instruction] &&
            !is_mapped(call->part, call->handles[i]))
            FAIL("handle %u of %s is in no event", call->handles[i],
                 call->part->method->name->text);
}

static void check_part_call(const sc_emit_plan *plan, const sc_emit_part_call *call) {
    CHECK_EQ_UINT(plan->nodes[call->instruction]->out_count, call->output_count);
    CHECK(call->handle_count >= call->output_count);
    for (uint32_t i = 0; i < call->handle_count; i++) CHECK(call->handles[i] > 0);
    CHECK(plan->debug_handles[call->instruction] > 0);
    check_ids(call->part);
    check_events(plan, call);
}

static void check_instruction(const sc_emit_plan *plan, uint32_t index, sc_fb_table instruction) {
    const uint8_t type = sc_pte_Instruction_instr_args_type(instruction);
    const bool is_call = type == SC_PTE_InstructionArguments_KernelCall ||
                         type == SC_PTE_InstructionArguments_DelegateCall;
    if (is_call != (plan->debug_handles[index] > 0))
        FAIL("instruction %u of type %u has handle %u", index, type, plan->debug_handles[index]);
    if (plan->nodes[index])
        CHECK_EQ_UINT(plan->nodes[index]->meta.debug_handle, plan->debug_handles[index]);
    CHECK(is_call || !plan->nodes[index]);
}

static void check_plan(const sc_emit_plan *plan, sc_fb_table written) {
    sc_fb_table chain = sc_fb_vec_table(sc_pte_ExecutionPlan_chains(written), 0);
    sc_fb_vec instructions = sc_pte_Chain_instructions(chain);
    uint32_t next = 0;
    if (!CHECK_EQ_UINT(instructions.count, plan->instruction_count)) return;
    for (uint32_t i = 0; i < instructions.count; i++) {
        sc_fb_table instruction = sc_fb_vec_table(instructions, i);
        check_instruction(plan, i, instruction);
        if (sc_pte_Instruction_instr_args_type(instruction) !=
            SC_PTE_InstructionArguments_DelegateCall)
            continue;
        if (!CHECK(next < plan->part_calls.count)) return;
        CHECK_EQ_UINT(plan->part_calls.data[next].instruction, i);
        check_part_call(plan, &plan->part_calls.data[next++]);
    }
    CHECK_EQ_UINT(next, plan->part_calls.count);
    if (plan->instruction_count > 8) CHECK(highest_handle(plan) > 1);
}

// --- Events at run time --------------------------------------------------------------------------

typedef struct hearer {
    sc_rt_sink sink;
    const sc_emit_plan *plan;
    const sc_emit_part_call *call;  // under way
    uint32_t next;                  // of its events
    uint32_t reported, shown;
} hearer;

static const sc_emit_part_call *call_at(const sc_emit_plan *plan, uint32_t instruction) {
    for (uint32_t i = 0; i < plan->part_calls.count; i++)
        if (plan->part_calls.data[i].instruction == instruction) return &plan->part_calls.data[i];
    return NULL;
}

static void hear_begin(sc_rt_sink *sink, const sc_rt_event *event) {
    hearer *h = sink->user;
    if (event->work != SC_RT_DELEGATE || event->kind < SC_RT_EVENT_INSTRUCTION) return;
    if (event->kind == SC_RT_EVENT_INSTRUCTION) {
        h->call = call_at(h->plan, event->origins[0].index);
        h->next = 0;
        CHECK(h->call);
        return;
    }
    CHECK(h->call && h->call->instruction == event->origins[0].index);
    if (!h->call || !CHECK(h->next < h->call->part->events.count)) return;
    const sc_part_event *mapped = &h->call->part->events.data[h->next++];
    if (!sc_str_equal(mapped->name, event->delegate_id) || mapped->id != event->delegate_number)
        FAIL("'" SC_STR_FMT "' is told, but '" SC_STR_FMT "' is mapped",
             SC_STR_ARG(event->delegate_id), SC_STR_ARG(mapped->name));
    h->reported++;
}

static void hear_end(sc_rt_sink *sink, const sc_rt_event *event, sc_status status) {
    hearer *h = sink->user;
    CHECK_OK(status);
    if (event->kind != SC_RT_EVENT_INSTRUCTION || !h->call) return;
    if (h->call->part->has_events) CHECK_EQ_UINT(h->next, h->call->part->events.count);
    h->call = NULL;
}

static void hear_output(sc_rt_sink *sink, const sc_rt_event *event, const sc_evalue *value) {
    hearer *h = sink->user;
    h->shown += event->kind == SC_RT_EVENT_DELEGATE;
    CHECK(event->kind != SC_RT_EVENT_DELEGATE || value->tag == SC_EVALUE_TENSOR);
}

// The program that was made, run once with everybody listening.
static void check_run(sc_job *job, const sc_emit_result *made, bool is_heard_out) {
    setup s;
    sc_rt_options options;
    sc_source *data =
        made->files.count ? sc_source_from_cord(&job->arena, &made->files.data[0].cord) : NULL;
    sc_rt_options_default(&options);
    options.backends = &sc_all_rt_backends;
    options.data_files = &data;
    options.data_file_count = data != NULL;
    setup_begin(&s);
    sc_source *pte = sc_source_from_cord(&job->arena, &made->program);
    if (CHECK_OK(sc_rt_program_open(&s.ctx, pte, &options, &s.program)) &&
        setup_load(&s, made->plans.data[0].name->text)) {
        hearer h = {.plan = &made->plans.data[0]};
        h.sink = (sc_rt_sink){hear_begin, hear_end, hear_output, &h};
        setup_fill(&s);
        sc_rt_program_listen(s.program, &h.sink);
        CHECK_OK(sc_rt_method_run(&s.ctx, s.method));
        CHECK(!is_heard_out || h.reported > 0);
        CHECK(h.shown >= h.reported);
    }
    setup_end(&s);
}

// --- All of it -----------------------------------------------------------------------------------

static bool open_file(sc_job *job, const char *file) {
    size_t bytes = 0;
    const char *data = test_read(file, &bytes);
    sc_source *source = sc_source_from_memory(sc_job_ctx(job)->arena, data, bytes);
    return sc_compile_open(job, source, SC_STR("forward"), (sc_str){0}) == SC_OK;
}

static void check_executable(sc_job *job, uint32_t version, const char *backend) {
    const sc_options options = sc_options_default();
    sc_ctx *ctx = sc_job_ctx(job);
    sc_pipeline pipeline = {.verify = true, .arena = &job->arena, .env = {.options = &options}};
    sc_program *program = NULL;
    sc_executable made;
    REQUIRE_OK(sc_program_clone(sc_job_compiling(job)->versions.data[version].program, &program));
    const sc_status status = sc_make_executable(ctx, &pipeline, program, &made);
    // Exported without a largest size, or with an operator of another library.
    if (status == SC_ERR_UNBOUNDED || status == SC_ERR_UNSUPPORTED_OP) return;
    REQUIRE_OK(status);
    check_program(job, program);
    const uint8_t *bytes = NULL;
    REQUIRE_OK(sc_cord_flatten(ctx, &made.result.program, &job->arena, UINT32_MAX, &bytes));
    sc_fb_vec plans = sc_pte_Program_execution_plan(sc_fb_root(bytes));
    for (uint32_t i = 0; i < made.result.plans.count; i++)
        if (!made.result.plans.data[i].is_constant)
            check_plan(&made.result.plans.data[i], sc_fb_vec_table(plans, i));
    const bool has_calls = made.result.plans.data[0].part_calls.count > 0;
    check_run(job, &made.result, has_calls && backend && strcmp(backend, "xnnpack") == 0);
}

static void check_file(const char *file, const char *backend) {
    sc_job *job = sc_job_open(NULL);
    uint32_t edge = 0, version;
    const char *all = test_format("{\"all\": [{\"backend\": \"%s\"}]}", backend);
    if (!open_file(job, file)) {
        FAIL("cannot be opened");
    } else if (sc_compile_to_edge(job, 0, (sc_str){0}, &edge) == SC_OK) {
        check_program(job, sc_job_compiling(job)->versions.data[edge].program);
        version = edge;
        sc_status status = SC_OK;
        if (backend)
            status = sc_compile_to_backend(job, edge, sc_str_from(all), (sc_str){0}, &version);
        CHECK(status == SC_OK || status == SC_ERR_UNBOUNDED);
        if (status == SC_OK) {
            check_program(job, sc_job_compiling(job)->versions.data[version].program);
            check_executable(job, version, backend);
        }
    }
    sc_job_close(job);
}

TEST_CASES(every_node_has_a_handle_and_an_origin) {
    static const char *const folders[] = {"models", "symbolic", "import"};
    static const char *const backends[] = {NULL, "null", "xnnpack"};
    for (uint32_t f = 0; f < SC_COUNT_OF(folders); f++) {
        size_t count;
        const char **files = test_list(folders[f], ".pt2", &count);
        CHECK(count > 0);
        for (size_t i = 0; i < count; i++)
            for (uint32_t b = 0; b < SC_COUNT_OF(backends); b++) {
                const char *name = strrchr(files[i], '/') + 1;
                if (strstr(name, "package")) continue;
                if (test_case("%s/%s, %s", folders[f], name,
                              backends[b] ? backends[b] : "portable"))
                    check_file(test_format("%s/%s", folders[f], name), backends[b]);
            }
    }
}
