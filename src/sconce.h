// The public C interface of Sconce. It lowers PyTorch programs to ExecuTorch programs, inspects
// both, and runs the latter. Hosts are the WebAssembly exports and the native command. They include
// this header and those of base and core; only tests use other headers.
//
// A job is one compilation or one loaded program, and owns its memory. Closing it frees everything.
// A compilation: open a .pt2, to_edge, transform, to_executorch, read the chunks of the .pte. A
// loaded program: open a .pte, set inputs, execute, read outputs. Jobs are independent of each
// other, and not thread-safe.
//
// Every call that can fail returns a status. sc_job_report then says as JSON what failed and where.
// Text arguments are borrowed for the call. A text result is valid until the next call on the same
// job that returns text. Options are JSON objects, whose keys are the rows of core/options.def for
// that call. An unknown key is an error that lists the known ones.
//
// Prefixes name the subject of a call: sc_job_, sc_host_, sc_archive_, sc_compile_, sc_edit_,
// sc_plan_, sc_backend_, sc_quantize_, sc_record_, sc_inspector_, sc_bundle_, sc_run_, sc_train_
// and sc_output_.
#ifndef SCONCE_H
#define SCONCE_H

#include "backends/host/host.h"
#include "base/cord.h"

typedef struct sc_job sc_job;

// Opens a job. `host` is copied and may be NULL. NULL if there is no memory.
sc_job *sc_job_open(const sc_host *host);
void sc_job_close(sc_job *job);
sc_ctx *sc_job_ctx(sc_job *job);
// True for an open job: sc_job_open returned it, and sc_job_close has not closed it. Any pointer
// from a host is checked with this.
bool sc_job_is_open(const sc_job *job);

// Reports the diagnostics since the last sc_job_forget_diagnostics: {"status": "unsupported_op",
// "diagnostics": [{"severity", "code", "message", "hint", "method", "pass", "node", "op", "source",
// "stack_trace", "instruction"}]}. If there are more than 1000, the last item says how many are not
// listed. "source" is the user's own line of the trace.
sc_str sc_job_report(sc_job *job, sc_status status);
void sc_job_forget_diagnostics(sc_job *job);

// Lists status codes, dtypes, operators and passes as JSON, from the tables. So hosts need no
// numbers of their own.
sc_str sc_meta_json(sc_job *job);
// Lists status codes and dtypes alone, which is all that a host needs to run programs.
sc_str sc_tables_json(sc_job *job);

// Keeps one text for a host that fetches a text result by a later call.
void sc_job_keep_text(sc_job *job, sc_str text);
sc_str sc_job_kept_text(const sc_job *job);

// --- Compiling -----------------------------------------------------------------------------------

// Names the kind of a file: "pt2", "pte", "ptd", "bpte", "packed", "etdump", "etrecord" or
// "unknown". "unknown" comes with a note of the reason. "bpte" is a version that this build reads.
sc_status sc_detect(sc_job *job, sc_source *source, sc_str *kind);

// For a .pt2 with compressed entries, which fails to open with SC_ERR_COMPRESSED.
// sc_archive_compressed lists these entries: [{"name", "offset", "stored", "size"}]. The host
// inflates `stored` bytes at `offset` of the file to `size` bytes for each. sc_archive_inflated
// makes a source of the file and the inflated entries, and the host opens that. Bounds are checked
// before the host inflates, sizes and CRCs afterwards.
sc_status sc_archive_compressed(sc_job *job, sc_source *archive, sc_str *json);
sc_status sc_archive_inflated(sc_job *job, sc_source *archive, sc_source *const *entries,
                              uint32_t count, sc_source **out);

// Adds the models of a .pt2 as methods. `method` names the method if the file has one model, or if
// `model` picks one. If it is empty, the name is the model's; a single "model" becomes "forward".
sc_status sc_compile_open(sc_job *job, sc_source *source, sc_str method, sc_str model);

// Gives the next to_edge a method that returns a constant: a JSON number, true, false, string,
// array, {"dtype": name}, {"dict": [[key, value], ...]}, or {"tensor": dtype, "sizes": [2, 3],
// "at": offset in `data`}. Elements are row-major. The bytes are copied. If it fails, none is
// given.
sc_status sc_compile_constant_method(sc_job *job, sc_str name, sc_str value_json, const void *data,
                                     size_t bytes);

