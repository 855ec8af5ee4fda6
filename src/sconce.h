// The public C interface of Sconce: lower PyTorch programs to ExecuTorch programs, look into both,
// run the latter. Hosts (the WebAssembly exports, the native command) include this and what base
// and core offer; tests look deeper.
//
// A job owns the memory of one compilation (open .pt2 -> to_edge -> transform -> to_executorch ->
// chunks of the .pte) or of one loaded program (open .pte -> set inputs -> execute -> outputs), and
// closing it frees everything. Jobs are independent and not thread-safe.
//
// Every fallible call returns a status; sc_job_report tells, as JSON, what went wrong where. Text
// arguments are borrowed for the call, text results live until the next call that returns text on
// the same job. Options are JSON objects whose keys are the rows of core/options.def for that call;
// an unknown key is an error that says which ones are known.
//
// Prefixes name the subject of a call: sc_job_, sc_host_, sc_archive_, sc_compile_, sc_edit_,
// sc_quantize_, sc_record_, sc_inspector_, sc_bundle_, sc_run_, sc_train_ and sc_output_.
#ifndef SCONCE_H
#define SCONCE_H

#include "backends/host/host.h"
#include "base/cord.h"

typedef struct sc_job sc_job;

// `host` is copied; NULL for none. NULL when there is no memory.
sc_job *sc_job_open(const sc_host *host);
void sc_job_close(sc_job *job);
sc_ctx *sc_job_ctx(sc_job *job);
// True for a pointer that sc_job_open returned and sc_job_close has not seen: what comes
// back from a host is checked with it.
bool sc_job_is_open(const sc_job *job);

// {"status": "unsupported_op", "diagnostics": [{"severity", "code", "message", "hint", "method",
// "pass", "node", "op", "source", "stack_trace", "instruction"}]} for what was recorded since the
// last sc_job_forget_diagnostics; of more than 1000, the last item says how many are not
// listed. "source" is the user's own line of the trace.
sc_str sc_job_report(sc_job *job, sc_status status);
void sc_job_forget_diagnostics(sc_job *job);

// Status codes, dtypes, ops, passes as JSON, from the tables: hosts hard-code no number.
sc_str sc_meta_json(sc_job *job);

// For hosts that fetch a text result by a later call: the text that was kept last.
void sc_job_keep_text(sc_job *job, sc_str text);
sc_str sc_job_kept_text(const sc_job *job);

// --- Compiling -----------------------------------------------------------------------------------

// Names the kind of a file: "pt2", "pte", "ptd", "bpte" in a version that this build reads,
// "etdump", "etrecord", or "unknown" with the reason in a note.
sc_status sc_detect(sc_job *job, sc_source *source, sc_str *kind);

// A .pt2 with compressed entries fails to open with SC_ERR_COMPRESSED. The host then asks for these
// entries, [{"name", "offset", "stored", "size"}], inflates `stored` bytes at `offset` of the file
// to `size` bytes each, and opens the source that `sc_archive_inflated` makes of file and entries.
// Bounds are checked before anything is inflated, sizes and CRCs after.
sc_status sc_archive_compressed(sc_job *job, sc_source *archive, sc_str *json);
sc_status sc_archive_inflated(sc_job *job, sc_source *archive, sc_source *const *entries,
                              uint32_t count, sc_source **out);

// Adds the models of a .pt2 as methods. `method` names the method when the file holds one model (or
// `model` picks one); empty names follow the file: "model" alone becomes "forward".
sc_status sc_compile_open(sc_job *job, sc_source *source, sc_str method, sc_str model);

// A method that answers a constant: a JSON number, true/false, string, array, {"dtype": name},
// {"dict": [[key, value], ...]}, or {"tensor": dtype, "sizes": [2, 3], "at": place in `data`},
// whose elements stand there row-major. The bytes are copied.
sc_status sc_compile_constant_method(sc_job *job, sc_str name, sc_str value_json, const void *data,
                                     size_t bytes);

// The compilation keeps every program it makes, under a small number: 0 is what was opened, further
// ones appear as the calls below succeed. Earlier programs are never changed by later steps, and
// all can be looked at until the job closes, which is when their memory goes back: they share
// symbols, names and constants.

