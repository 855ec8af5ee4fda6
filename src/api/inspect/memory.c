// The memory plan of a program: the place and lifetime of each value, with the record's names if
// there is one.
#include "api/inspect/inspector.h"
#include "rt/look/look.h"

static const char *const KINDS[SC_RT_PLANNED_KINDS] = {"value", "input", "state", "view", "unused"};

typedef struct planning {
    sc_json_writer *w;
    const sc_rt_memory_info *info;
    const sc_inspect_method *method;  // NULL: no record, or no method of this name
} planning;

static const sc_inspect_method *method_of(const sc_inspector *inspector, sc_str name) {
    for (uint32_t i = 0; i < inspector->method_count; i++)
        if (sc_str_equal(inspector->methods[i].name, name)) return &inspector->methods[i];
    return NULL;
}

// The method's tables, if they belong to this program.
static const sc_inspect_method *fitting(sc_ctx *ctx, const sc_inspector *inspector, sc_str name,
                                        const sc_rt_memory_info *info, uint64_t *work) {
    const sc_inspect_method *m = method_of(inspector, name);
    const bool fits = m && sc_inspect_is_program(ctx, m, info->ops, info->instruction_count, work);
    return fits ? m : NULL;
}

static sc_inspect_handles handles_of(const sc_inspect_method *m, uint32_t instruction) {
    uint32_t low = 0, high = m ? m->instruction_count : 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (m->instructions[middle].index < instruction)
            low = middle + 1;
        else
            high = middle;
    }
    const bool is_there =
        m && low < m->instruction_count && m->instructions[low].index == instruction;
    return is_there ? m->instructions[low].handles : (sc_inspect_handles){0};
}

// Null if there is no instruction.
static void put_instruction(sc_json_writer *w, const char *key, uint32_t instruction) {
    sc_json_key(w, key);
    if (instruction == SC_RT_NO_INSTRUCTION)
        sc_json_add_null(w);
    else
        sc_json_add_u64(w, instruction);
}

// The computation of an instruction: its operator, and the nodes behind it.
static void put_work(const planning *p, uint32_t instruction) {
    const bool is_any = instruction != SC_RT_NO_INSTRUCTION;
    const sc_inspect_handles handles =
        is_any ? handles_of(p->method, instruction) : (sc_inspect_handles){0};
    const sc_inspect_node *n = NULL;
    sc_str source = {0};
    sc_json_put_str(p->w, "op", is_any ? p->info->ops[instruction] : (sc_str){0});
    sc_json_put_array(p->w, "nodes");
    for (uint32_t i = 0; i < handles.count; i++)
        while ((n = sc_inspect_node_of(p->method, handles.data[i], n))) {
            sc_json_add_str(p->w, n->name);
            if (!source.size) source = n->source;
        }
    sc_json_end_array(p->w);
    sc_json_put_str(p->w, "source", source);
}

static void put_value(const planning *p, const sc_rt_planned *v) {
    sc_json_writer *w = p->w;
    sc_json_begin_object(w);
    sc_json_put_u64(w, "value", v->value);
    sc_json_put_text(w, "kind", KINDS[v->kind]);
    sc_json_put_bool(w, "isOutput", v->is_output);
    sc_json_put_u64(w, "memory", v->memory_id);
    sc_json_put_u64(w, "offset", v->offset);
    sc_json_put_u64(w, "bytes", v->info.bytes);
    sc_json_put_text(w, "dtype", sc_dtype_name((sc_dtype)v->info.dtype));
    sc_json_put_array(w, "shape");
    for (uint32_t d = 0; d < v->info.rank; d++) sc_json_add_i64(w, v->info.sizes[d]);
    sc_json_end_array(w);
    sc_json_put_bool(w, "isDynamic", v->info.is_dynamic);
    put_instruction(w, "first", v->first);
    put_instruction(w, "last", v->last);
    const bool is_alive = v->kind != SC_RT_PLANNED_UNUSED;
    put_instruction(w, "from", is_alive ? v->from : SC_RT_NO_INSTRUCTION);
    put_instruction(w, "until", is_alive ? v->until : SC_RT_NO_INSTRUCTION);
    put_instruction(w, "writer", v->writer);
    const bool has_base = v->kind == SC_RT_PLANNED_VIEW && v->base != SC_RT_NO_INSTRUCTION;
    put_instruction(w, "base", has_base ? p->info->values[v->base].value : SC_RT_NO_INSTRUCTION);
    put_work(p, v->writer);
    sc_json_end_object(w);
}

