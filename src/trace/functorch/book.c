// Records of levels while a graph is decomposed. The calls that open and close levels stay as they
// are, and so does `detach`, which cuts a tensor off from its tangent. PyTorch returns views from
// them; here only a tensor that gets a batch is a view, and writing to a tensor that another one
// shares is refused.
#include "trace/functorch/functorch.h"

sc_functorch_level_kind sc_functorch_level_opens(const sc_op *op) {
    if (op->id == SC_OP_functorch_vmap_open) return SC_LEVEL_VMAP;
    return op->id == SC_OP_functorch_jvp_open ? SC_LEVEL_JVP : SC_LEVEL_NONE;
}

sc_functorch_level_kind sc_functorch_level_closes(const sc_op *op) {
    if (op->id == SC_OP_functorch_vmap_close) return SC_LEVEL_VMAP;
    return op->id == SC_OP_functorch_jvp_close ? SC_LEVEL_JVP : SC_LEVEL_NONE;
}

bool sc_functorch_is_book(const sc_book *book, const sc_op *op) {
    const bool cuts = op->id == SC_OP_detach || op->id == SC_OP_detach_;
    return sc_op_has(op, SC_FUNCTORCH) || (cuts && book->jvps > 0);
}

static void follow(sc_book *book, const sc_trace *t, const sc_op *op) {
    if (sc_functorch_level_opens(op) != SC_LEVEL_NONE && book->open++ == 0)
        book->begun = t->recorded;
    if (sc_functorch_level_closes(op) != SC_LEVEL_NONE && book->open > 0) book->open--;
    if (sc_functorch_level_opens(op) == SC_LEVEL_JVP) book->jvps++;
    if (sc_functorch_level_closes(op) == SC_LEVEL_JVP && book->jvps > 0) book->jvps--;
}

// Was it made at a level, so that nobody outside sees it?
static bool is_inner(const sc_book *book, const sc_alias *from) {
    const sc_node *node = from->base->node;
    return from->generation == 0 && node && node->mark > book->begun &&
           !sc_op_has(node->op, SC_FUNCTORCH);
}

static void note_shown(sc_book *book, sc_trace *t, const sc_op *op, sc_x of, sc_x x) {
    if (of->kind != SC_X_TENSOR || x->kind != SC_X_TENSOR) return;
    if (!of->tensor->storage || of->tensor->storage == x->tensor->storage) return;
    const bool is_dual = op->id == SC_OP_functorch_make_dual || op->id == SC_OP__make_dual;
    uint64_t *shows = sc_imap_at(&book->shows, SC_PTR_KEY(of->tensor->storage));
    const sc_shown shown = {.from = of->tensor->storage,
                            .to = x->tensor->storage,
                            .generation = of->tensor->storage->generation,
                            .is_inner = !is_dual && is_inner(book, of->tensor->storage),
                            .node = t->source};
    ++*shows;
    sc_vec_push(t->arena, &book->shown, shown);
}

static sc_x cut_off(sc_book *book, sc_trace *t, const sc_op *op, sc_x x) {
    if (x->kind != SC_X_TENSOR) return x;
    sc_trace_sync(t, x->tensor);
    sc_x made = sc_trace_record(t, sc_op_get(SC_OP_detach), &x, 1);
    if (t->status != SC_OK) return made;
    sc_x own = sc_trace_fresh(t, made->tensor->value);
    if (op->id == SC_OP_detach_) sc_trace_assign(t, x, own);
    if (op->id == SC_OP_detach) note_shown(book, t, op, x, own);
    return op->id == SC_OP_detach_ ? x : own;
}

sc_x sc_functorch_book(sc_book *book, sc_trace *t, const sc_op *op, const sc_x *args,
                       uint32_t count) {
    if (!sc_op_has(op, SC_FUNCTORCH)) return cut_off(book, t, op, args[0]);
    follow(book, t, op);
    t->jvps = book->jvps;
    t->strides_differ = true;  // those of samples are PyTorch's affair
    sc_x result = sc_trace_call(t, op, args, count);
    if (count == 0 || t->status != SC_OK) return result;
    if (result->kind != SC_X_LIST)
        note_shown(book, t, op, args[0], result);
    else if (result->count > 0)
        note_shown(book, t, op, args[0], result->items[0]);
    return result;
}

sc_status sc_functorch_check(sc_ctx *ctx, const sc_book *book) {
    for (uint32_t i = 0; i < book->shown.count; i++) {
        const sc_shown *s = &book->shown.data[i];
        const uint64_t *shows = sc_imap_find(&book->shows, SC_PTR_KEY(s->from));
        const bool is_own = s->is_inner && shows && *shows == 1;
        const bool is_written = s->to->generation > 0 || s->from->generation != s->generation;
        if (!is_written || (is_own && s->from->generation == s->generation)) continue;
        sc_where_set_node(ctx, s->node);
        return sc_fail(ctx, SC_ERR_UNSUPPORTED,
                       "Write to a copy: y = x.clone(), before torch.vmap or torch.func.jvp.",
                       "a tensor that another one shows through %s is written to",
                       s->node->op->name);
    }
    return SC_OK;
}