// Ends the use of a program by the host. Its memory is freed once no program that was made from it
// is in use, and no record names it. Then it is as if a step had consumed it.
void sc_compile_drop(sc_job *job, uint32_t program);
// A compilation keeps every program that it makes, by number. Number 0 is the program of the files.
// Each successful call below adds one or more. A program never changes once it has a number.
// Programs share symbols, names and constants, so all of them stay until the job closes.

// Decomposes a program to core ATen and rewrites it to the edge dialect. `from` is 0, or the number
// of a quantized program. The option "dynamic_shapes" sets maxima that the files lack;
// sc_compile_to_executorch refuses a size without a maximum. The option "snapshots" also keeps the
// core ATen program, under the number before `edge`.
sc_status sc_compile_to_edge(sc_job *job, uint32_t from, sc_str options_json, uint32_t *edge);

// Copies edge program `edge` and runs passes over one method of the copy, or over all methods if
// `method` is empty. `passes_json` is ["dce", ...], or such a list for each method.
sc_status sc_compile_transform(sc_job *job, uint32_t edge, sc_str method, sc_str passes_json,
                               uint32_t *transformed);

// Copies source program `from` and runs passes over one method of the copy, such as ["noops"]. Only
// passes that work before decomposition may be named. The result is the next source program.
sc_status sc_compile_transform_source(sc_job *job, uint32_t from, sc_str method, sc_str passes_json,
                                      uint32_t *transformed);

// Copies edge program `edge` and gives parts of the copy to backends, for all methods at once.
// `partitioners_json` is {"methods": {"prefill": [PARTITIONER, ...]}} or {"all": [PARTITIONER,
// ...]}. Methods that are not named stay as they are. The first partitioner of each method works in
// a first round, the second in a second round on the remaining nodes, and so on. A PARTITIONER is
//   {"backend": name or id, "specs": [{"key": text, "value": text or [bytes]}], "whole": bool,
//    "tags": [{"tag": name, "nodes": [name, ...], "specs": [...]}], "passes": [name, ...]}
// A partitioner selects every node that the backend takes. With `whole` it selects all of the
// method as one part, and fails if the backend does not take it. With `tags` it selects these parts
// and no others. The specs of a tag replace the partitioner's. `passes` run before decomposition,
// so here they are SC_ERR_ARGUMENT.
sc_status sc_compile_to_backend(sc_job *job, uint32_t edge, sc_str partitioners_json,
                                sc_str options_json, uint32_t *delegated);
// Does sc_compile_to_edge, then the passes, then sc_compile_to_backend. `passes_json` is ["dce"] or
// {"prefill": ["dce"]}. An operator that a backend of its method wants whole is not decomposed, if
// it ends up in a part. The edge program has the number before `delegated`.
sc_status sc_compile_to_edge_transform_and_lower(sc_job *job, uint32_t from, sc_str passes_json,
                                                 sc_str partitioners_json, sc_str edge_options_json,
                                                 sc_str backend_options_json, uint32_t *delegated);
// Reports for each node of a program whether it was delegated, as JSON: {method: {"delegates":
// [{"name", "backend", "graph", "nodes", "macs", "bytes", "processedBytes", "dataBytes",
// "debugHandleMap": {name or number: [handle]} or null}], "nodes": [{"name", "op", "graph",
// "source", "delegate", "backend", "reason", "hint", "macs", "bytes"}]}}.
sc_status sc_compile_delegation(sc_job *job, uint32_t program, sc_str *json);
// Gives an executorch program as JSON. Tables and fields have the names of schema/program.fbs, and
// absent fields are left out. A vector of more than 256 bytes is a text such as "4096 bytes".
sc_status sc_compile_executorch_json(sc_job *job, uint32_t executorch, sc_str *json);

// Copies edge program `edge`, plans its memory and emits it. With the option "consume" the edge
// program itself is emitted and then gone, which saves the memory of the copy. The files are
// appended to the outputs below.
sc_status sc_compile_to_executorch(sc_job *job, uint32_t edge, sc_str options_json,
                                   uint32_t *executorch);