// Decomposes a program to core ATen and rewrites it to the edge dialect. `from` is 0 for the opened
// program, or the number of a quantized one. The option "dynamic_shapes" sets maxima that the files
// lack; without one sc_compile_to_executorch refuses the size. The option "snapshots" also keeps
// the core ATen program, whose number is the one before `edge`.
sc_status sc_compile_to_edge(sc_job *job, uint32_t from, sc_str options_json, uint32_t *edge);

// Runs passes over one method of a copy of the edge program `edge`, or over all methods when
// `method` is empty. `passes_json`: ["dce", ...], or lists by method.
sc_status sc_compile_transform(sc_job *job, uint32_t edge, sc_str method, sc_str passes_json,
                               uint32_t *transformed);

// Runs passes that work before decomposition, ["noops"], over one method of a copy of source
// program `from`, which gives the next source program.
sc_status sc_compile_transform_source(sc_job *job, uint32_t from, sc_str method, sc_str passes_json,
                                      uint32_t *transformed);

// Hands parts of a copy of the edge program `edge` to backends, of all methods at once.
// `partitioners_json` says which: {"methods": {"prefill": [PARTITIONER, ...]}}, where methods that
// are not named stay as they are, or {"all": [PARTITIONER, ...]}. The first of each method take
// part in a first round, the second ones, in what is left, in a second, and so on. A PARTITIONER is
//   {"backend": name or id, "specs": [{"key": text, "value": text or [bytes]}], "whole": bool,
//    "tags": [{"tag": name, "nodes": [name, ...], "specs": [...]}], "passes": [name, ...]}
// and means every node that the backend takes; with `whole` all of the method, as one part, or a
// failure; with `tags` these parts and no others. Specs of a tag are instead of the others. Passes
// run before decomposition, on the methods of the partitioner: SC_ERR_ARGUMENT here, where that is
// over.
sc_status sc_compile_to_backend(sc_job *job, uint32_t edge, sc_str partitioners_json,
                                sc_str options_json, uint32_t *delegated);
// sc_compile_to_edge, then the passes `passes_json`, ["dce"] or {"prefill": ["dce"]}, then
// sc_compile_to_backend, but for operators that a backend of the method wants whole: these are not
// decomposed, unless they would not end up in a part. The edge program has the number before that
// of `delegated`.
sc_status sc_compile_to_edge_transform_and_lower(sc_job *job, uint32_t from, sc_str passes_json,
                                                 sc_str partitioners_json, sc_str edge_options_json,
                                                 sc_str backend_options_json, uint32_t *delegated);
// Reports the fate of each node of program number `program`, as JSON: {method: {"delegates":
// [{"name", "backend", "graph", "nodes", "macs", "bytes", "processedBytes", "dataBytes",
// "debugHandleMap": {name or number: [handle]} or null}], "nodes": [{"name", "op", "graph",
// "source", "delegate", "backend", "reason", "hint", "macs", "bytes"}]}}.
sc_status sc_compile_delegation(sc_job *job, uint32_t program, sc_str *json);
// The program that to_executorch has written, as JSON: tables and fields by the names of
// schema/program.fbs, absent fields left out. Vectors of more than 256 bytes are text: "4096
// bytes".
sc_status sc_compile_executorch_json(sc_job *job, uint32_t executorch, sc_str *json);

// Plans memory and emits a copy of the edge program `edge`. With the option "consume" the edge
// program itself is emitted and is gone then, which saves the memory of the copy. The files it
// makes are appended to the outputs below.
sc_status sc_compile_to_executorch(sc_job *job, uint32_t edge, sc_str options_json,
                                   uint32_t *executorch);

// Runs executorch program `executorch` and the same methods without delegates, on the example
// inputs of the opened files or, where they have none, on random ones: {method: {"inputs":
// "example" | "random", "outputs": [{"output", "difference", "largest", "tolerance", "isClose"}],
// "delegates": [{"name", "backend", ..., "reason"}]}}. A delegate is compared with the kernels on
// its own inputs; where that cannot be done, the reason says why. A result that is not close is a
// warning, too. A difference is null where only one of two values is a finite number.
sc_status sc_compile_verify(sc_job *job, uint32_t executorch, sc_str *json);

