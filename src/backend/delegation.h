// The fate of each node of a program that was lowered to backends: its part, or the reason why it
// stayed outside, and its share of the work. It is kept apart from the program, which no longer
// contains nodes that moved.
// Prefix: sc_delegation is the report; sc_node_work measures one node of the IR.
#ifndef SC_DELEGATION_H
#define SC_DELEGATION_H

#include "backend/backend.h"

typedef struct sc_delegation_row {
    const sc_name *method;
    sc_str graph;  // the body that the node is in, after those around it; empty: the method's own
                   // graph
    const sc_name *node;
    const sc_op *op;
    sc_meta meta;
    const sc_name *part;  // the part that it went to; NULL: it is outside
    sc_str backend;       // the backend of the part, or the one that refused the node last; empty:
                          // no backend was asked
    sc_str reason, hint;  // the reason why it is outside
    double macs;          // multiplications with an addition, in matrix products and convolutions
    double bytes;  // bytes of the tensors that it reads and writes; dynamic sizes as in the example
} sc_delegation_row;

typedef struct sc_delegation {
    SC_VEC(sc_delegation_row) rows;  // methods in order, nodes in graph order, then bodies
} sc_delegation;

// Counts the multiplications and bytes of a node.
void sc_node_work(const sc_node *node, double *macs, double *bytes);

#endif
