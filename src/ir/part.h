// A part of a program that a backend has taken over, and the call that stands for it. A node of
// higher_order::executorch_call_delegate takes the part as an argument of its own kind and what the
// part reads as a list; its results are what the part returns. To everything that walks graphs the
// call is one opaque node: a part is never a body.
//
// The part has a method of its own, outside of any program's list: the graph as it was handed to
// the backend, with debug handles, and a signature that says which inputs are weights that moved
// into it. Inputs of kind user are what a call passes, outputs of kind user what it returns, both
// in order; buffers that the part writes are state within it. Parts never change once a node names
// them, so versions of a program share them, as they share symbols: the part speaks of those of the
// method that it was cut from. Only a method with other symbols gets a copy.
// Prefix: sc_part_.
#ifndef SC_PART_H
#define SC_PART_H

#include "base/cord.h"
#include "ir/ir.h"

// A request to the backend, verbatim; the value may be any bytes.
typedef struct sc_compile_spec {
    sc_str key, value;
} sc_compile_spec;

// The nodes behind one thing that the backend reports on when it runs (rt/backend.h). The last
// handle is that of the node whose result it computes.
typedef struct sc_part_event {
    sc_str name;  // no part of another's name; without data where the backend counts: `id`
    int64_t id;
    uint32_t *handles;
    uint32_t handle_count;
} sc_part_event;

// Bytes that the backend looks up by name when it starts; parts may share them.
typedef struct sc_part_data {
    sc_str key;
    sc_str tag;  // the .ptd file that they go to, empty for the program itself
    const sc_cord *bytes;
    uint64_t align;
    const sc_spec *layout;  // of a tensor, dense and of known sizes; NULL: plain bytes
} sc_part_data;

struct sc_part {
    sc_method *method;
    sc_str backend;
    SC_VEC(sc_compile_spec) specs;
    const sc_cord *processed;  // what the backend made of the graph
    bool says_inputs;          // calls say in the file where their inputs end
    bool has_events;           // the backend says which nodes its events stand for, maybe none
    SC_VEC(sc_part_event) events;
    SC_VEC(sc_part_data) data;
};

// A part of `method`, with an empty graph and no bytes of its backend yet.
sc_part *sc_part_new(sc_method *method, sc_str name);
// The layout of a dense tensor whose dims lie in that order, outermost first; NULL where `order`
// is not one of `rank` dims, or a size or all of them are out of range.
const sc_spec *sc_part_layout(const sc_part *part, sc_dtype dtype, uint32_t rank,
                              const int64_t *sizes, const int64_t *order);
// Is this buffer state that the part keeps?
bool sc_part_writes(const sc_part *part, sc_str target);
// Does a call do more than its results say?
bool sc_part_has_effect(const sc_part *part);
// The part that a node calls, NULL for all other nodes.
const sc_part *sc_node_part(const sc_node *node);

#endif