// --- Passes, partitioners and planners of the host -----------------------------------------------

// A list of passes names those of the library by text and those of the host by number: ["dce", 0].
// Partitioners and memory planners of the host have numbers, too.
typedef struct sc_host_passes {
    // Runs function `number` over the method, by the calls below. False: it failed. Then
    // the call around it fails with SC_ERR_CANCELLED, and only the host knows the reason.
    bool (*run)(void *user, uint32_t number, sc_str method);
    void *user;
} sc_host_passes;
void sc_job_set_passes(sc_job *job, sc_host_passes passes);

// While a pass of the host runs; SC_ERR_STATE at any other time.
//
// The method as JSON: {"method", "graphs": [{"id", "name", "path", "inputs": [VALUE], "nodes":
// [NODE], "outputs": [ARG]}], "signature", "ranges"}. The first graph is the method's own; the
// others are bodies of control flow. The ids are those that changes name things by.
sc_status sc_edit_method_json(sc_job *job, sc_str *json);
// Makes one change to the method; every failure leaves the graph as it was, unless inference of a
// later node failed.
//   {"do": "insert", "graph", "before": node or null, "like": node or null, "target": operator,
//    "args": [ARG], "kwargs": {name: ARG}}   answers {"node": NODE}
//   {"do": "set", "node", "index", "value": ARG}
//   {"do": "replaceInput", "node", "from": value, "to": value}
//   {"do": "replaceUses", "from": value, "to": value}
//                                            answer {"nodes": [NODE that is other than before],
//                                            "outputs": [ARG], if these are}
//   {"do": "replacePattern", "pattern": formula, "replacement": formula}
//                                            answers {"erased": [node], "added": [NODE], "roots":
//                                            [value], "nodes", "outputs"}
//   {"do": "erase", "node"}                  answers {}
//   {"do": "eraseDead", "graph"}             answers {"erased": [node]}
//   {"do": "output", "value"}                answers {"outputs": [ARG]}
//   {"do": "origin", "node"}                 changes no node; answers {"origin": {"stackTrace",
//                                            "module", "fromNode"}}
// An ARG is {"v": value}, {"g": graph}, {"f": a float}, a number, text, true, false, null, or a
// list. In "set" and "replaceInput", {"outputs": graph} in the place of a node means what that
// graph returns. Formulas are those of ops/formula.h; a name without a parenthesis stands for any
// value or argument.
sc_status sc_edit_change(sc_job *job, sc_str change_json, sc_str *json);
// Adds a constant, {"name", "dtype", "shape": [size]}, whose bytes are copied: row-major, little
// endian. Answers {"input": VALUE, "row": its row of the signature}.
sc_status sc_edit_add_constant(sc_job *job, sc_str constant_json, const void *data, uint32_t bytes,
                               sc_str *json);
// Reads the bytes of the constant that is input `input` of the method, row-major.
sc_status sc_edit_read_constant(sc_job *job, uint32_t input, void *out, uint32_t bytes);
// The text of the method as it is now.
sc_status sc_edit_text(sc_job *job, sc_str *text);
// Verifies the method; errors name the pass. Brings numbers, mixed dtypes and memory formats of an
// edge program into the edge dialect first. Comes of its own behind each pass.
sc_status sc_edit_end_pass(sc_job *job, sc_str pass);
// The answer of a partitioner, which may read the method but not change it: [{"backend", "tags":
// [{"tag", "nodes": [name], "specs": [{"key", "value"}]}], "specs"}]. The text is copied. Nodes of
// a body are named by its path: "true_graph_0/mul". Without an answer no node goes to a backend.
sc_status sc_edit_partition(sc_job *job, sc_str partitioners_json);