// Runs an executorch program, and runs its methods again without delegates. Inputs are the example
// inputs of the opened files, or random ones if there are none. The result is {method: {"inputs":
// "example" | "random", "outputs": [{"output", "difference", "largest", "tolerance", "isClose"}],
// "delegates": [{"name", "backend", ..., "reason"}]}}. A delegate is compared with the kernels on
// its own inputs. If that is not possible, "reason" says why. A result that is not close also gives
// a warning. A difference is null if only one of two values is finite.
sc_status sc_compile_verify(sc_job *job, uint32_t executorch, sc_str *json);

// --- Passes, partitioners and planners of the host -----------------------------------------------

// Passes, partitioners and memory planners of the host have numbers. A list of passes has the names
// of built-in passes and the numbers of the host's: ["dce", 0].
typedef struct sc_host_functions {
    // Runs function `number` over the method. The function uses the calls below. False means that
    // it failed. Then the outer call fails with SC_ERR_CANCELLED; only the host knows the reason.
    bool (*run)(void *user, uint32_t number, sc_str method);
    void *user;
} sc_host_functions;
void sc_job_set_host_functions(sc_job *job, sc_host_functions functions);

// Except for sc_edit_read, these calls work while a function of the host runs. At any other time
// they are SC_ERR_STATE.
//
// Gives the method as JSON: {"method", "graphs": [{"id", "name", "path", "inputs": [VALUE],
// "nodes": [NODE], "outputs": [ARG]}], "signature", "ranges"}. The first graph is the method's own.
// The others are bodies of control flow. Changes refer to things by these ids.
sc_status sc_edit_method_json(sc_job *job, sc_str *json);
// Makes one change to the method. If it fails, the graph stays as it was, except that
// matches of a pattern stay replaced that came before the one that failed.
//   {"do": "insert", "graph", "before": node or null, "like": node or null, "target": operator,
//    "args": [ARG], "kwargs": {name: ARG}}   answers {"node": NODE}
//   {"do": "set", "node", "index", "value": ARG}
//   {"do": "replaceInput", "node", "from": value, "to": value}
//   {"do": "replaceUses", "from": value, "to": value}
//                                            answer {"nodes": [NODE that is other than before],
//                                            "outputs": [ARG], if these are}
//   {"do": "replacePattern", "pattern": formula, "replacement": formula}
//                                            answers {"roots": [value]}: ask for the method again
//   {"do": "erase", "node"}                  answers {}
//   {"do": "eraseDead", "graph"}             answers {"erased": [node]}
//   {"do": "output", "value"}                answers {"outputs": [ARG], "at": index of the new one}
//   {"do": "setDType", "value": input, "dtype"} answers {"nodes": [NODE]}
//   {"do": "constantMethod", "name", "value": as in sc_compile_constant_method}  answers {}
//   {"do": "origin", "node"}                 changes no node; answers {"origin": {"stackTrace",
//                                            "module", "fromNode"}}
// An ARG is {"v": value}, {"g": graph}, {"f": a float}, {"i": an integer as text}, a number, text,
// true, false, null, or a list. In "set" and "replaceInput" a node may be replaced by {"outputs":
// graph}, which is what that graph returns. Formulas are those of ops/formula.h. A name without a
// parenthesis matches any value or argument.
sc_status sc_edit_change(sc_job *job, sc_str change_json, sc_str *json);
// Adds the constant {"name", "dtype", "shape": [size]}. Its bytes are row-major and little-endian,
// and are copied. Answers {"input": VALUE, "row": its row of the signature}.
sc_status sc_edit_add_constant(sc_job *job, sc_str constant_json, const void *data, uint32_t bytes,
                               sc_str *json);
// Reads the bytes of a constant, row-major. `input` is its index among the inputs of the method.
sc_status sc_edit_read_constant(sc_job *job, uint32_t input, void *out, uint32_t bytes);
// Gives the text of the method in its current state.
sc_status sc_edit_text(sc_job *job, sc_str *text);
// Ends a pass: verifies the method. An error names the pass. Before that, an edge program is
// brought into its dialect: numbers, mixed dtypes and memory formats. After each pass of the host
// this happens automatically.
sc_status sc_edit_end_pass(sc_job *job, sc_str pass);
// Runs function `function` of the host, which may read the method of a program, but not change it.
sc_status sc_edit_read(sc_job *job, uint32_t program, sc_str method, uint32_t function);
// Gives the answer of a partitioner, which may read the method but not change it: [{"backend",
// "tags": [{"tag", "nodes": [name], "specs": [{"key", "value"}]}], "specs"}]. The text is copied. A
// node of a body is named by its path: "true_graph_0/mul". Without an answer no node goes to a
// backend.
sc_status sc_edit_partition(sc_job *job, sc_str partitioners_json);

