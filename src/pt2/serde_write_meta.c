// Writes metadata of nodes as texts, which the deserializer splits again.

#include "base/print.h"
#include "pt2/serde_write.h"

// The deserializer splits a module stack at ';', and then into key, path and type at commas outside
// brackets. Any other text there makes the whole file unreadable.
static bool is_module(sc_str item) {
    uint32_t commas = 0, depth = 0;
    for (size_t i = 0; i < item.size; i++) {
        const char c = item.data[i];
        if (c == '(' || c == '[') depth++;
        if ((c == ')' || c == ']') && depth-- == 0) return false;
        commas += c == ',' && depth == 0;
    }
    return commas == 2;
}

static bool is_module_stack(sc_str stack) {
    for (;;) {
        const ptrdiff_t end = sc_str_find(stack, ';');
        if (!is_module(end < 0 ? stack : sc_str_slice(stack, 0, (size_t)end))) return false;
        if (end < 0) return true;
        stack = sc_str_slice(stack, (size_t)end + 1, stack.size);
    }
}

static void put_module_stack(sc_serde_writer *w, sc_str stack) {
    if (stack.size == 0) return;
    if (is_module_stack(stack)) {
        sc_json_put_str(&w->json, "nn_module_stack", stack);
    } else if (!*w->has_warned) {
        *w->has_warned = true;
        sc_report(w->ctx, SC_WARNING, SC_ERR_FORMAT, NULL,
                  "module stacks that the official reader refuses are left out of the record");
    }
}

// Readers only use the oldest ancestor: those in between show the history of passes.
static void put_history(sc_serde_writer *w, const sc_node *node) {
    sc_json_writer json;
    sc_sb text;
    const sc_name *name = node->meta.origin ? node->meta.origin : node->name;
    const uint64_t *found = sc_imap_find(w->sources, SC_PTR_KEY(name));
    const sc_node *source = found ? (const sc_node *)(uintptr_t)*found : NULL;
    sc_sb_init(&text, w->ctx->scratch);
    sc_json_writer_init(&json, &text, SC_JSON_PYTHON);
    sc_json_begin_array(&json);
    sc_json_begin_object(&json);
    sc_json_put_str(&json, "name", sc_name_str(name));
    sc_json_put_str(&json, "target",
                    source ? sc_serde_op_path(w->ctx->scratch, source->op) : SC_STR(""));
    // Names repeat from body to body: each is a graph of its own.
    sc_json_put_u64(&json, "graph_id", w->options->graph_id + w->body);
    sc_json_put_text(&json, "pass_name", "ExportedProgram.module()");
    sc_json_put_text(&json, "action", "create");
    sc_json_put_array(&json, "from_node");
    sc_json_end_array(&json);
    sc_json_end_object(&json);
    sc_json_end_array(&json);
    sc_json_put_str(&w->json, "from_node", sc_sb_str(&text));
}

void sc_serde_put_metadata(sc_serde_writer *w, const sc_node *node) {
    char handle[12];
    sc_json_put_object(&w->json, "metadata");
    if (node->meta.stack_trace.size)
        sc_json_put_str(&w->json, "stack_trace", node->meta.stack_trace);
    put_module_stack(w, node->meta.module_stack);
    if (node->meta.debug_handle) {
        sc_print(handle, sizeof(handle), "%u", node->meta.debug_handle);
        sc_json_put_text(&w->json, "debug_handle", handle);
    }
    if (w->options->dialect == SC_SERDE_EDGE && w->options->graph_id) put_history(w, node);
    sc_json_end_object(&w->json);
}
