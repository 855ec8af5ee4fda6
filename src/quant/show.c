// Observers as nodes: a prepared graph in which every probe is a call that gives what it is given,
// for passes of the user's own, and back. Readers of the call are those that read a quantized
// value.
#include "quant/plan.h"

static bool is_observer(const sc_node *node) {
    return node->op && node->op->id == SC_OP_sconce_observer;
}

static const sc_node *observer_of(const sc_value *value) {
    return value->node && is_observer(value->node) ? value->node : NULL;
}

// --- Into the graph ------------------------------------------------------------------------------

static bool reads_output(const sc_quant_plan *plan, const quant_probe *probe, sc_node *user) {
    const quant_key *key = sc_quant_key(plan, probe->value, user);
    return probe->is_output && !is_observer(user) && !(key && key->probe != SC_QUANT_NO);
}

static bool takes_part(const sc_quant_plan *plan, uint32_t index, sc_node *user) {
    const quant_key *key = sc_quant_key(plan, plan->probes.data[index].value, user);
    return key && key->probe == index && !is_observer(user);
}

static sc_status show(sc_quant_plan *plan, quant_place place) {
    quant_probe *probe = &plan->probes.data[place.probe];
    sc_value *from =
        probe->after == SC_QUANT_NO ? probe->value : plan->probes.data[probe->after].out;
    const sc_arg args[] = {sc_arg_value(from), sc_arg_int(probe->group)};
    const sc_meta meta = sc_quant_meta(probe);
    sc_node *node;
    SC_TRY(sc_build(plan->method->graph, place.before, sc_op_get(SC_OP_sconce_observer), args, 2,
                    &meta, &node));
    probe->out = node->outs[0];
    sc_imap_set(&plan->shown, SC_PTR_KEY(node), (uint64_t)place.probe + 1);
    for (sc_arg *use = probe->value->first_use, *next; use; use = next) {
        next = use->next_use;
        if (takes_part(plan, place.probe, use->user) || reads_output(plan, probe, use->user))
            sc_arg_set(use, sc_arg_value(probe->out));
    }
    return SC_OK;
}

sc_status sc_quant_show_observers(sc_ctx *ctx, sc_quant_plan *plan) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    const quant_order order = sc_quant_order(plan);
    sc_status status = SC_OK;
    sc_imap_init(&plan->shown, ctx->arena);
    for (uint32_t i = 0; i < order.count && status == SC_OK; i++)
        status = show(plan, order.data[i]);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}

// --- Out of the graph ----------------------------------------------------------------------------

typedef struct hiding {
    sc_quant_plan *plan;
    quant_probe *old;  // the probes that were shown
    uint32_t *was;     // by key: its probe among them
    uint32_t key_count;
    bool is_calibrated;
    sc_imap probe_of;  // call of an observer -> index + 1 of its probe
    sc_imap direct;    // value that no observer gives -> number + 1 of its observer
} hiding;

static sc_status refuse(const hiding *h, const sc_node *node, const char *why) {
    sc_where_set_node(h->plan->ctx, node);
    return sc_fail(h->plan->ctx, SC_ERR_ARGUMENT,
                   "Move, copy or erase the observers that the program has.",
                   "the observer '%s' %s", node->name->text, why);
}

static bool fits_channels(const quant_group *group, const sc_spec *spec, bool is_calibrated) {
    const uint32_t axis = group->spec.axis;
    if (!group->spec.by_channel) return true;
    if (axis >= spec->rank || !sc_dim_is_int(spec->sizes[axis])) return false;
    return (!is_calibrated && group->probes.count == 0) ||
           (uint64_t)spec->sizes[axis].value == group->channels;
}

static sc_status check_observer(const hiding *h, const sc_node *node) {
    const sc_quant_plan *plan = h->plan;
    const sc_arg *number = &node->args[1];
    const sc_spec *spec = &node->outs[0]->spec;
    const sc_dtype dtype = (sc_dtype)spec->dtype;
    if (number->kind != SC_ARG_INT || number->i < 0 || number->i >= (int64_t)plan->groups.count)
        return refuse(h, node, "has a number that no observer of the program had");
    const quant_group *group = &plan->groups.data[number->i];
    if (dtype != SC_DTYPE_F32 && !sc_dtype_is_half(dtype))
        return refuse(h, node, "observes a tensor that is not of floats");
    if (!fits_channels(group, spec, h->is_calibrated))
        return refuse(h, node, "observes channels, and its tensor has another number of them");
    if (h->is_calibrated && !group->is_weight && !group->range.is_dynamic &&
        group->observer == SC_QUANT_NO)
        return refuse(h, node, "has a number that observed no values");
    return SC_OK;
}

