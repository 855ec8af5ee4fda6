// The program that calibration runs: the prepared one, with an observer at every place that needs
// one. The observations are state, and the program returns only them, so that only values for
// observers are computed.
#include "quant/plan.h"

#include "observe/observe.h"
#include "passes/passes.h"

static sc_observe_kind kind_of(const quant_group *group) {
    if (group->spec.kind == QUANT_ACTIVATION) return SC_OBSERVE_HISTOGRAM;
    return group->spec.by_channel ? SC_OBSERVE_CHANNELS : SC_OBSERVE_MIN_MAX;
}

static const quant_group *group_of(const sc_quant_plan *plan, uint32_t observer) {
    return &plan->groups.data[plan->observers.data[observer]];
}

sc_observe_kind sc_quant_observe_kind(const sc_quant_plan *plan, uint32_t observer) {
    return kind_of(group_of(plan, observer));
}

uint32_t sc_quant_observer_count(const sc_quant_plan *plan) { return plan->observers.count; }

uint64_t sc_quant_state_floats(const sc_quant_plan *plan, uint32_t observer) {
    const quant_group *group = group_of(plan, observer);
    return sc_observe_state_floats(kind_of(group), group->channels);
}

// Metadata of a new node: that of the node it serves, so that readers find the user's line.
sc_meta sc_quant_meta(const quant_probe *probe) {
    const sc_node *node = probe->value->node;
    if (!node && probe->users.count > 0) node = probe->users.data[0];
    if (!node) return (sc_meta){0};
    sc_meta meta = node->meta;
    meta.origin = sc_node_origin(node);
    return meta;
}

typedef struct observed {
    const sc_quant_plan *plan;
    sc_method *method;
    sc_imap twins;      // value or node of the prepared method -> its copy
    sc_value **states;  // the newest state of each observer
} observed;

static void pair_values(observed *o, sc_value *const *from, sc_value *const *to, uint32_t count) {
    for (uint32_t i = 0; i < count; i++)
        sc_imap_set(&o->twins, SC_PTR_KEY(from[i]), SC_PTR_KEY(to[i]));
}

static void pair(observed *o, const sc_graph *from, const sc_graph *to) {
    sc_imap_init(&o->twins, o->plan->ctx->scratch);
    pair_values(o, from->inputs.data, to->inputs.data, from->inputs.count);
    const sc_node *twin = to->first;
    for (const sc_node *node = from->first; node; node = node->next, twin = twin->next) {
        SC_ASSERT(twin && twin->op == node->op && twin->out_count == node->out_count);
        sc_imap_set(&o->twins, SC_PTR_KEY(node), SC_PTR_KEY(twin));
        pair_values(o, node->outs, twin->outs, node->out_count);
    }
}

static void *twin_of(const observed *o, const void *original) {
    const uint64_t *found = sc_imap_find(&o->twins, SC_PTR_KEY(original));
    return found ? (void *)(uintptr_t)*found : NULL;
}

static sc_status copy_method(observed *o, sc_program *program) {
    const sc_method *from = o->plan->method;
    SC_TRY(sc_program_add_method(program, sc_name_str(from->name), &o->method));
    o->method->exprs = from->exprs;
    o->method->facts = from->facts;
    o->method->in_spec = from->in_spec;
    o->method->arg_names = from->arg_names;
    o->method->torch_version = from->torch_version;
    for (uint32_t i = 0; i < from->inputs.count; i++)
        sc_vec_push(program->ctx->arena, &o->method->inputs, from->inputs.data[i]);
    SC_TRY(sc_graph_clone(from->graph, o->method, NULL, &o->method->graph));
    pair(o, from->graph, o->method->graph);
    return SC_OK;
}

