// Declarations that the files writing exir.serde share. Private to src/pt2.
// Prefix: sc_serde_ (serialize and deserialize, as PyTorch calls it) writes one kind of JSON object
// each.
#ifndef SC_SERDE_WRITE_H
#define SC_SERDE_WRITE_H

#include "format/json.h"
#include "pt2/serde.h"

// One document on its way onto a cord; parts within it are documents of their own.
typedef struct sc_serde_writer {
    sc_ctx *ctx;
    sc_arena *work;  // freed when the program is written
    const sc_serde_options *options;
    const sc_method *method;
    sc_imap *sources;  // name of a source node -> its sc_node
    bool *has_warned;  // has the loss of module stacks been reported?
    bool in_part;      // the method is that of a delegated part
    uint32_t *bodies;  // the number of bodies written so far
    uint32_t body;     // the number of the body that is being written; 0 outside bodies
    sc_sb text;        // text that is not on the cord yet
    sc_cord *out;
    sc_json_writer json;
} sc_serde_writer;

// --- Text (serde_write_text.c) -------------------------------------------------------------------

// A document inside the one that `like` writes, or next to it.
void sc_serde_begin(sc_serde_writer *w, const sc_serde_writer *like, sc_cord *out);
// Appends the text to the cord if there is much of it, or if `all` is set.
void sc_serde_flush(sc_serde_writer *w, bool all);
// {"<tag>": {"<key>": "<name>"}}
void sc_serde_put_named(sc_serde_writer *w, const char *tag, const char *key, sc_str name);
// {"<tag>": number}
void sc_serde_put_number(sc_serde_writer *w, const char *tag, int64_t value);
// A member of JSON text as a string, and of bytes as base64; the bytes are read when the cord is.
void sc_serde_put_json(sc_serde_writer *w, const char *key, const sc_cord *json);
void sc_serde_put_base64(sc_serde_writer *w, const char *key, sc_extent bytes);
// The same as an item of a list.
void sc_serde_add_base64(sc_serde_writer *w, sc_extent bytes);
sc_extent sc_serde_extent(sc_serde_writer *w, const sc_cord *cord);

// --- The program (serde_write.c) -----------------------------------------------------------------

sc_status sc_serde_put_program(sc_serde_writer *w);

// --- Graphs (serde_write_graph.c) ----------------------------------------------------------------

// SC_OK if the deserializer reads the value with its own meaning; else the reason why not.
sc_status sc_serde_put_graph(sc_serde_writer *w, const sc_graph *graph);
// {"as_tensor": {"name": ...}} and similar, for inputs of graphs and results of nodes.
sc_status sc_serde_put_value(sc_serde_writer *w, const sc_value *value);
sc_status sc_serde_put_input(sc_serde_writer *w, const sc_value *value, const sc_input_sig *sig);
sc_status sc_serde_put_output(sc_serde_writer *w, const sc_arg *arg);

// Name of a value in the file (serde_write_name.c).
sc_str sc_serde_name(sc_serde_writer *w, const sc_value *value);
// "aten.add.Tensor" for aten::add.Tensor; "default" if it has no overload. "llama.update_cache" for
// sconce::update_cache, which is the value that it writes.
sc_str sc_serde_op_path(sc_arena *arena, const sc_op *op);

// --- Nodes and arguments (serde_write_node.c, serde_write_arg.c) ---------------------------------

sc_status sc_serde_put_node(sc_serde_writer *w, const sc_node *node);
// `param` is the parameter in the operator's schema, NULL if there is none.
sc_status sc_serde_put_arg(sc_serde_writer *w, const sc_arg *arg, const sc_param *param);
// Metadata of a node, as a member.
void sc_serde_put_metadata(sc_serde_writer *w, const sc_node *node);

// --- Delegates (serde_write_part.c) and files (serde_write_files.c) ------------------------------

// The first argument of a call: the whole part, as text.
sc_status sc_serde_put_part(sc_serde_writer *w, const sc_part *part);

// Parameters and persistent buffers (`state`), or the other constants, as a file of torch.save.
sc_status sc_serde_write_constants(sc_serde_writer *w, const sc_method *method, bool state,
                                   sc_extent *out);
sc_status sc_serde_write_examples(sc_ctx *ctx, const sc_method *method, sc_extent *out);

#endif