// These calls work while a planner of the host runs. At any other time they are SC_ERR_STATE.
//
// Gives the memory to plan as JSON: {"method", "alignment", "momentCount", "items": [{"name",
// "kind": "input", "state" or "value", "bytes", "first", "last"}]}. An item lives from moment
// `first` to moment `last`, both included.
sc_status sc_plan_request_json(sc_job *job, sc_str *json);
// Gives the plan: an array with the offset of each item, in bytes.
sc_status sc_plan_request_answer(sc_job *job, sc_str offsets_json);

// --- Backends and operators of the host ----------------------------------------------------------

// Registers a backend of the host (host.h) for all jobs, until the process ends. SC_ERR_ARGUMENT if
// another backend has its id or name, or if these are not valid.
sc_status sc_backend_register(sc_job *job, const sc_host_backend *backend);
// Registers an operator of the host (host.h) for all jobs, until the process ends. `op` is copied.
// SC_ERR_ARGUMENT if its schema is wrong, or an operator of its name is known; SC_ERR_UNSUPPORTED
// if it writes to operands, or has a type that no file stores.
sc_status sc_operator_register(sc_job *job, const sc_host_operator *op);
// Answers a question of the library. `answer` is from sc_try_alloc, and the question owns it from
// then on. It contains JSON, followed by the bytes that the JSON's ranges refer to.
void sc_host_question_answer(sc_host_question *question, void *answer, uint32_t json_bytes,
                             uint32_t bytes);
// Gives named data of the program during SC_HOST_QUESTION_INIT. NULL if there is no data of that
// name, or it cannot be read. It is valid until the answer.
const uint8_t *sc_host_question_named(sc_host_question *question, sc_str key, uint64_t *bytes);
// Lists the names and sizes of all named data of that program, as JSON. It is valid until the
// answer.
const char *sc_host_question_names(sc_host_question *question);
// Reports that the host begins part number `part` of an SC_HOST_QUESTION_PREPROCESS.
// SC_ERR_CANCELLED if it should stop. The host then answers with no result, and the call ends with
// that status.
sc_status sc_host_question_progress(sc_host_question *question, uint32_t part);
// Gives the IR text of part number `part` of an SC_HOST_QUESTION_PREPROCESS. It is valid until the
// answer.
const char *sc_host_question_part_text(sc_host_question *question, uint32_t part);
// Reads a constant of a part, row-major. `constant` is its index among the part's constants, and
// `bytes` its size.
sc_status sc_host_question_read_constant(sc_host_question *question, uint32_t part,
                                         uint32_t constant, void *out, uint32_t bytes);

// --- Files ---------------------------------------------------------------------------------------

// The output files: for each executorch program its .pte, then its .ptd files.
typedef struct sc_output_chunk {
    sc_chunk_kind kind;
    const uint8_t *bytes;  // SC_CHUNK_BYTES
    uint32_t host_id;      // SC_CHUNK_EXTENT: the source, if the host can slice it; 0: read it by
                           // sc_output_read
    uint64_t source_offset;
    uint64_t size;
} sc_output_chunk;

uint32_t sc_output_count(const sc_job *job);
sc_str sc_output_name(const sc_job *job, uint32_t output);
uint64_t sc_output_bytes(const sc_job *job, uint32_t output);
uint32_t sc_output_chunk_count(const sc_job *job, uint32_t output);
// Frees a file that belongs to no program, once the host has read it. Its number may be used again.
void sc_output_free(sc_job *job, uint32_t output);
sc_output_chunk sc_output_chunk_at(const sc_job *job, uint32_t output, uint32_t chunk);
// Reads a range of one chunk of any kind.
sc_status sc_output_read(sc_job *job, uint32_t output, uint32_t chunk, uint64_t offset, void *out,
                         size_t bytes);