static void add_states(observed *o) {
    sc_arena *arena = o->plan->ctx->arena;
    o->states = sc_new_array(arena, sc_value *, (size_t)o->plan->observers.count + 1);
    for (uint32_t i = 0; i < o->plan->observers.count; i++) {
        const uint64_t floats = sc_quant_state_floats(o->plan, i);
        sc_constant *constant = sc_new(arena, sc_constant);
        constant->name = sc_str_format(arena, "_observer.%s.%u", o->method->name->text, i);
        constant->spec = sc_spec_new(arena, SC_DTYPE_F32, 1);
        constant->spec.sizes[0] = sc_dim_int((int64_t)floats);
        sc_spec_set_contiguous(o->method->exprs, &constant->spec);
        constant->data = sc_extent_whole(sc_source_zeros(arena, floats * sizeof(float)));
        constant->persistent = true;
        o->states[i] = sc_graph_add_input(o->method->graph, constant->name, SC_VALUE_TENSOR);
        o->states[i]->spec = constant->spec;
        const sc_input_sig sig = {.kind = SC_INPUT_BUFFER,
                                  .target = constant->name,
                                  .constant = constant,
                                  .persistent = true};
        sc_vec_push(arena, &o->method->inputs, sig);
    }
}

static sc_status observe(observed *o, quant_place place) {
    const quant_probe *probe = &o->plan->probes.data[place.probe];
    const quant_group *group = &o->plan->groups.data[probe->group];
    if (group->observer == SC_QUANT_NO) return SC_OK;
    const sc_meta meta = sc_quant_meta(probe);
    const sc_arg args[] = {sc_arg_value(twin_of(o, probe->value)),
                           sc_arg_value(o->states[group->observer]), sc_arg_int(kind_of(group)),
                           sc_arg_int(group->spec.axis)};
    sc_node *before = twin_of(o, place.before), *node;
    SC_TRY(
        sc_build(o->method->graph, before, sc_op_get(SC_OP_sconce_observe), args, 4, &meta, &node));
    o->states[group->observer] = node->outs[0];
    return SC_OK;
}

static sc_status observe_all(observed *o) {
    const quant_order order = sc_quant_order(o->plan);
    for (uint32_t i = 0; i < order.count; i++) SC_TRY(observe(o, order.data[i]));
    return SC_OK;
}

static void add_output(observed *o, sc_output_kind kind, sc_str target) {
    const sc_output_sig sig = {.kind = kind, .target = target};
    sc_vec_push(o->plan->ctx->arena, &o->method->outputs, sig);
}

// The program's own state continues from run to run, too.
static void set_outputs(observed *o) {
    const sc_method *from = o->plan->method;
    const sc_node *ret = o->method->graph->ret;
    sc_arena *arena = o->plan->ctx->arena;
    SC_VEC(sc_arg) args = {0};
    for (uint32_t i = 0; i < from->outputs.count; i++) {
        const sc_output_sig *sig = &from->outputs.data[i];
        if (sig->kind != SC_OUTPUT_BUFFER_MUTATION && sig->kind != SC_OUTPUT_PARAMETER_MUTATION)
            continue;
        sc_vec_push(arena, &args, ret->args[i]);
        add_output(o, sig->kind, sig->target);
    }
    for (uint32_t i = 0; i < o->plan->observers.count; i++) {
        sc_vec_push(arena, &args, sc_arg_value(o->states[i]));
        add_output(o, SC_OUTPUT_BUFFER_MUTATION,
                   sc_str_format(arena, "_observer.%s.%u", o->method->name->text, i));
    }
    for (uint32_t i = 0; i < o->plan->observers.count; i++) {
        sc_vec_push(arena, &args, sc_arg_value(o->states[i]));
        add_output(o, SC_OUTPUT_USER, SC_STR(""));
    }
    sc_graph_set_outputs(o->method->graph, args.data, args.count);
}

sc_status sc_quant_observed(sc_ctx *ctx, const sc_quant_plan *plan, sc_program **out) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    observed o = {.plan = plan};
    sc_program *program = sc_program_new(ctx);
    SC_TRY(copy_method(&o, program));
    add_states(&o);
    SC_TRY(observe_all(&o));
    set_outputs(&o);
    sc_arena_rewind(ctx->scratch, mark);
    SC_TRY(sc_pass_sweep(ctx, o.method));
    *out = program;
    return sc_verify(ctx, program);
}
