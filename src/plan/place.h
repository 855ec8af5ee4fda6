// From a program to the storage of every value: aliases, lifetimes, the best plan, and the arena of
// mutable buffers that several methods keep between calls.
// Prefix: sc_place_, which gives the values of a program their places in memory.
#ifndef SC_PLACE_H
#define SC_PLACE_H

#include "core/options.h"
#include "plan/plan.h"
#include "plan/storage.h"

// One planned tensor, for reports.
typedef struct sc_place_item {
    const sc_name *value;
    uint64_t bytes, offset;
    uint32_t first, last;
    uint32_t memory_id;
} sc_place_item;

typedef struct sc_place_report {
    const char *algorithm;   // the winner
    uint64_t planned_bytes;  // all buffers together
    uint64_t live_bytes;     // a lower bound of every plan, mutable buffers included
    uint64_t naive_bytes;    // without any reuse
    uint32_t moment_count;
    SC_VEC(sc_place_item) items;
} sc_place_report;

// The memory of one method, for a planner of the host to plan: it sets the offsets of the items.
typedef struct sc_plan_request {
    const sc_storage_table *table;
    const uint32_t *roots;  // the storage of each item
    sc_plan_item *items;
    uint32_t count, align;
    uint32_t moment_count;  // lifetimes end before it
} sc_plan_request;

// Planners of the host. A plan that cannot be is an error that names the values.
typedef struct sc_host_planners {
    sc_status (*plan)(void *user, uint32_t number, sc_plan_request *request);
    void *user;
} sc_host_planners;

// Plans a program. Tables and reports are arrays, one per method of `program`, on ctx->arena. From
// here on the marks of values must stay untouched until emission. `host` may be NULL where no
// option has the number of a planner.
sc_status sc_place_program(sc_ctx *ctx, sc_program *program, const sc_options *options,
                           const sc_host_planners *host, sc_storage_table **tables,
                           sc_place_report **reports);

#endif
