// Declarations that the inspector's files share: a dump, a record, and the two combined. Private to
// src/api.
// Prefixes: sc_inspector_ is the whole, sc_stage_ one program of the record.
#ifndef SC_INSPECTOR_H
#define SC_INSPECTOR_H

#include "api/compiling.h"
#include "devtools/etrecord.h"
#include "devtools/inspect/report.h"
#include "rt/rt.h"

struct sc_inspector {
    sc_time_scale source_scale, target_scale;
    bool has_record;
    sc_etrecord record;
    sc_inspect_method *methods;  // of the record's edge programs, with its maps
    uint32_t method_count;
    const sc_dump *dump;           // NULL: absent
    sc_inspection *found;          // of the dump
    const sc_rt_program *program;  // NULL: absent
};

// A query: {"what": name, ...}.
typedef struct sc_inspector_query_args {
    sc_str what, method, stage, from, to, reference;
    bool values;  // gap: all elements are requested
} sc_inspector_query_args;

// The record's methods as plain tables (record.c).
sc_status sc_inspector_tables(sc_ctx *ctx, sc_inspector *inspector);
// The method of the query: the named one, or the dump's, or the only one. SC_ERR_NOT_FOUND,
// SC_ERR_ARGUMENT.
sc_status sc_inspector_method(sc_ctx *ctx, const sc_inspector *inspector, sc_str name,
                              const sc_inspect_method **out);
// The program of a stage, for the named method or the only one. SC_ERR_NOT_FOUND lists the stages
// that exist.
sc_status sc_inspector_stage(sc_ctx *ctx, const sc_inspector *inspector, sc_str stage,
                             sc_str method, const sc_etrecord_program **out);
// Every program of the record in order; NULL after the last one.
const sc_etrecord_program *sc_inspector_program_at(const sc_inspector *inspector, uint32_t index);

// The entries of a record that could not be read, a list of {"name", "reason"} under `key`, for
// queries of records and of inspectors (records.c).
void sc_record_put_unread(sc_json_writer *w, const char *key, const sc_etrecord *record);

// A program of a record, with its bodies, for queries of records and of inspectors (stages.c).
uint64_t sc_stage_count(const sc_etrecord_program *p);
typedef void (*sc_stage_put_node)(sc_json_writer *w, sc_arena *scratch, const sc_node *node);
// A list with the output of `put` for each node.
sc_status sc_stage_put_nodes(const sc_etrecord_program *p, sc_json_writer *w,
                             sc_stage_put_node put);
void sc_stage_put_text(const sc_etrecord_program *p, sc_sb *out);

// Answers (stages.c, gap.c, memory.c).
void sc_inspector_put_stages(sc_json_writer *w, const sc_inspector *inspector);
sc_status sc_inspector_put_nodes(sc_ctx *ctx, const sc_inspector *inspector,
                                 const sc_inspector_query_args *args, sc_json_writer *w);
sc_status sc_inspector_put_text(sc_ctx *ctx, const sc_inspector *inspector,
                                const sc_inspector_query_args *args, sc_sb *out);
sc_status sc_inspector_put_diff(sc_ctx *ctx, const sc_inspector *inspector,
                                const sc_inspector_query_args *args, sc_json_writer *w);
sc_status sc_inspector_put_delegation(sc_ctx *ctx, const sc_inspector *inspector,
                                      sc_json_writer *w);
sc_status sc_inspector_put_gap(sc_ctx *ctx, const sc_inspector *inspector,
                               const sc_inspector_query_args *args, sc_json_writer *w);
sc_status sc_inspector_put_memory(sc_ctx *ctx, const sc_inspector *inspector, sc_json_writer *w);
// Items of a list: methods of the program that the record does not belong to.
void sc_inspector_put_misfits(sc_ctx *ctx, const sc_inspector *inspector, sc_json_writer *w);

#endif