// Describes the current state of the compilation as JSON. It has programs with their dialect, and
// times and node counts for each pass. It has methods with signatures and operators, constants, the
// memory plan and output sizes. It has diagnostics as in sc_job_report: warnings of successful
// steps.
sc_status sc_compile_inspect(sc_job *job, sc_str *json);
// Gives the IR text of a method of a program, or of all methods if `method` is empty.
sc_status sc_compile_text(sc_job *job, uint32_t program, sc_str method, sc_str *text);
// Lists the nodes of a method as JSON: name, operator, inputs, results, the user's source line,
// module path.
sc_status sc_compile_nodes(sc_job *job, uint32_t program, sc_str method, sc_str *json);
// The weights that may lie in a file of their own, each name once, as JSON: [{"name", "dtype",
// "shape", "bytes", "methods": [name]}].
sc_status sc_compile_weights(sc_job *job, uint32_t program, sc_str *json);
// Gives the example inputs in the file of a method, in the form of sc_record_values. null if there
// are none.
sc_status sc_compile_examples(sc_job *job, sc_str method, sc_str *json, uint32_t *output);

// --- Quantizing ----------------------------------------------------------------------------------
//
// Quantization makes a new source program from a source program, before that is lowered. A job has
// one quantization at a time. While it lasts, the program of the job is one that observes the
// methods: sc_run_select and sc_run_set_input use it, and sc_quantize_batch runs it.

// Begins a quantization of source program `from`. `config_json` is {"all": CONFIG} or {"methods":
// {"decode": CONFIG}}. A method that is not named, or is null, stays as it is. A list of CONFIGs
// may replace a CONFIG: each works on the remaining nodes, and those for weights only come last. A
// CONFIG is {"mode": "static" | "dynamic" | "weight_only" | "dynamic_int4" | "half_weights",
// "per_channel": true, "weight_bits": 4 | 8, "group_size": 32, "skip": [PATTERN]}. A PATTERN is the
// name of a node, module or operator, with '*', or "=NAME" for one node. The options are those of
// sc_compile_to_edge and sc_compile_to_executorch, for the program that runs the batches.
sc_status sc_quantize_begin(sc_job *job, uint32_t from, sc_str config_json,
                            sc_str edge_options_json, sc_str executorch_options_json);
// Does the method take batches now? Before conversion it does if something is observed. Static
// quantization observes activations. Dynamic quantization observes only weights that are not plain
// constants. While programs are compared, it does if the method is quantized.
bool sc_quantize_takes_batches(const sc_job *job, sc_str method);
// For passes of the host between prepare and convert. sc_quantize_show makes version `shown`, a
// copy of the program in which observers are nodes. sc_quantize_transform runs passes over a method
// of it. sc_quantize_hide ends this: the observers that are still in the program observe and
// convert from then on. `is_before` means that no batch has run. Then the program that runs batches
// is made anew.
sc_status sc_quantize_show(sc_job *job, uint32_t *shown);
sc_status sc_quantize_transform(sc_job *job, sc_str method, sc_str passes_json);
sc_status sc_quantize_hide(sc_job *job, bool is_before);
// Runs the selected method on its inputs, for all observers.
sc_status sc_quantize_batch(sc_job *job);
// Makes the quantized program, as the next source program. SC_ERR_STATE if a method that takes
// batches got none. SC_ERR_NUMERIC if its batches give no range. More batches may follow these two.
// After any other failure methods may be half converted, and only sc_quantize_end may be called.
sc_status sc_quantize_convert(sc_job *job, uint32_t *quantized);
// Makes the batches that follow run the float and the quantized program side by side.
sc_status sc_quantize_compare(sc_job *job);
// Reports as JSON: {"methods": {method: {"batches", "bytesBefore", "bytesAfter", "notes": [text],
// "nodes": [{"node", "op", "isQuantized", "isSkipped": true if requested, "reason", "weight",
// "snr", "largestDifference"}], "ranges": [{"tensors", "isWeight", "isDynamic", "bits", "low",
// "high", "scaleCount", "scale", "zeroPoint", "axis", "groupSize", "bytesBefore", "bytesAfter"}],
// "outputs": [{"output", "snr", "largestDifference", "layer", "rows", "changedRows"}]}}}. The last
// three are there for scores of a linear layer. The "weight" of a node is the number of
// its range. Scales and zero points are null for halves, which do not have them, and if there are
// too many for a list.
//
// Each comparison has decibels ("snr"). "nonFiniteMismatches" counts the elements that are NaN or
// infinite in one result and not the same in the other. It is absent if it is 0. These elements
// count for no other measure. Decibels may be null. Then, with a largest difference of 0 and no
// mismatches, the results are equal. Otherwise the float result is 0 throughout, or all differences
// are mismatches, and no result is worse.
sc_status sc_quantize_report(sc_job *job, sc_str *json);
// Ends the quantization and frees the program that ran the batches. Programs with numbers stay.
void sc_quantize_end(sc_job *job);