static void put_peak(const planning *p) {
    sc_json_key(p->w, "peak");
    if (p->info->peak == SC_RT_NO_INSTRUCTION) {
        sc_json_add_null(p->w);
        return;
    }
    sc_json_begin_object(p->w);
    sc_json_put_u64(p->w, "instruction", p->info->peak);
    sc_json_put_u64(p->w, "bytes", p->info->live[p->info->peak]);
    put_work(p, p->info->peak);
    sc_json_end_object(p->w);
}

static void put_method(const planning *p, sc_str name) {
    sc_json_writer *w = p->w;
    sc_json_begin_object(w);
    sc_json_put_str(w, "method", name);
    sc_json_put_array(w, "memories");
    for (uint32_t i = 0; i < p->info->memory_count; i++) {
        sc_json_begin_object(w);
        sc_json_put_u64(w, "id", i + 1);
        sc_json_put_u64(w, "bytes", p->info->bytes[i]);
        sc_json_end_object(w);
    }
    sc_json_end_array(w);
    put_peak(p);
    sc_json_put_array(w, "live");
    for (uint32_t i = 0; i < p->info->instruction_count; i++) sc_json_add_u64(w, p->info->live[i]);
    sc_json_end_array(w);
    sc_json_put_array(w, "values");
    for (uint32_t i = 0; i < p->info->value_count; i++) put_value(p, &p->info->values[i]);
    sc_json_end_array(w);
    sc_json_end_object(w);
}

sc_status sc_inspector_put_memory(sc_ctx *ctx, const sc_inspector *inspector, sc_json_writer *w) {
    const sc_rt_program *program = inspector->program;
    uint64_t work = 0;
    sc_json_begin_array(w);
    for (uint32_t i = 0; i < sc_rt_program_method_count(program); i++) {
        const sc_str name = sc_rt_program_method_name(program, i);
        sc_rt_memory_info info;
        SC_TRY(sc_rt_memory_info_get(ctx, program, i, ctx->scratch, &info));
        const planning p = {
            .w = w, .info = &info, .method = fitting(ctx, inspector, name, &info, &work)};
        put_method(&p, name);
    }
    sc_json_end_array(w);
    return SC_OK;
}

// --- Pairs that do not belong together -----------------------------------------------------------

static void put_misfit(sc_json_writer *w, sc_ctx *ctx, sc_str name, bool has_method) {
    const char *why = has_method ? "has different instructions in the program than in the record, "
                                   "so the record gives its values no names"
                                 : "is not in the record, so the record gives its values no names";
    sc_mark mark = sc_arena_mark(ctx->scratch);
    sc_json_add_str(
        w, sc_str_format(ctx->scratch, "method '" SC_STR_FMT "' %s", SC_STR_ARG(name), why));
    sc_arena_rewind(ctx->scratch, mark);
}

static void check_method(sc_ctx *ctx, const sc_inspector *inspector, uint32_t index,
                         sc_json_writer *w, uint64_t *work) {
    const sc_str name = sc_rt_program_method_name(inspector->program, index);
    const sc_diag_mark diags = sc_diags_mark(ctx);
    sc_rt_memory_info info;
    // An error in the plan itself is reported only to callers that request the plan.
    if (sc_rt_memory_info_get(ctx, inspector->program, index, ctx->scratch, &info) != SC_OK)
        sc_diags_rewind(ctx, diags);
    else if (info.instruction_count > 0 && !fitting(ctx, inspector, name, &info, work))
        put_misfit(w, ctx, name, method_of(inspector, name) != NULL);
}

void sc_inspector_put_misfits(sc_ctx *ctx, const sc_inspector *inspector, sc_json_writer *w) {
    if (!inspector->program || !inspector->record.has_debug_handle_map) return;
    const uint32_t count = sc_rt_program_method_count(inspector->program);
    uint64_t work = 0;
    for (uint32_t i = 0; i < count; i++) check_method(ctx, inspector, i, w, &work);
}