// While a planner of the host runs; SC_ERR_STATE at any other time.
//
// The memory to plan as JSON: {"method", "alignment", "momentCount", "items": [{"name", "kind":
// "input", "state" or "value", "bytes", "first", "last"}]}. An item lives from moment `first` to
// moment `last`, both included.
sc_status sc_plan_request_json(sc_job *job, sc_str *json);
// The plan: an array with the offset of each item, in bytes.
sc_status sc_plan_request_answer(sc_job *job, sc_str offsets_json);

// --- Backends of the host ------------------------------------------------------------------------

// Adds a backend that the host implements (host.h), for all jobs, for as long as the process lives.
// SC_ERR_ARGUMENT when a backend has this id or name already, or it is none.
sc_status sc_backend_register(sc_job *job, const sc_host_backend *backend);
// While the host is asked: `answer` is memory of sc_try_alloc, which is the question's from here
// on, with JSON first and then the bytes that its ranges mean.
void sc_host_question_answer(sc_host_question *question, void *answer, uint32_t json_bytes,
                             uint32_t bytes);
// Named data of the program whose delegate is started by SC_HOST_QUESTION_INIT; NULL when there is
// none of that name, or it cannot be read. Valid until the answer.
const uint8_t *sc_host_question_named(sc_host_question *question, sc_str key, uint64_t *bytes);
// The names and sizes of all named data of that program, as JSON; valid until the answer.
const char *sc_host_question_names(sc_host_question *question);
// Tells that part number `part` of an SC_HOST_QUESTION_PREPROCESS is begun. SC_ERR_CANCELLED when
// it is not to be; then the host answers with no result, and that is what the call ends with.
sc_status sc_host_question_progress(sc_host_question *question, uint32_t part);
// IR text of part number `part` of an SC_HOST_QUESTION_PREPROCESS; until the question is answered.
const char *sc_host_question_part_text(sc_host_question *question, uint32_t part);
// Row-major bytes of a constant of a part, by its place among them, which are `bytes` in all.
sc_status sc_host_question_read_constant(sc_host_question *question, uint32_t part,
                                         uint32_t constant, void *out, uint32_t bytes);

// --- Files ---------------------------------------------------------------------------------------

// The files that came out: for each executorch program its .pte, then its .ptd files.
typedef struct sc_output_chunk {
    sc_chunk_kind kind;
    const uint8_t *bytes;  // SC_CHUNK_BYTES
    uint32_t host_id;      // SC_CHUNK_EXTENT of a source the host can slice; 0: read it through C
    uint64_t source_offset;
    uint64_t size;
} sc_output_chunk;

uint32_t sc_output_count(const sc_job *job);
sc_str sc_output_name(const sc_job *job, uint32_t output);
uint64_t sc_output_bytes(const sc_job *job, uint32_t output);
uint32_t sc_output_chunk_count(const sc_job *job, uint32_t output);
// The host has read a file that belongs to no program: its memory goes, and its number may come
// again.
void sc_output_free(sc_job *job, uint32_t output);
sc_output_chunk sc_output_chunk_at(const sc_job *job, uint32_t output, uint32_t chunk);
// Reads any range of one chunk, whatever it is made of.
sc_status sc_output_read(sc_job *job, uint32_t output, uint32_t chunk, uint64_t offset, void *out,
                         size_t bytes);

// Describes the compilation at any point, as JSON: programs with their dialect, times and node
// counts per pass, methods with signatures and ops, constants, memory plan, output sizes, and
// diagnostics as in sc_job_report: warnings of steps that succeeded.
sc_status sc_compile_inspect(sc_job *job, sc_str *json);
// IR text of a method (all when empty) of program number `program`.
sc_status sc_compile_text(sc_job *job, uint32_t program, sc_str method, sc_str *text);
// Nodes of a method as JSON rows: name, op, inputs, results, user's source line, module path.
sc_status sc_compile_nodes(sc_job *job, uint32_t program, sc_str method, sc_str *json);
// The weights that may lie in a file of their own, each name once, as JSON: [{"name", "dtype",
// "shape", "bytes", "methods": [name]}].
sc_status sc_compile_weights(sc_job *job, uint32_t program, sc_str *json);
// The inputs that a method was exported with, as opened, as sc_record_values gives those of a
// record; null for none.
sc_status sc_compile_examples(sc_job *job, sc_str method, sc_str *json, uint32_t *output);

