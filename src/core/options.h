// Options of lowering and of loading: one member for each row of options.def.
// Prefix: sc_options_ reads or checks all options at once.
#ifndef SC_OPTIONS_H
#define SC_OPTIONS_H

#include "base/str.h"

#define SC_OPTION_TYPE_BOOL           bool
#define SC_OPTION_TYPE_COUNT          uint64_t
#define SC_OPTION_TYPE_WHOLE          uint64_t
#define SC_OPTION_TYPE_POWER(n)       uint32_t
#define SC_OPTION_TYPE_CHOICE(words)  sc_str
#define SC_OPTION_TYPE_NAMES          sc_option_names
#define SC_OPTION_TYPE_BOUNDS         sc_bounds
#define SC_OPTION_TYPE_SIZES(words)   sc_shape_eval
#define SC_OPTION_TYPE_PLANNER(words) sc_planners
#define SC_OPTION_TYPE_FILES          sc_weight_files

typedef struct sc_option_names {
    const sc_str *items;
    uint32_t count;
} sc_option_names;

// Is the name one of them?
bool sc_option_names_have(const sc_option_names *names, const char *name);

// Largest values by name, each positive and less than SC_DIM_INF.
typedef struct sc_bound {
    sc_str name;
    int64_t max;
} sc_bound;

typedef struct sc_bounds {
    const sc_bound *items;
    uint32_t count;
} sc_bounds;

// The sizes that memory is planned for: by one word for all methods that `methods` does not name,
// and by largest values.
typedef struct sc_shape_eval {
    sc_str all;
    sc_bounds bounds;
    const struct sc_method_sizes *methods;
    uint32_t count;
} sc_shape_eval;

typedef struct sc_method_sizes {
    sc_str method, how;
} sc_method_sizes;

// A planner of the library by its name, or function `number` of the host where the name is empty.
typedef struct sc_planner {
    sc_str name;
    uint32_t number;
} sc_planner;

// The planner of each method. `all` plans those that `methods` does not name.
typedef struct sc_planners {
    sc_planner all;
    const struct sc_method_planner *methods;
    uint32_t count;
} sc_planners;

typedef struct sc_method_planner {
    sc_str method;
    sc_planner planner;
} sc_method_planner;

// The planner of the method with that name.
sc_planner sc_planners_of(const sc_planners *planners, sc_str method);

// The official exporter's name for the file of all weights, without its suffix.
#define SC_EXTERNAL_FILE "_default_external_constant"

// A file for the weights whose names fit the pattern, in which * stands for any characters. Without
// a name of a file, the weights stay inside the program.
typedef struct sc_weight_file {
    sc_str pattern, file;
} sc_weight_file;

// The files of weights: the first rule that fits counts.
typedef struct sc_weight_files {
    const sc_weight_file *rules;
    uint32_t count;
} sc_weight_files;

// Does the name fit the pattern?
bool sc_weight_file_fits(const sc_weight_file *rule, sc_str name);
// The file of the weight with that name; empty for the program itself.
sc_str sc_weight_files_of(const sc_weight_files *files, sc_str name);

typedef struct sc_options {
#define OPTION(call, name, kind, ...) SC_OPTION_TYPE_##kind name;
#include "core/options.def"
#undef OPTION
} sc_options;

// The options of a call without any.
sc_options sc_options_default(void);
// Must the lowered program run on the official runtime, too? Also true for NULL, which means no
// options.
bool sc_options_are_official(const sc_options *options);

#endif
