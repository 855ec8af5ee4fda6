// The results of annotation: notes of nodes, and the reasons of nodes without a note.
#include "quant/plan.h"

quant_note *sc_quant_note(const sc_quant_plan *plan, const sc_node *node) {
    const uint64_t *found = node ? sc_imap_find(&plan->note_of, SC_PTR_KEY(node)) : NULL;
    return found ? (quant_note *)(uintptr_t)*found : NULL;
}

quant_note *sc_quant_take_note(sc_quant_plan *plan, sc_node *node) {
    quant_note *note = sc_quant_note(plan, node);
    if (note) return note;
    note = sc_new(plan->ctx->arena, quant_note);
    note->node = node;
    sc_imap_set(&plan->note_of, SC_PTR_KEY(node), SC_PTR_KEY(note));
    sc_vec_push(plan->ctx->arena, &plan->notes, note);
    return note;
}

// A value that a node reads twice has the spec of the later use, in the place of the first. A note
// gets all its inputs before the next note does.
void sc_quant_note_input(sc_quant_plan *plan, quant_note *note, sc_value *value, quant_spec spec) {
    const uint64_t *place = sc_imap_find(&plan->input_of, SC_PTR_KEY(value));
    if (place && *place < note->inputs.count && note->inputs.data[*place].value == value) {
        note->inputs.data[*place].spec = spec;
        return;
    }
    sc_imap_set(&plan->input_of, SC_PTR_KEY(value), note->inputs.count);
    sc_vec_push(plan->ctx->arena, &note->inputs, (quant_input){value, spec});
}

void sc_quant_note_output(quant_note *note, quant_spec spec) {
    note->has_output = true;
    note->output = spec;
}

// The first reason stays, because later patterns fit worse.
void sc_quant_why_not(sc_quant_plan *plan, const sc_node *node, const char *format, ...) {
    if (sc_imap_find(&plan->why_not, SC_PTR_KEY(node))) return;
    va_list args;
    va_start(args, format);
    const sc_str text = sc_str_vformat(plan->ctx->arena, format, args);
    va_end(args);
    sc_imap_set(&plan->why_not, SC_PTR_KEY(node), SC_PTR_KEY(text.data));
}

void sc_quant_leave(sc_quant_plan *plan, const sc_node *node) {
    if (sc_imap_find(&plan->why_not, SC_PTR_KEY(node))) return;
    sc_imap_set(&plan->left, SC_PTR_KEY(node), 1);
    sc_quant_why_not(plan, node, "`skip` leaves it out");
}