// --- Quantizing ----------------------------------------------------------------------------------
//
// Makes a quantized program of a source program, before it is lowered. While it is under way, what
// observes the methods is the job's program: sc_run_select and sc_run_set_input are for it, and
// sc_quantize_batch runs it. One quantization at a time in a job.

// `config_json` says which methods of source program `from` are quantized, and how: {"all":
// CONFIG}, or {"methods": {"decode": CONFIG}}, where methods that are not named, or null, stay as
// they are. In place of a CONFIG a list of them may stand, each for what those before it have left;
// those of weights alone come last. A CONFIG is {"mode": "static" | "dynamic" | "weight_only" |
// "dynamic_int4" | "half_weights", "per_channel": true, "weight_bits": 4 | 8, "group_size": 32,
// "skip": [PATTERN]}, where patterns are names of nodes, modules or operators, with '*', or "=NAME"
// for one node. The program that runs the batches is lowered with the options of sc_compile_to_edge
// and sc_compile_to_executorch.
sc_status sc_quantize_begin(sc_job *job, uint32_t from, sc_str config_json,
                            sc_str edge_options_json, sc_str executorch_options_json);
// Does the method take batches at this point? Before it is converted: if something is observed,
// which is so of activations in static quantization, and in dynamic quantization, too, of weights
// that are no plain constants. While programs are compared: if it is quantized.
bool sc_quantize_takes_batches(const sc_job *job, sc_str method);
// For passes of the host between preparing and converting: observers become nodes of the program, a
// copy of which is version `shown`; passes change a method of it; the observers that are left are
// those that observe and convert. `is_before`: no batch has run, and what runs batches is made
// anew.
sc_status sc_quantize_show(sc_job *job, uint32_t *shown);
sc_status sc_quantize_transform(sc_job *job, sc_str method, sc_str passes_json);
sc_status sc_quantize_hide(sc_job *job, bool is_before);
// Runs the selected method on its inputs, for all who observe it.
sc_status sc_quantize_batch(sc_job *job);
// Makes the quantized program, as the next source program. SC_ERR_STATE where a method that takes
// batches got none, SC_ERR_NUMERIC where what it got says no range: batches may still follow. After
// any other failure methods may be half converted, and only sc_quantize_end is left.
sc_status sc_quantize_convert(sc_job *job, uint32_t *quantized);
// From here on batches run the float and the quantized program side by side.
sc_status sc_quantize_compare(sc_job *job);
// {"methods": {method: {"batches", "bytesBefore", "bytesAfter", "notes": [what else is worth
// saying], "nodes": [{"node", "op", "isQuantized", "isSkipped": true where that was asked for,
// "reason", "weight", "snr", "largestDifference"}], "ranges": [{"tensors", "isWeight", "isDynamic",
// "bits", "low", "high", "scaleCount", "scale", "zeroPoint", "axis", "groupSize", "bytesBefore",
// "bytesAfter"}], "outputs": [{"output", "snr", "largestDifference"}]}}}. The weight of a node is
// the number of its range. Scales and zero points are null for halves, which have none, and where
// there are more than lists have room for.
//
// Each comparison has decibels ("snr"). "nonFiniteMismatches", if there are any, counts the
// elements that are NaN or infinite in one of the two and not the same in the other; they count for
// nothing else. Decibels are null if they are no number. If the largest difference is then 0 and
// there are no mismatches, nothing differs. Else the float result is 0 throughout, or all
// differences are mismatches, and no result is worse.
sc_status sc_quantize_report(sc_job *job, sc_str *json);
// Lets go of what ran the batches. Programs that were made stay.
void sc_quantize_end(sc_job *job);

// --- Records -------------------------------------------------------------------------------------
//
// A record (.etrecord) holds what is known of a program at each stage, for debugging and profiling.
// A job keeps records under small numbers. They name versions of its program, which no later step
// changes, and add maps of what was emitted: what is done to one never shows in another. Whatever
// is added a second time is SC_ERR_STATE.

