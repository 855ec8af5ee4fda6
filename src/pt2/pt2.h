// Declarations that the files of the importer share. Memory of the import alone is on `work`,
// memory that survives it on ctx->arena, and memory of one node on ctx->scratch, between marks.
// Prefix: sc_pt2_ reads one kind of entry or JSON object of a .pt2 each.
#ifndef SC_PT2_H
#define SC_PT2_H

#include "format/json.h"
#include "format/torch_save.h"
#include "pt2/import.h"
#include "pt2/serde.h"

// --- The container (pt2_archive.c) ---------------------------------------------------------------

typedef struct sc_pt2_archive {
    sc_zip zip;
    bool legacy;            // zip of PyTorch 2.1 to 2.7: one model, no root folder
    sc_str root;            // folder around everything, with its '/'
    SC_VEC(sc_str) models;  // in directory order
} sc_pt2_archive;

sc_status sc_pt2_open(sc_ctx *ctx, sc_arena *work, sc_source *source, sc_pt2_archive *out);
// <root><folder><name><suffix>, or NULL.
const sc_zip_entry *sc_pt2_find(sc_ctx *ctx, const sc_pt2_archive *archive, const char *folder,
                                sc_str name, const char *suffix);
sc_status sc_pt2_model_text(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                            sc_str model, sc_str *out);

// --- Payloads (pt2_payload.c) --------------------------------------------------------------------

// A tensor that the file stores: a view of a storage, whatever container it came in.
typedef struct sc_pt2_payload {
    const char *object;  // not a plain tensor: its real kind, in words
    sc_dtype dtype;
    uint32_t rank;  // <= SC_RANK_MAX
    const int64_t *sizes, *strides;
    int64_t offset;  // in elements
    bool requires_grad;
    sc_extent storage;
} sc_pt2_payload;

typedef struct sc_pt2_payloads {
    sc_map weights;  // fully qualified name -> sc_pt2_payload
    sc_map constants;
} sc_pt2_payloads;

sc_status sc_pt2_read_payloads(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                               sc_str model, sc_pt2_payloads *out);
// The payload as a constant. Its bytes are dense in the dim order of its strides; if those of the
// stored view are not, they are gathered when read.
sc_status sc_pt2_make_constant(sc_ctx *ctx, sc_exprs *exprs, const sc_pt2_payload *payload,
                               sc_str name, sc_constant **out);

// The tensors of a torch.save file of a dictionary; `what` names the file in messages.
sc_status sc_pt2_read_saved(sc_ctx *ctx, sc_arena *work, sc_str what, sc_extent file, sc_map *map);

// --- One model (pt2_model.c) ---------------------------------------------------------------------

typedef struct sc_pt2_importer {
    sc_ctx *ctx;
    sc_arena *work;
    sc_method *method;
    sc_pt2_payloads payloads;
    sc_map texts;    // JSON text -> sc_str that survives: stack traces repeat a lot
    sc_map dims;     // expression -> sc_dim
    sc_map foreign;  // name -> sc_op
    sc_map written;  // input that an output may write to: name -> bits of SC_OUTPUT_*_MUTATION
    uint64_t node_count;
    uint32_t unknown_count;  // symbols made up for expressions that we cannot read
    uint32_t part_depth;     // of delegated parts within parts
    bool is_record;          // a program of a record, whatever its version says
    bool is_serde;           // exir.serde: dtypes, delegates and metadata are written as there
    bool is_edge;            // an operator or the verifier is of the edge dialect
    bool lacks_data;         // there are no weights, here or in a part
    bool is_light;           // nor are there weights in the program that is being read
    uint64_t graph_id;       // the graph that most of the oldest ancestors name, so far
    uint64_t graph_votes;    // by how many more ancestors than any other
} sc_pt2_importer;

void sc_pt2_importer_init(sc_pt2_importer *imp, sc_ctx *ctx, sc_arena *work, sc_method *method);
// The dtype of a number in the document; SC_DTYPE_NONE if the number means no dtype.
sc_dtype sc_pt2_dtype(const sc_pt2_importer *imp, int64_t code);
// Refuses an unknown dtype, by PyTorch's name if it has one.
sc_status sc_pt2_refuse_dtype(sc_ctx *ctx, sc_str what, int64_t code);

// A graph while it is read. Names are the file's.
typedef struct sc_pt2_scope {
    sc_pt2_importer *imp;
    sc_graph *graph;
    uint32_t depth;      // of graphs
    uint32_t arg_depth;  // of arguments within arguments
    sc_map values;       // name -> sc_value; NULL for tokens, which are dropped
    sc_map tensors;      // name -> JSON, and so on
    sc_map ints, bools;
} sc_pt2_scope;

