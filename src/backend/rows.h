// The rows of the delegation report while it is made: one for each node that a backend was asked
// about. Private to src/backend.
// Prefix: sc_rows_ fills the report and finds rows in it.
#ifndef SC_BACKEND_ROWS_H
#define SC_BACKEND_ROWS_H

#include "backend/delegation.h"
#include "base/map.h"

typedef struct sc_rows {
    sc_ctx *ctx;
    sc_delegation *delegation;
    sc_imap by_key;
} sc_rows;

// Continues the report, whose rows may come from earlier calls.
void sc_rows_begin(sc_rows *rows, sc_ctx *ctx, sc_delegation *delegation);
// The row of a node of the graph with that path; NULL if there is none yet.
sc_delegation_row *sc_rows_find(sc_rows *rows, const sc_name *method, sc_str path,
                                const sc_name *node);
// The same; makes the row if there is none. Valid until the next row is made.
sc_delegation_row *sc_rows_of(sc_rows *rows, const sc_node *node, sc_str path);
bool sc_rows_have_method(const sc_rows *rows, const sc_name *method);
// The multiply-adds of a node's bodies, which go into the part with it. Nodes of bodies that have
// rows of their own are not counted.
double sc_rows_work_of_bodies(sc_rows *rows, const sc_node *node);
// Reports the nodes of a method that no backend is asked about, unless they have rows already.
sc_status sc_rows_report_unasked(sc_rows *rows, const sc_method *method);

#endif