// An empty one.
sc_status sc_record_new(sc_job *job, uint32_t *record);
// An empty one that the next sc_compile_to_edge, or its kin with backends, fills: with what was
// opened, with the edge program as it is before passes and delegation, and, if passes run, with
// what they leave as the stage "edge_after_transform".
sc_status sc_record_generate(sc_job *job, uint32_t *record);
// Opens a record of any layout that has existed.
sc_status sc_record_open(sc_job *job, sc_source *source, uint32_t *record);
// The programs alone, without what is only known of an executorch program.
sc_status sc_record_copy(sc_job *job, uint32_t record, uint32_t *copy);
// A copy with the maps of executorch program number `executorch` and, as representative inputs, the
// example inputs of the file, where it has any.
sc_status sc_record_complete(sc_job *job, uint32_t record, uint32_t executorch, uint32_t *complete);

// Files have a place for one exported program: that of `forward`, or of the only method.
sc_status sc_record_add_exported_program(sc_job *job, uint32_t record, uint32_t program);
sc_status sc_record_add_edge_dialect_program(sc_job *job, uint32_t record, uint32_t program);
// The maps of an executorch program, whose version must be there still.
sc_status sc_record_add_executorch_program(sc_job *job, uint32_t record, uint32_t program);
// Any earlier version as a stage of that name. SC_ERR_ARGUMENT for names that mean something else.
sc_status sc_record_add_extra_export_module(sc_job *job, uint32_t record, sc_str name,
                                            uint32_t program);
// Sets {"representative_inputs": [VALUE]} or {"reference_outputs": {method: [CASE]}}, a CASE being
// a list of outputs; null forgets them. A VALUE is {"tensor": dtype, "sizes": [2, 3], "at": place
// in `bytes`}, row-major, {"int": text}, {"float": x}, {"bool": b}, {"string": text}, {"none":
// true} or {"list": [VALUE]}. The bytes are copied.
sc_status sc_record_update(sc_job *job, uint32_t record, sc_str json, const void *bytes,
                           size_t size);
// The same back, null for none; the bytes are output number `output`.
sc_status sc_record_values(sc_job *job, uint32_t record, bool are_outputs, sc_str *json,
                           uint32_t *output);
// The inputs that a method's program was exported with, likewise; null where the record has none.
// SC_ERR_NOT_FOUND for methods that it does not have.
sc_status sc_record_examples(sc_job *job, uint32_t record, sc_str method, sc_str *json,
                             uint32_t *output);

// Makes the file, as output number `output`. Options: {"light": true} leaves weights out;
// {"method": name} writes this method alone, as `forward`, for tools that know no other.
// SC_ERR_STATE says what is missing.
sc_status sc_record_save(sc_job *job, uint32_t record, sc_str options_json, uint32_t *output);

// {"methods", "programs": [{"stage", "method", "nodes", "has_weights"}], "export_graph_id",
// "has_reference_outputs", "has_representative_inputs", "unknown_entries", "unread_entries":
// [{"name", "reason"}], "diagnostics"}.
sc_status sc_record_inspect(sc_job *job, uint32_t record, sc_str *json);
// The debug_handle_map (0), delegate_map (1) or instruction_id_to_num_outs_map (2) as in the file,
// null when there is none.
sc_status sc_record_map(sc_job *job, uint32_t record, uint32_t map, sc_str *json);
// IR text, and nodes as in sc_compile_nodes, of a program by stage and method; an empty method is
// for stages of one.
sc_status sc_record_text(sc_job *job, uint32_t record, sc_str stage, sc_str method, sc_str *text);
sc_status sc_record_nodes(sc_job *job, uint32_t record, sc_str stage, sc_str method, sc_str *json);

// --- Running -------------------------------------------------------------------------------------

// Opens a .pte, or the one in a .bpte, with the .ptd files it needs.
sc_status sc_run_open(sc_job *job, sc_source *pte, sc_source *const *ptds, uint32_t ptd_count,
                      sc_str options_json);