// Decoded and surviving text of a JSON string.
sc_str sc_pt2_keep(sc_pt2_importer *imp, const sc_json *string);

// --- Values and arguments (pt2_value.c, pt2_arg.c) -----------------------------------------------

sc_status sc_pt2_read_range(sc_pt2_importer *imp, const sc_json *key, const sc_json *json);
// Type, spec and dim of the value `name`, from the value tables of its graph. `known` is false if
// the tables have no entry.
sc_status sc_pt2_describe(sc_pt2_scope *scope, sc_value_type type, sc_str name, sc_value *out,
                          bool *known);

// The type and name of an Argument that defines a value. SC_VALUE_NONE without a name for as_none
// and for plain numbers.
typedef struct sc_pt2_slot {
    sc_value_type type;
    sc_str name;              // decoded; empty when it has none
    const sc_json *constant;  // the whole Argument, if it is a constant
} sc_pt2_slot;
sc_status sc_pt2_read_slot(sc_pt2_scope *scope, const sc_json *json, sc_pt2_slot *out);
// Appends the slots of an Argument, which may be a list of tensors, to `out`.
typedef SC_VEC(sc_pt2_slot) sc_pt2_slots;
sc_status sc_pt2_read_slots(sc_pt2_scope *scope, const sc_json *json, sc_pt2_slots *out);
// Adds `name` to the map; SC_ERR_CORRUPT if it is there already.
sc_status sc_pt2_define(sc_pt2_scope *scope, sc_str name, sc_value *value);

// An Argument that uses values. It is on ctx->scratch, but its strings survive.
sc_status sc_pt2_read_arg(sc_pt2_scope *scope, const sc_json *json, sc_arg *out);

// Complex numbers (pt2_complex.c). The first makes an argument that only sc_pt2_place_complex
// understands. The others say whether an argument is such a number and whether the operator can use
// it, and replace numbers by tensors, made before the node that is read.
sc_status sc_pt2_read_complex(sc_pt2_scope *scope, const sc_json *json, sc_arg *out);
bool sc_pt2_is_complex(const sc_arg *arg);
// Does it fill a new tensor with a number? With a complex number it becomes two calls: zeros of its
// own, and aten::fill.Tensor, to which `op`, `args` and their count are changed.
bool sc_pt2_fills(const sc_op *op);
sc_status sc_pt2_fill_complex(sc_pt2_scope *scope, const sc_op **op, const sc_meta *meta,
                              sc_arg *args, uint32_t *count);
bool sc_pt2_may_be_complex(const sc_op *op, uint32_t index);
sc_status sc_pt2_place_complex(sc_pt2_scope *scope, const sc_op *op, const sc_meta *meta,
                               sc_arg *args, uint32_t count);

// --- Graphs (pt2_graph.c, pt2_node.c, pt2_signature.c) -------------------------------------------

// Reads value tables, then inputs by `add_inputs`, nodes, and outputs by `add_outputs`.
typedef struct sc_pt2_graph_parts {
    const sc_json *inputs, *outputs, *nodes;
} sc_pt2_graph_parts;
sc_status sc_pt2_scope_init(sc_pt2_scope *scope, sc_pt2_importer *imp, sc_graph *graph,
                            const sc_json *json, sc_pt2_graph_parts *parts);
sc_status sc_pt2_add_input(sc_pt2_scope *scope, const sc_pt2_slot *slot, sc_value **out);
sc_status sc_pt2_read_nodes(sc_pt2_scope *scope, const sc_json *nodes);
sc_status sc_pt2_read_node(sc_pt2_scope *scope, const sc_json *json);
// Metadata of a node (pt2_meta.c). `origin` stays NULL if it names no ancestor.
sc_status sc_pt2_read_metadata(sc_pt2_scope *scope, const sc_json *json, sc_meta *out);
// A delegated part from the first argument of its call (pt2_part.c).
sc_status sc_pt2_read_part(sc_pt2_scope *scope, sc_str name, const sc_json *json, sc_arg *out);
// A graph that is an argument of a node of `parent`.
sc_status sc_pt2_read_subgraph(sc_pt2_scope *parent, const sc_json *json, sc_graph **out);

// Inputs and outputs of the top graph, with their entries of the signature.
sc_status sc_pt2_read_inputs(sc_pt2_scope *scope, const sc_json *inputs, const sc_json *signature);
sc_status sc_pt2_read_outputs(sc_pt2_scope *scope, const sc_json *outputs,
                              const sc_json *signature);

// Reads a whole document into imp->method.
sc_status sc_pt2_read_document(sc_pt2_importer *imp, const sc_json *json);
// Reads one model into a new method.
sc_status sc_pt2_read_model(sc_ctx *ctx, sc_arena *work, const sc_pt2_archive *archive,
                            sc_str model, sc_method *method);

#endif