// The probe of a call, and the value that it observes: a call may observe what another one gives.
static sc_status add_probe(hiding *h, sc_node *node) {
    sc_quant_plan *plan = h->plan;
    const uint64_t *shown = sc_imap_find(&plan->shown, SC_PTR_KEY(node));
    quant_probe probe = {.value = node->args[0].value,
                         .after = SC_QUANT_NO,
                         .group = (uint32_t)node->args[1].i,
                         .is_output = shown && h->old[*shown - 1].is_output};
    const sc_node *before = observer_of(probe.value);
    if (before) {
        probe.after = (uint32_t)*sc_imap_find(&h->probe_of, SC_PTR_KEY(before)) - 1;
        probe.value = plan->probes.data[probe.after].value;
        probe.is_output = false;
    } else {
        const uint64_t *other = sc_imap_find(&h->direct, SC_PTR_KEY(probe.value));
        if (other && *other != (uint64_t)probe.group + 1)
            return refuse(h, node,
                          "observes a value that an observer of another number observes; let it "
                          "observe the result of that one");
        sc_imap_set(&h->direct, SC_PTR_KEY(probe.value), (uint64_t)probe.group + 1);
    }
    if (plan->groups.data[probe.group].probes.count == 0 && !h->is_calibrated &&
        plan->groups.data[probe.group].spec.by_channel)
        plan->groups.data[probe.group].channels =
            (uint64_t)node->outs[0]->spec.sizes[plan->groups.data[probe.group].spec.axis].value;
    const uint32_t index = sc_quant_append_probe(plan, probe);
    sc_imap_set(&h->probe_of, SC_PTR_KEY(node), (uint64_t)index + 1);
    return SC_OK;
}

// Had the reader a scale of its own, or does it read what others do?
static bool was_part(const hiding *h, const sc_node *node, sc_node *user) {
    const uint64_t *shown = sc_imap_find(&h->plan->shown, SC_PTR_KEY(node));
    if (!shown) return false;
    const quant_key *key = sc_quant_key(h->plan, h->old[*shown - 1].value, user);
    const size_t index = key ? (size_t)(key - h->plan->keys.data) : h->key_count;
    return index < h->key_count && h->was[index] == *shown - 1;
}

static sc_status two_ways(const hiding *h, const sc_node *user, const sc_value *value) {
    sc_where_set_node(h->plan->ctx, user);
    return sc_fail(h->plan->ctx, SC_ERR_ARGUMENT, "Let it read one observer of the value, or none.",
                   "'%s' reads '%s' in two ways: by an observer, and by another or itself",
                   user->name->text, value->name->text);
}

static sc_status claim(const hiding *h, sc_node *user, sc_value *value, uint32_t probe,
                       uint32_t group) {
    quant_key *key = sc_quant_take_key(h->plan, (quant_use){value, user}, group);
    if (key->probe != SC_QUANT_NO && key->probe != probe) return two_ways(h, user, value);
    if (key->probe == SC_QUANT_NO && probe != QUANT_RAW)
        sc_vec_push(h->plan->ctx->arena, &h->plan->probes.data[probe].users, user);
    key->probe = probe;
    key->group = group;
    return SC_OK;
}

static sc_status add_readers(const hiding *h, const sc_node *node) {
    const uint32_t index = (uint32_t)*sc_imap_find(&h->probe_of, SC_PTR_KEY(node)) - 1;
    const quant_probe *probe = &h->plan->probes.data[index];
    for (const sc_arg *use = node->outs[0]->first_use; use; use = use->next_use) {
        if (is_observer(use->user)) continue;
        const quant_key *key = sc_quant_key(h->plan, probe->value, use->user);
        if (key && key->probe != SC_QUANT_NO && key->probe != index)
            return two_ways(h, use->user, probe->value);
        if (probe->is_output && !was_part(h, node, use->user)) continue;
        SC_TRY(claim(h, use->user, probe->value, index, probe->group));
    }
    return SC_OK;
}

