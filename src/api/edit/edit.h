// Changes to a method from outside, call by call: a pass of the host's own. Graphs, nodes and
// values have numbers outside of the library. Private to src/api.
// Prefix: sc_edit_ makes one change, or one check before it.
#ifndef SC_EDIT_H
#define SC_EDIT_H

#include "api/compiling.h"

// The method that a pass of the host is changing, and the numbers of its graphs, nodes and values.
struct sc_edit {
    sc_job *job;
    sc_program *program;  // a copy, which becomes the next version
    sc_method *method;
    sc_arena arena;     // of the tables below: freed when the pass has ended
    sc_diag_mark mark;  // the diagnostics of the call that runs the pass
    sc_str name;        // of the pass, once it has said so
    uint32_t unknown;   // facts that held before the pass, and may not hold any more
    bool is_edge;       // else it is a source program
    bool is_changed;    // changed since the last check
    bool is_broken;     // a change failed half-way and could not be undone
    bool is_only_read;  // called by a partitioner, whose answer is `answer`
    sc_str answer;
    uint32_t insert_count;  // calls that the pass has inserted
    SC_VEC(sc_graph *) graphs;
    SC_VEC(sc_node *) nodes;    // NULL once erased
    SC_VEC(sc_value *) values;  // NULL once erased
    SC_VEC(uint32_t)
    doubtful;         // numbers of nodes that inference refused, and that kept their results
    sc_imap numbers;  // address of a graph, node or value -> its number
    sc_imap shown;    // operators whose parameters the host has been sent
    sc_imap places;   // address of a node -> a number that grows along its graph
};

// Runs pass `number` of the host over the method, and checks the result: errors name the pass and
// its node. SC_ERR_CANCELLED if the host reports that the pass failed. The pass is listed among the
// timings of the pipeline.
sc_status sc_edit_run(sc_job *job, sc_pipeline *pipeline, sc_method *method, uint32_t number,
                      bool is_edge);
// Asks partitioner `number` of the host about the method: JSON, on the context's arena. Errors as
// those of sc_edit_run.
sc_status sc_edit_ask(sc_job *job, sc_method *method, uint32_t number, sc_str *answer);
// The edit of the pass that is running; SC_ERR_STATE if no pass runs. Clears the diagnostics of the
// change before.
sc_status sc_edit_require(sc_job *job, sc_edit **out);
// Records that the method is changed; SC_ERR_STATE for a partitioner, which may only read it.
sc_status sc_edit_begin_change(sc_edit *edit);

// The number of a graph, node or value; a new one if it has none.
uint32_t sc_edit_graph_number(sc_edit *edit, sc_graph *graph);
uint32_t sc_edit_node_number(sc_edit *edit, sc_node *node);
uint32_t sc_edit_value_number(sc_edit *edit, sc_value *value);

// SC_ERR_STATE if the method has no such number.
sc_status sc_edit_graph(sc_edit *edit, const sc_json *number, sc_graph **out);
sc_status sc_edit_node(sc_edit *edit, const sc_json *number, sc_node **out);
sc_status sc_edit_value(sc_edit *edit, const sc_json *number, sc_value **out);
// Does `a` run before `b`? Both are in one graph.
bool sc_edit_precedes(sc_edit *edit, const sc_node *a, const sc_node *b);
// Does the value exist before the node runs? `node` may be the outputs of its graph.
bool sc_edit_is_defined_before(sc_edit *edit, const sc_value *value, const sc_node *node);
// Forgets the numbers of a node that will be erased, and of its results.
void sc_edit_forget(sc_edit *edit, const sc_node *node);

// Arguments of an operator from JSON, positional ones first and then by name (arguments.c). On the
// job's scratch memory; completed with defaults.
sc_status sc_edit_read_args(sc_edit *edit, const sc_op *op, const sc_json *args,
                            const sc_json *kwargs, sc_arg **out);
// One argument; `param` is NULL for an output of a graph, which takes any kind.
sc_status sc_edit_read_arg(sc_edit *edit, const sc_op *op, const sc_param *param,
                           const sc_json *json, sc_arg *out);

// Adds a call at that position, after its operands. An operator with an expansion stays whole, for
// a backend, until to_executorch (call.c).
sc_status sc_edit_make_node(const sc_edit *edit, sc_graph *graph, sc_node *position,
                            const sc_op *op, const sc_arg *args, const sc_meta *meta,
                            sc_node **out);
// Infers the results of a node. An operator that is not in the table keeps its results, because it
// has no shape rule.
sc_status sc_edit_infer(sc_node *node);
// SC_ERR_ARGUMENT unless the value, or all values of the argument, exist before the node runs.
sc_status sc_edit_check_order(sc_edit *edit, const sc_value *value, const sc_node *node);
sc_status sc_edit_check_arg_order(sc_edit *edit, const sc_arg *arg, const sc_node *node);
// Puts `to` into arguments, which belong to one graph, and infers all nodes that depend on them.
// Writes the members "nodes" and "outputs" of an answer, if there is a writer. After an error the
// graph is as it was.
sc_status sc_edit_exchange(sc_edit *edit, sc_arg *const *slots, uint32_t count, sc_arg to,
                           sc_json_writer *w);
// Replaces a value by another wherever it is used, except in the node that makes the other, and
// infers all nodes that depend on it. Otherwise as sc_edit_exchange.
sc_status sc_edit_replace_uses(sc_edit *edit, sc_value *from, sc_value *to, sc_json_writer *w);
// Gives a value another dtype, and infers all nodes that depend on it. Writes the member "nodes". A
// node that cannot take the dtype keeps its results: the pass changes it, or the check after the
// pass refuses it. SC_ERR_UNSUPPORTED if a node with bodies depends on it. After an error the graph
// is as it was.
sc_status sc_edit_change_dtype(sc_edit *edit, sc_value *value, sc_dtype dtype, sc_json_writer *w);

// Do bodies return, and does the method write, values of the types that are wanted there
// (results.c)? SC_ERR_SHAPE names the node that is wrong.
sc_status sc_edit_check_results(sc_edit *edit);
// {"value", "dtype"}: gives an input that callers pass another dtype (signature.c).
sc_status sc_edit_set_dtype(sc_edit *edit, const sc_json *change, sc_json_writer *w);
// {"name", "value"}: adds a constant method to the program.
sc_status sc_edit_add_constant_method(sc_edit *edit, const sc_json *change);

// Replaces all matches of a pattern by a replacement, both formulas (pattern.c).
typedef struct sc_edit_replacing {
    sc_edit *edit;
    sc_str pattern, replacement;
    SC_VEC(sc_value *) roots;  // the results of the replacements, on scratch memory
} sc_edit_replacing;
sc_status sc_edit_replace_pattern(sc_edit_replacing *r);

// The members and items of JSON (write.c).
void sc_edit_add_node(sc_edit *edit, sc_json_writer *w, sc_node *node);
void sc_edit_put_origin(sc_json_writer *w, const sc_node *node);
void sc_edit_put_outputs(sc_edit *edit, sc_json_writer *w, const sc_graph *graph);
void sc_edit_add_value(sc_edit *edit, sc_json_writer *w, sc_value *value);
void sc_edit_add_input_row(sc_json_writer *w, const sc_input_sig *sig);
sc_status sc_edit_put_method(sc_edit *edit, sc_json_writer *w);

// Does the method agree with its dialect? An edge program may have no views and no writes; then the
// edge passes convert numbers in the place of tensors, operands of mixed dtype, and memory formats.
// SC_ERR_ARGUMENT names the node that is wrong. Without a change it does no work (check.c).
sc_status sc_edit_check(sc_edit *edit);

#endif