// --- Records -------------------------------------------------------------------------------------
//
// A record (.etrecord) describes a program at each stage, for debugging and profiling. A job
// numbers its records. A record names versions of the job's program, which never change, and has
// maps of emitted programs. So a change to one record never shows in another. SC_ERR_STATE for
// content that the record has already.

// Makes an empty record.
sc_status sc_record_new(sc_job *job, uint32_t *record);
// Makes an empty record that the next sc_compile_to_edge fills, or the next
// sc_compile_to_edge_transform_and_lower. It gets the opened program, and the edge program before
// passes and delegation. If passes run, it gets their result as the stage "edge_after_transform".
sc_status sc_record_generate(sc_job *job, uint32_t *record);
// Opens a record of any layout that the official tools have written.
sc_status sc_record_open(sc_job *job, sc_source *source, uint32_t *record);
// Copies the programs only, without the facts of an executorch program.
sc_status sc_record_copy(sc_job *job, uint32_t record, uint32_t *copy);
// Copies the record and adds the maps of executorch program `executorch`. The example inputs of the
// file, if there are any, become representative inputs.
sc_status sc_record_complete(sc_job *job, uint32_t record, uint32_t executorch, uint32_t *complete);

// Adds the exported program. A file has room for one: that of `forward`, or of the only method.
sc_status sc_record_add_exported_program(sc_job *job, uint32_t record, uint32_t program);
sc_status sc_record_add_edge_dialect_program(sc_job *job, uint32_t record, uint32_t program);
// Adds the maps of an executorch program. Its version must still exist.
sc_status sc_record_add_executorch_program(sc_job *job, uint32_t record, uint32_t program);
// Adds any earlier version as the stage `name`. SC_ERR_ARGUMENT for names with a fixed meaning.
sc_status sc_record_add_extra_export_module(sc_job *job, uint32_t record, sc_str name,
                                            uint32_t program);
// Sets {"representative_inputs": [VALUE]} or {"reference_outputs": {method: [CASE]}}, where a CASE
// is a list of outputs. null removes them. A VALUE is {"tensor": dtype, "sizes": [2, 3], "at":
// offset in `bytes`}, {"int": text}, {"float": x}, {"bool": b}, {"string": text}, {"none": true} or
// {"list": [VALUE]}. Tensors are row-major. The bytes are copied.
sc_status sc_record_update(sc_job *job, uint32_t record, sc_str json, const void *bytes,
                           size_t size);
// Gives these values in the same form, or null. The bytes are output number `output`.
sc_status sc_record_values(sc_job *job, uint32_t record, bool are_outputs, sc_str *json,
                           uint32_t *output);
// Gives the example inputs of a method's program in the same form, or null if the record has none.
// SC_ERR_NOT_FOUND for a method that the record does not have.
sc_status sc_record_examples(sc_job *job, uint32_t record, sc_str method, sc_str *json,
                             uint32_t *output);

// Makes the file, as output number `output`. The option {"light": true} leaves weights out.
// {"method": name} writes this method alone, as `forward`, for tools that know no other name.
// SC_ERR_STATE says what is missing.
sc_status sc_record_save(sc_job *job, uint32_t record, sc_str options_json, uint32_t *output);

// Describes the record as JSON: {"methods", "programs": [{"stage", "method", "nodes",
// "has_weights"}], "export_graph_id", "has_reference_outputs", "has_representative_inputs",
// "unknown_entries", "unread_entries": [{"name", "reason"}], "diagnostics"}.
sc_status sc_record_inspect(sc_job *job, uint32_t record, sc_str *json);
// Gives a map as in the file, or null: debug_handle_map (0), delegate_map (1) or
// instruction_id_to_num_outs_map (2).
sc_status sc_record_map(sc_job *job, uint32_t record, uint32_t map, sc_str *json);
// Gives the IR text of a program by stage and method, and its nodes as in sc_compile_nodes. An
// empty method is for stages with one program.
sc_status sc_record_text(sc_job *job, uint32_t record, sc_str stage, sc_str method, sc_str *text);
sc_status sc_record_nodes(sc_job *job, uint32_t record, sc_str stage, sc_str method, sc_str *json);