// Methods with inputs, outputs, planned memory, instructions, op histogram and the keys of external
// data with the number of the .ptd that holds each (null: no file does), as JSON.
sc_status sc_run_inspect(sc_job *job, sc_str *json);
// Prints the backend's form of part `part` of a method: a line for each weight, input and node. The
// text is empty if the backend cannot print. SC_ERR_NOT_FOUND if there is no such part.
sc_status sc_run_part_text(sc_job *job, sc_str method, uint32_t part, sc_str *text);
// Loads a method (idempotent) and makes it the one that the calls below mean.
sc_status sc_run_select(sc_job *job, sc_str method);

typedef enum sc_value_kind {
    SC_KIND_NONE,
    SC_KIND_INT,
    SC_KIND_DOUBLE,
    SC_KIND_BOOL,
    SC_KIND_STRING,
    SC_KIND_TENSOR
} sc_value_kind;

// A value that crosses the border. Tensor bytes are row-major logical values.
typedef struct sc_io {
    sc_value_kind kind;
    int64_t i;       // INT, BOOL (0 or 1)
    double d;        // DOUBLE
    sc_str str;      // STRING
    uint32_t dtype;  // TENSOR: sc_dtype
    uint32_t rank;
    const int64_t *sizes;
    const uint8_t *dim_order;  // outputs: as the program declares it; ignored on inputs
    const void *data;
    uint64_t bytes;
} sc_io;

// Copies the value in. Everything in it is checked, against the method's declaration last.
sc_status sc_run_set_input(sc_job *job, uint32_t index, const sc_io *value);
// With `reports_progress` every instruction is progress, and the host may cancel before each: what
// the method has written to its state by then stays.
sc_status sc_run_execute(sc_job *job, bool reports_progress);
uint32_t sc_run_output_count(const sc_job *job);
// Views memory that is valid until any method of the program executes. Tensors come row-major:
// those with another dim order are rewritten into job memory, one block an output.
sc_status sc_run_output(sc_job *job, uint32_t index, sc_io *out);
// Every method's mutable state back to what it was after loading.
sc_status sc_run_reset(sc_job *job);

// --- Training ------------------------------------------------------------------------------------

// Finds the gradients and parameters of a method that computes both, which is loaded then:
// {"results": number of its outputs before the gradients, "parameters": [qualified name]}. The
// number of the trainer is the same for the same method. SC_ERR_NOT_FOUND when there are none.
sc_status sc_train_open(sc_job *job, sc_str method, uint32_t *trainer, sc_str *json);
// Keeps copies of the gradients that the last run of the method has computed.
sc_status sc_train_keep(sc_job *job, uint32_t trainer);
// Views a parameter as it is now, or its kept gradient; SC_ERR_STATE before one is kept.
sc_status sc_train_tensor(sc_job *job, uint32_t trainer, uint32_t index, bool is_gradient,
                          sc_io *out);
// Replaces the elements of a parameter, row-major. SC_ERR_ARGUMENT unless there are as many bytes
// as the parameter has.
sc_status sc_train_set(sc_job *job, uint32_t trainer, uint32_t index, const void *data,
                       uint64_t bytes);

// Stochastic gradient descent with the options of ExecuTorch's SGD.
typedef struct sc_sgd {
    double lr, momentum, dampening, weight_decay;
    bool nesterov;
} sc_sgd;
sc_status sc_train_sgd(sc_job *job, uint32_t trainer, const sc_sgd *options, uint32_t *optimizer);
// Moves the parameters against the kept gradients.
sc_status sc_train_step(sc_job *job, uint32_t optimizer);
// Frees the momentum; no effect on the parameters.
void sc_train_close(sc_job *job, uint32_t optimizer);

// --- Bundled programs ----------------------------------------------------------------------------

// Makes output `output` a bundled program (.bpte) of the program that is open: with calls of its
// methods and what they are expected to return. `suites_json` is [{"method": name, "cases":
// [{"inputs": [VALUE], "expected": [VALUE] or null}]}], where a VALUE is {"dtype": sc_dtype,
// "sizes": [..], "at": offset in `data`, "bytes": n}, row-major, {"int": "7"}, {"double": 0.5 or
// "NaN"} or {"bool": true}. A value that the method does not take or return is refused, by method
// and case.
sc_status sc_bundle_write(sc_job *job, sc_str suites_json, const void *data, uint64_t bytes,
                          uint32_t *output);