// A node that reads a value next to its observer reads the value unchanged.
static sc_status add_raw_readers(const hiding *h, const sc_node *node) {
    sc_value *value = node->args[0].value;
    if (observer_of(value)) return SC_OK;
    for (const sc_arg *use = value->first_use; use; use = use->next_use)
        if (!is_observer(use->user))
            SC_TRY(claim(h, use->user, value, QUANT_RAW, (uint32_t)node->args[1].i));
    return SC_OK;
}

static sc_status each_observer(hiding *h, sc_status (*visit)(hiding *h, sc_node *node)) {
    for (sc_node *node = h->plan->method->graph->first, *next; node; node = next) {
        next = node->next;
        if (is_observer(node)) SC_TRY(visit(h, node));
    }
    return SC_OK;
}

static sc_status take_in(hiding *h, sc_node *node) {
    SC_TRY(check_observer(h, node));
    return add_probe(h, node);
}

static sc_status take_readers(hiding *h, sc_node *node) {
    SC_TRY(add_raw_readers(h, node));
    return add_readers(h, node);
}

static sc_status take_out(hiding *h, sc_node *node) {
    (void)h;
    sc_replace_uses(node->outs[0], node->args[0].value);
    sc_node_erase(node);
    return SC_OK;
}

static sc_status refuse_in_body(sc_ctx *ctx, sc_graph *graph, void *user) {
    (void)ctx;
    if (!graph->parent) return SC_OK;
    for (const sc_node *node = graph->first; node; node = node->next)
        if (is_observer(node))
            return refuse(user, node, "stands in a body of control flow, where none can");
    return SC_OK;
}

// A weight keeps its number once others have been calibrated with it.
static sc_status check_groups(const hiding *h) {
    for (uint32_t i = 0; h->is_calibrated && i < h->plan->groups.count; i++) {
        const quant_group *group = &h->plan->groups.data[i];
        if (group->probes.count == 0 || !group->is_weight) continue;
        if (sc_quant_is_plain_weight(h->plan, group)) continue;
        return sc_fail(h->plan->ctx, SC_ERR_ARGUMENT,
                       "Move it before calibration, in postPreparePasses.",
                       "observer %u was of a weight, and is of a value that no call has shown", i);
    }
    return SC_OK;
}

static void keep_old(hiding *h) {
    const sc_quant_plan *plan = h->plan;
    h->old = sc_new_array(plan->ctx->arena, quant_probe, (size_t)plan->probes.count + 1);
    for (uint32_t i = 0; i < plan->probes.count; i++) h->old[i] = plan->probes.data[i];
    h->key_count = plan->keys.count;
    h->was = sc_new_array(plan->ctx->scratch, uint32_t, (size_t)h->key_count + 1);
    for (uint32_t i = 0; i < h->key_count; i++) h->was[i] = plan->keys.data[i].probe;
}

static sc_status hide(hiding *h) {
    sc_quant_plan *plan = h->plan;
    keep_old(h);
    sc_imap_init(&h->probe_of, plan->ctx->scratch);
    sc_imap_init(&h->direct, plan->ctx->scratch);
    SC_TRY(sc_graphs_visit(plan->ctx, plan->method->graph, refuse_in_body, h));
    sc_quant_clear_probes(plan);
    SC_TRY(each_observer(h, take_in));
    SC_TRY(each_observer(h, take_readers));
    SC_TRY(each_observer(h, take_out));
    if (!h->is_calibrated) sc_quant_choose_observers(plan);
    SC_TRY(check_groups(h));
    for (uint32_t i = 0; i < plan->groups.count; i++)
        plan->groups.data[i].range.place_count = plan->groups.data[i].probes.count;
    sc_quant_tell_taken_away(plan);
    return SC_OK;
}

sc_status sc_quant_hide_observers(sc_ctx *ctx, sc_quant_plan *plan, bool is_calibrated) {
    const sc_mark mark = sc_arena_mark(ctx->scratch);
    hiding h = {.plan = plan, .is_calibrated = is_calibrated};
    sc_where_set_method(ctx, plan->method);
    const sc_status status = hide(&h);
    sc_arena_rewind(ctx->scratch, mark);
    return status;
}