// --- Running -------------------------------------------------------------------------------------

// Opens a .pte, or the one inside a .bpte, with the .ptd files that it needs; or a packed program,
// which has them in itself. SC_ERR_VERSION if another version or flavour packed it.
sc_status sc_run_open(sc_job *job, sc_source *pte, sc_source *const *ptds, uint32_t ptd_count,
                      sc_str options_json);
// Describes the methods as JSON: inputs, outputs, planned memory, instructions, counts of
// operators, and keys of external data. Each key has the number of the .ptd that contains it, or
// null if no file does.
sc_status sc_run_inspect(sc_job *job, sc_str *json);
// Prints the backend's own form of part `part` of a method, with a line for each weight, input and
// node. The text is empty if the backend cannot print. SC_ERR_NOT_FOUND if there is no such part.
sc_status sc_run_part_text(sc_job *job, sc_str method, uint32_t part, sc_str *text);
// Loads every method, and appends the program as a packed file to the outputs: weights are in the
// order of this build's kernels, so that opening it packs none. The file borrows from the program.
sc_status sc_run_save_packed(sc_job *job, uint32_t *output);
// Loads a method, if it is not loaded yet, and selects it for the calls below.
sc_status sc_run_select(sc_job *job, sc_str method);

typedef enum sc_value_kind {
    SC_KIND_NONE,
    SC_KIND_INT,
    SC_KIND_DOUBLE,
    SC_KIND_BOOL,
    SC_KIND_STRING,
    SC_KIND_TENSOR
} sc_value_kind;

// A value that crosses the border. The bytes of a tensor are row-major.
typedef struct sc_io {
    sc_value_kind kind;
    int64_t i;       // INT, BOOL (0 or 1)
    double d;        // DOUBLE
    sc_str str;      // STRING
    uint32_t dtype;  // TENSOR: sc_dtype
    uint32_t rank;
    const int64_t *sizes;
    const uint8_t *dim_order;  // outputs: the order that the program declares; ignored on inputs
    const void *data;
    uint64_t bytes;
} sc_io;

// Copies a value in and checks all of it, last against the method's declaration.
sc_status sc_run_set_input(sc_job *job, uint32_t index, const sc_io *value);
// Runs the method. With `reports_progress` every instruction reports progress, and the host may
// cancel before each. State that the method has written by then stays changed.
sc_status sc_run_execute(sc_job *job, bool reports_progress);
uint32_t sc_run_output_count(const sc_job *job);
// Views an output. It is valid until any method of the program runs. Tensors are row-major. A
// tensor with another dim order is rewritten into memory of the job, one block for each output.
sc_status sc_run_output(sc_job *job, uint32_t index, sc_io *out);
// Resets the mutable state of every method to its state after loading.
sc_status sc_run_reset(sc_job *job);

// --- Training ------------------------------------------------------------------------------------

// Finds the gradients and parameters of a method that computes both, and loads it: {"results":
// number of its outputs before the gradients, "parameters": [qualified name]}. The same method
// always gives the same trainer. SC_ERR_NOT_FOUND if it has none.
sc_status sc_train_open(sc_job *job, sc_str method, uint32_t *trainer, sc_str *json);
// Copies the gradients that the last run of the method computed, and keeps them.
sc_status sc_train_keep(sc_job *job, uint32_t trainer);
// Views the current value of a parameter, or its kept gradient. SC_ERR_STATE if no gradient is
// kept.
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
// Changes the parameters by one step, against the kept gradients.
sc_status sc_train_step(sc_job *job, uint32_t optimizer);
// Frees the momentum. Parameters stay as they are.
void sc_train_close(sc_job *job, uint32_t optimizer);

// --- Bundled programs ----------------------------------------------------------------------------

// Makes output `output` a bundled program (.bpte): the open program with calls of its methods and
// their expected results. `suites_json` is [{"method": name, "cases": [{"inputs": [VALUE],
// "expected": [VALUE] or null}]}]. A VALUE is {"dtype": sc_dtype, "sizes": [..], "at": offset in
// `data`, "bytes": n}, {"int": "7"}, {"double": 0.5 or "NaN"} or {"bool": true}. Tensors are
// row-major. A value that the method does not take or return is refused, with the method and the
// case.
sc_status sc_bundle_write(sc_job *job, sc_str suites_json, const void *data, uint64_t bytes,
                          uint32_t *output);
