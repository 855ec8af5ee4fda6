// Finds an order in which the nodes of each part are adjacent. Nodes stay as late as they were,
// unless an earlier one needs them. Parts that the caller grouped may depend on themselves, which
// is detected here.
#include "backend/partition.h"

typedef enum state { WAITING, OPEN, PLACED } state;

typedef struct frame {
    uint32_t unit;    // part number, or count of parts + place + 1 of a node outside
    uint32_t member;  // of the list of its nodes
    uint32_t arg;     // inputs of this node's values
} frame;

typedef struct ordering {
    sc_ctx *ctx;
    const sc_partition *partition;
    const sc_str *names;
    sc_node **nodes;    // by place
    uint32_t *members;  // places of the nodes of all parts, part after part
    uint32_t *begins;   // by part number, where they begin; one more at the end
    uint8_t *states;    // of units
    SC_VEC(frame) stack;
    SC_VEC(sc_value *) values;  // operands that the node on top reads
    sc_node **order;
    uint32_t placed;
} ordering;

static uint32_t unit_of(const ordering *s, const sc_node *node) {
    uint32_t part = s->partition->of[node->mark];
    return part ? part : s->partition->count + node->mark + 1;
}

static bool is_part(const ordering *s, uint32_t unit) { return unit <= s->partition->count; }

static uint32_t member_count(const ordering *s, uint32_t unit) {
    return is_part(s, unit) ? s->begins[unit + 1] - s->begins[unit] : 1;
}

static sc_node *member_of(const ordering *s, uint32_t unit, uint32_t index) {
    if (!is_part(s, unit)) return s->nodes[unit - s->partition->count - 1];
    return s->nodes[s->members[s->begins[unit] + index]];
}

static void place(ordering *s, uint32_t unit) {
    for (uint32_t i = 0; i < member_count(s, unit); i++)
        s->order[s->placed++] = member_of(s, unit, i);
    s->states[unit] = PLACED;
}

// The open units from the part on are the circle.
static sc_status fail_circle(ordering *s, uint32_t unit) {
    sc_sb between;
    uint32_t from = s->stack.count, shown = 0;
    sc_sb_init(&between, s->ctx->scratch);
    while (from > 0 && s->stack.data[from - 1].unit != unit) from--;
    uint32_t part = unit;
    for (uint32_t i = from ? from - 1 : 0; i < s->stack.count; i++) {
        if (is_part(s, s->stack.data[i].unit)) {
            part = is_part(s, part) ? part : s->stack.data[i].unit;
            continue;
        }
        if (shown++ < 8)
            sc_sb_addf(&between, "%s%%%s", shown > 1 ? ", " : "",
                       member_of(s, s->stack.data[i].unit, 0)->name->text);
    }
    return sc_fail(s->ctx, SC_ERR_ARGUMENT,
                   "Take the nodes in between too, or leave out those before or after them.",
                   "the part '" SC_STR_FMT "' of method '%s' depends on itself, by way of %s",
                   SC_STR_ARG(s->names[(is_part(s, part) ? part : 1) - 1]),
                   s->nodes[0]->graph->method->name->text,
                   shown ? sc_sb_terminate(&between) : "another part");
}

static bool list_value(void *user, sc_arg *arg) {
    ordering *s = user;
    sc_vec_push(s->ctx->scratch, &s->values, arg->value);
    return true;
}

// The next unit that the top of the stack waits for, 0 if none is left.
static uint32_t next_needed(ordering *s) {
    frame *top = &sc_vec_last(&s->stack);
    for (; top->member < member_count(s, top->unit); top->member++, top->arg = 0) {
        s->values.count = 0;
        (void)sc_node_visit_values(member_of(s, top->unit, top->member), list_value, s);
        while (top->arg < s->values.count) {
            const sc_node *producer = s->values.data[top->arg++]->node;
            if (!producer) continue;
            uint32_t unit = unit_of(s, producer);
            if (unit != top->unit && s->states[unit] != PLACED) return unit;
        }
    }
    return 0;
}

static sc_status place_with_needs(ordering *s, uint32_t unit) {
    if (s->states[unit] == PLACED) return SC_OK;
    s->states[unit] = OPEN;
    sc_vec_push(s->ctx->scratch, &s->stack, (frame){.unit = unit});
    while (s->stack.count) {
        uint32_t needed = next_needed(s);
        if (!needed) {
            place(s, sc_vec_last(&s->stack).unit);
            s->stack.count--;
        } else if (s->states[needed] == OPEN) {
            return fail_circle(s, needed);
        } else {
            s->states[needed] = OPEN;
            sc_vec_push(s->ctx->scratch, &s->stack, (frame){.unit = needed});
        }
    }
    return SC_OK;
}

static void list_members(ordering *s, uint32_t node_count) {
    const sc_partition *p = s->partition;
    uint32_t *fill = sc_new_array(s->ctx->scratch, uint32_t, (size_t)p->count + 2);
    for (uint32_t i = 0; i < node_count; i++) s->begins[p->of[i] + 1]++;
    s->begins[1] = 0;  // nodes outside are in no list
    for (uint32_t k = 1; k <= p->count; k++) s->begins[k + 1] += s->begins[k];
    for (uint32_t i = 0; i < node_count; i++)
        if (p->of[i]) s->members[s->begins[p->of[i]] + fill[p->of[i]]++] = i;
}

sc_status sc_partition_order(sc_ctx *ctx, sc_graph *graph, const sc_partition *partition,
                             const sc_str *names) {
    const uint32_t count = graph->node_count;
    ordering s = {.ctx = ctx, .partition = partition, .names = names};
    s.nodes = sc_new_array(ctx->scratch, sc_node *, (size_t)count + 1);
    s.order = sc_new_array(ctx->scratch, sc_node *, (size_t)count + 1);
    s.members = sc_new_array(ctx->scratch, uint32_t, (size_t)count + 1);
    s.begins = sc_new_array(ctx->scratch, uint32_t, (size_t)partition->count + 3);
    s.states = sc_new_array(ctx->scratch, uint8_t, (size_t)partition->count + count + 2);
    for (sc_node *node = graph->first; node; node = node->next) s.nodes[node->mark] = node;
    list_members(&s, count);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t unit = unit_of(&s, s.nodes[i]);
        bool is_last = member_of(&s, unit, member_count(&s, unit) - 1) == s.nodes[i];
        if (is_last) SC_TRY(place_with_needs(&s, unit));
    }
    sc_graph_reorder(graph, s.order, count);
    return SC_OK;
}