// The calls in the bundled program that is open, in the same form; "at" is an address, good until
// the next call that returns text. No suites for a plain program.
sc_status sc_bundle_read(sc_job *job, sc_str *json);
// Runs a case from the program's first state and compares: [{"is_close", "why_not": "dtype",
// "sizes", "strides", "kind" or null, "elements", "mismatches", "worst", "max_absolute",
// "max_relative", "mean_absolute"}], one for each expected output. Floats, doubles and halves are
// close within atol + rtol * |expected|, all else must be equal.
sc_status sc_bundle_verify(sc_job *job, uint32_t suite, uint32_t test_case, double rtol,
                           double atol, sc_str *json);

// --- The event tracer: what runs do --------------------------------------------------------------

typedef enum sc_event_tracer {
    SC_EVENT_TRACER_OFF,           // as at first
    SC_EVENT_TRACER_EVENTS,        // when each instruction began and ended
    SC_EVENT_TRACER_OUTPUTS,       // and what methods return
    SC_EVENT_TRACER_INTERMEDIATES  // and what each instruction has written
} sc_event_tracer;

// Chooses what the tracer keeps of the calls of sc_run_select and sc_run_execute from here on. Each
// call is a block of the dump: a method that was loaded for the first time, or a run, which is test
// case `bundled_input_index` of its method, or of no case (-1). When a block does not fit the
// option "event_bytes_max", its call fails with SC_ERR_LIMIT after it has done its work, and the
// blocks before it stay.
//
// Instructions that loading has merged or computed ahead are in it, too: those that another one
// stands for have an equal share of its time, and leave no value behind. With the option
// "optimize" off every value is there.
//
// With `is_filtered` the host is asked which values of delegates are kept; their times always are.
sc_status sc_run_event_tracer(sc_job *job, sc_event_tracer what, int32_t bundled_input_index,
                              bool is_filtered);
// Writes the blocks kept since the last dump as ExecuTorch's own files. The JSON gives the numbers
// of the two outputs, the ETDump and its debug buffer, which has no bytes when there are no values.
// Times are nanoseconds of the host's clock. {"blocks", "events", "values", "unseen", "omitted",
// "widened", "instants", "clock_step"} count what is in it, and: instructions whose results are
// nowhere, because they were merged; values that the format has no place for, which are Null;
// tensors in a wider dtype, because readers lack theirs; instructions that ended before the clock
// moved; and the smallest step in nanoseconds that the clock was seen to make. SC_ERR_STATE if no
// block was kept.
sc_status sc_run_etdump(sc_job *job, sc_str *json, uint32_t *etdump, uint32_t *debug_buffer);
// Gives the memory of the dump back, as whatever is traced next does.
void sc_run_etdump_free(sc_job *job);

// --- Inspecting ----------------------------------------------------------------------------------

// Opens what a runtime has logged (.etdp), with the values that it points to, or what the exporter
// knew of the program (.etrecord), or the program (.pte, .bpte), or several of them; the others are
// NULL. Options: "sourceTimeScale" and "targetTimeScale" ("ns", "us", "ms", "s", "cycles"; the
// source is in ns, the target in ms), and "method", the one of the record that the dump is of, if
// that is not known.
sc_status sc_inspector_open(sc_job *job, sc_source *etdump, sc_source *etrecord,
                            sc_source *debug_buffer, sc_source *program, sc_str options_json);
// Answers {"what": name, ...}, as JSON in the shapes of types/inspector.ts: "report", "events",
// "ops", "modules", "timeline", "trace", "delegation", "gap" (with "method" and "reference"),
// "nodes" and "text" (with "stage" and "method"; text is no JSON), "diff" (with "from", "to" and
// "method"), "memory".
sc_status sc_inspector_query(sc_job *job, sc_str query_json, sc_str *json);
// Compares the dump of this job with that of another one.
sc_status sc_inspector_compare(sc_job *job, sc_job *other, sc_str *json);

#endif