// Gives the calls of the open bundled program in the same form. "at" is an address, valid until the
// next call that returns text. A plain program has no suites.
sc_status sc_bundle_read(sc_job *job, sc_str *json);
// Runs a case from the program's first state and compares: [{"is_close", "why_not": "dtype",
// "sizes", "strides", "kind" or null, "elements", "mismatches", "worst", "max_absolute",
// "max_relative", "mean_absolute"}], one for each expected output. Floats, doubles and halves are
// close within atol + rtol * |expected|. Other results must be equal.
sc_status sc_bundle_verify(sc_job *job, uint32_t suite, uint32_t test_case, double rtol,
                           double atol, sc_str *json);

// --- The event tracer: what runs do --------------------------------------------------------------

typedef enum sc_event_tracer {
    SC_EVENT_TRACER_OFF,           // the default
    SC_EVENT_TRACER_EVENTS,        // the start and end of each instruction
    SC_EVENT_TRACER_OUTPUTS,       // in addition, the results of methods
    SC_EVENT_TRACER_INTERMEDIATES  // in addition, the results of each instruction
} sc_event_tracer;

// Chooses what the tracer keeps from here on of the calls of sc_run_select and sc_run_execute. Each
// call is a block of the dump: the first loading of a method, or a run. A run is test case
// `bundled_input_index` of its method; -1 is no case. If a block does not fit the option
// "event_bytes_max", its call fails with SC_ERR_LIMIT after it has done its work. Earlier blocks
// stay.
//
// Instructions that loading has merged or computed ahead are in the dump, too. Each of the merged
// ones has an equal share of the time, and no value. With the option "optimize" off all values are
// there.
//
// With `is_filtered` the host is asked which values of delegates are kept. Their times are always
// kept.
sc_status sc_run_event_tracer(sc_job *job, sc_event_tracer what, int32_t bundled_input_index,
                              bool is_filtered);
// Writes the blocks since the last dump as ExecuTorch's own files. `etdump` and `debug_buffer` are
// the numbers of the two outputs. Without values the debug buffer has no bytes. Times are
// nanoseconds of the host's clock. SC_ERR_STATE if no block was kept. The JSON is {"blocks",
// "events", "values", "unseen", "omitted", "widened", "instants", "clock_step"}. "unseen" counts
// instructions whose results are missing, because they were merged. "omitted" counts values that
// the format cannot store, which are Null. "widened" counts tensors in a wider dtype, because
// readers do not know theirs. "instants" counts instructions that ended before the clock moved.
// "clock_step" is the smallest step of the clock that was seen, in nanoseconds.
sc_status sc_run_etdump(sc_job *job, sc_str *json, uint32_t *etdump, uint32_t *debug_buffer);
// Frees the memory of the dump. The next traced call frees it, too.
void sc_run_etdump_free(sc_job *job);

// --- Inspecting ----------------------------------------------------------------------------------

// Opens a dump of a runtime (.etdp) with its debug buffer, a record of the exporter (.etrecord), a
// program (.pte, .bpte), or several of them. The others are NULL. The options "sourceTimeScale" and
// "targetTimeScale" are "ns", "us", "ms", "s" or "cycles". The default is ns for the source and ms
// for the target. The option "method" names the record's method that the dump is of, if that is not
// known.
sc_status sc_inspector_open(sc_job *job, sc_source *etdump, sc_source *etrecord,
                            sc_source *debug_buffer, sc_source *program, sc_str options_json);
// Answers {"what": name, ...} as JSON in the shapes of types/inspector.ts. Names are "report",
// "events", "ops", "modules", "timeline", "trace", "delegation", "gap" (with "method" and
// "reference"), "nodes" and "text" (with "stage" and "method"; text is not JSON), "diff" (with
// "from", "to" and "method"), and "memory".
sc_status sc_inspector_query(sc_job *job, sc_str query_json, sc_str *json);
// Compares the dump of this job with that of another one.
sc_status sc_inspector_compare(sc_job *job, sc_job *other, sc_str *json);

#endif
