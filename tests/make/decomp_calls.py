"""Operators that no module of the other files calls, a call each, so that every operator that is
expanded has one: tests/trace/coverage_test.c asks for it. Core graphs are ours, and torch has to
get the operator's numbers with them; what is drawn, and what this torch
cannot run, is not compared."""

import re

import torch

from decomp_case import AUTO, BY_NUMBERS, CASES, DRAWN, case, section

section("calls")

# Arguments of the calls: floats x, y [4, 6], rows of integers, and so on; a number after a letter
# is a rank.
TENSORS = {
    "x": torch.randn(4, 6),
    "y": torch.randn(4, 6),
    "p": torch.rand(4, 6) * 0.8 + 0.1,
    "big": torch.rand(4, 6) + 1.5,
    "n": torch.randint(1, 9, (4, 6)),
    "k": torch.randint(0, 4, (4, 6)),
    "b": torch.rand(4, 6) > 0.5,
    "s": torch.tensor(0.7),
    "two": torch.tensor(2),
    "zero": torch.tensor(0),
    "v": torch.randn(6),
    "w": torch.randn(4),
    "x3": torch.randn(2, 4, 6),
    "x4": torch.randn(2, 3, 4, 6),
    "x5": torch.randn(1, 2, 3, 4, 4),
    "c": torch.randn(4, 6, dtype=torch.complex64),
    "c3": torch.randn(2, 4, 6, dtype=torch.complex64),
    "m": torch.randn(3, 3) + 3 * torch.eye(3),
    "sym": torch.eye(3) * 3 + 1,
    "low": torch.eye(3) * 2 + torch.ones(3, 3).tril(),
    "r": torch.randn(3, 2),
    "tall": torch.randn(4, 3),
    "ends": torch.tensor([1, 0, 2, 1]),
    "few": torch.tensor([3.0, 1.0, 1.0, 2.0, 2.0, 2.0]),
    "counts": torch.tensor([1, 0, 2, 1]),
    "ids": torch.tensor([0, 2, 1, 3]),
    "starts": torch.tensor([0, 2]),
    "edges": torch.tensor([0.0, 1.0, 2.5]),
    "classes": torch.tensor([0, 2, 5, 1]),
    "maps": torch.randint(0, 3, (2, 4, 6)),
    "lu": torch.linalg.lu_factor(torch.eye(3) * 3 + torch.ones(3, 3).triu())[0],
    "pivots": torch.linalg.lu_factor(torch.eye(3) * 3 + torch.ones(3, 3).triu())[1],
    "grid": torch.rand(1, 3, 4, 4, 3) * 2 - 1,
    "scales": torch.tensor([0.1, 0.2, 0.3, 0.4]),
    "scale": torch.tensor([0.1]),
    "points": torch.tensor([0, 1, 0, 2], dtype=torch.int32),
    "point": torch.tensor([1], dtype=torch.int32),
    "on": torch.tensor([1]),
    "bf": torch.randn(4, 8, dtype=torch.bfloat16),
    "experts": torch.randn(2, 8, 16, dtype=torch.bfloat16),
    "runs": torch.tensor([1, 4], dtype=torch.int32),
}

CALLS = """
complex x, y
_unsafe_view x, [6, 4]
reflection_pad1d x3, [1, 2]
reflection_pad2d x4, [1, 2, 0, 1]
reflection_pad3d x5, [1, 2, 0, 1, 1, 1]
replication_pad1d x3, [1, 2]
replication_pad2d x4, [1, 2, 0, 1]
replication_pad3d x5, [1, 2, 0, 1, 1, 1]
_pad_circular x3, [1, 2]
var x
std x
var_mean x
std_mean x
std_mean.correction x, [1], correction=0
inverse m
triangular_solve r, low, False
cholesky sym
cholesky_inverse low
linalg_det m
_linalg_det m
_linalg_slogdet sym
_linalg_solve_ex m, r
slogdet sym
linalg_eigh sym
svd r
linalg_pinv.atol_rtol_float r, atol=0.1
matrix_power m, 3
matrix_power m, -2
linalg_norm m, 2
linalg_norm.ord_str m, "nuc"
_lu_with_info m
lu_unpack lu, pivots
lu_solve r, lu, pivots
orgqr tall, v3
nuclear_norm.dim x3, [0, 1]
frobenius_norm.dim x, [1]
linalg_matrix_rank.tol_tensor m, s
linalg_diagonal m
linalg_matmul x, tall6
ger w, v
chain_matmul [x, tall6]
cross m, low
_native_batch_norm_legit x4, None, None, mean3, var3, False, 0.1, 1e-5
reshape_as x, r12
adjoint x
moveaxis.int x3, 0, 2
moveaxis.intlist x3, [0, 1], [2, 0]
swapdims x3, 0, 1
resolve_conj c
chalf x
resolve_neg x
conj c
isreal x
to.other n, x
split.sizes x, [1, 3]
unsafe_split.Tensor x, 2
unsafe_split_with_sizes x, [1, 3]
unsafe_chunk x, 2
hsplit.array x, [2]
vsplit.int x, 2
vsplit.array x, [1]
dsplit.int x3, 2
dsplit.array x3, [2]
row_stack [x, y]
pad_sequence [w, v]
pad_sequence [v, w], True, 2.0, "left"
atleast_1d s
atleast_2d v
concat [x, y], 1
concatenate [x, y], 1
flipud x
meshgrid [v, w]
logspace.Tensor_Tensor s, two, 5
logspace.Scalar_Tensor 0, s, 5
eye.m 3, 4
range 1, 6
range.step 0.5, 3.1, 0.3
range.step 6, 1, -2, dtype=torch.int64
bartlett_window 6
bartlett_window.periodic 7, False
blackman_window 6
blackman_window.periodic 7, False
kaiser_window 6
kaiser_window.periodic 7, False
kaiser_window.beta 7, True, 5.5, dtype=torch.float16
hamming_window.periodic_alpha 6, True, 0.5
hamming_window.periodic_alpha_beta 7, False, 0.6, 0.3, dtype=torch.float64
__and__.Scalar n, 3
__or__.Scalar n, 3
__xor__.Scalar n, 3
arccos p
arccosh big
arcsin p
arcsinh x
arctan x
arctanh p
clip.Tensor x, s
divide.Tensor x, big
divide.Scalar x, 3
divide.Tensor_mode x, big, rounding_mode="floor"
divide.Scalar_mode x, 3, rounding_mode="trunc"
true_divide.Tensor n, big
true_divide.Scalar n, 3
fix x
greater.Tensor x, y
greater.Scalar x, 0.5
greater_equal.Tensor x, y
greater_equal.Scalar x, 0.5
less.Tensor x, y
less.Scalar x, 0.5
less_equal.Tensor x, y
less_equal.Scalar x, 0.5
not_equal.Tensor n, k
not_equal.Scalar n, 2
multiply.Tensor x, y
multiply.Scalar x, 3
subtract.Tensor x, y
subtract.Scalar x, 3
negative x
min.other x, y
special_expit x
special_erf x
special_exp2 x
special_expm1 x
special_log1p p
special_logit p
special_sinc x
special_xlogy k, p
special_xlogy.self_scalar 2, p
special_xlogy.other_scalar k, 0.5
rsub.Tensor x, y
floor_divide.Scalar x, 2
clamp_min.Tensor x, s
clamp_max.Tensor x, s
isneginf x
xlogy.Scalar_Self 2, p
xlogy.Scalar_Self 2.5, n
xlogy.Scalar_Other n, 0.5
float_power.Tensor_Tensor n, p
float_power.Scalar 2, x
log_sigmoid_forward x
_prelu_kernel x, v
_safe_softmax x, 1
special_softmax x, 1
special_log_softmax x, 1
special_logsumexp x, [1]
argsort.stable x, stable=True, dim=1, descending=True
count_nonzero.dim_IntList k, [1]
nanmean x, [1]
norm.Scalar x, 3
norm.ScalarOpt_dim x, 3, [1]
norm.ScalarOpt_dtype x, 3, dtype=torch.float64
norm.ScalarOpt_dim_dtype x, 3, [1], False, dtype=torch.float64
nll_loss x, classes
nll_loss_forward x, classes, None, 1, -100
nll_loss2d x4, maps
nll_loss2d_forward x4, maps, None, 1, -100
soft_margin_loss x, y
conv1d.padding x3, k3, None, [1], "same"
conv3d.padding x5, k5, None, [1, 1, 1], "same"
conv_transpose3d.input x5, k5
_upsample_nearest_exact1d.vec x3, [9], None
_upsample_nearest_exact3d.vec x5, [4, 5, 6], None
index_fill.int_Tensor x, 0, starts, s
diagonal_scatter m, v3
_unsafe_index.Tensor x, [ids]
_unsafe_index_put x, [ids], v
embedding_bag x, ids, starts
rnn_relu_cell x, h0, wi, wh
fft_ifft c
fft_hfft c
fft_ihfft x
fft_ifft2 c
fft_rfft2 x
fft_irfft2 c
fft_hfft2 c
fft_ihfft2 x
fft_ifftn c3
fft_rfftn x3
fft_irfftn c3
fft_hfftn c3
fft_ihfftn x3
fft_fftshift x
fft_ifftshift x
fft_fftfreq 8, 0.5
fft_rfftfreq 8, 0.5
repeat_interleave.self_Tensor x, counts, 0, output_size=4
scatter.reduce x, 0, k, y, reduce="add"
scatter.reduce x, 0, k, y, reduce="multiply"
scatter.value_reduce x, 0, k, 2, reduce="multiply"
gradient.scalararray x, spacing=0.5, dim=[0, 1]
gradient.array x, dim=[0, 1]
gradient.scalarrayint x, spacing=[0.5, 2]
special_gammaincc p, big
special_multigammaln big, 2
special_modified_bessel_i0 x
special_xlog1py.self_scalar 2, p
fake_quantize_per_tensor_affine x, 0.1, 0, -128, 127
_fake_quantize_per_tensor_affine_cachemask_tensor_qparams x, scale, point, on, -128, 127
fake_quantize_per_channel_affine_cachemask x, scales, points, 0, -128, 127
_fake_quantize_learnable_per_tensor_affine x, scale, fpoint, -128, 127
grid_sampler_3d x5, grid, 0, 0, False
bucketize.Scalar 1.5, edges
bitwise_and.Scalar_Tensor 5, n
bitwise_or.Scalar_Tensor 5, n
bitwise_xor.Scalar_Tensor 5, n
bitwise_left_shift.Scalar_Tensor 5, k
bitwise_right_shift.Scalar_Tensor 500, k
remainder.Scalar_Tensor 7, n
logcumsumexp x, 1
cummax x, 1
cummin x, 1
adaptive_max_pool3d x5, [2, 2, 3]
diagonal_copy m
lift x
lift_fresh x
_neg_view x
_reshape_alias x, [6, 4], [4, 1]
nonzero_numpy b
_is_any_true b
_unique k, True, True
unique_dim k, 0
unique_consecutive k
_native_batch_norm_legit_functional x4, None, None, mean3, var3, True, 0.1, 1e-5
"""

DRAWING = """
new_empty x, [2, 3]
feature_dropout x3, 0.5, True
alpha_dropout x, 0.5, True
feature_alpha_dropout x3, 0.5, True
bernoulli.p x, 0.5
bernoulli.Tensor x, p
exponential x, 1
geometric x, 0.5
cauchy x
log_normal x
randint_like x, 9
randint_like.low_dtype x, 3, 9
normal.float_float 0, 1, [4, 6]
normal.Tensor_Tensor x, p
normal.Tensor_float x, 2
normal.float_Tensor 1, p
normal_functional x
random x
random.to x, 9
bernoulli_.float p, 0.5
randint 9, [4, 6]
randint.low 3, 9, [4, 6]
randn_like c
rand_like c
"""

# For operators with a limit for the official runtime (src/trace/official/limits.def), a call
# beyond it; and matrices of more rows than are written out, which become loops.
BEYOND = """
_linalg_eigh m5
_linalg_svd m5
linalg_inv_ex m33
linalg_solve_ex m33, m33
linalg_solve_triangular m33, m33, upper=True
linalg_cholesky_ex m33
linalg_matrix_exp m33
linalg_lu_factor_ex m33
linalg_qr m33
polygamma 151, big
"""

# Calls with sizes that are open, beyond a limit or not: behind a bar, which.
OPEN = """
convolution x5, k5, None, [1, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 1 | x5: 2
convolution x5, k5, None, [1, 1, 1], [1, 1, 1], [1, 1, 1], False, [0, 0, 0], 1 | k5: 2
max_pool3d_with_indices x5, [2, 2, 2] | x5: 3
adaptive_max_pool2d x4, [2, 2] | x4: 2
adaptive_max_pool3d x5, [2, 2, 2] | x5: 3
cumprod x, 1 | x: 1
cummax x, 1 | x: 1
cummin x, 1 | x: 1
logcumsumexp x, 1 | x: 1
scatter_reduce.two x, 0, k, y, "prod" | k: 0, y: 0
searchsorted.Tensor edges, x | edges: 0
bucketize.Tensor x, edges | edges: 0
_embedding_bag x, ids, starts, False, 2 -> 0 | ids: 0
_embedding_bag_forward_only x, ids, starts, False, 2 -> 0 | ids: 0
"""

# These become assertions and operators of other libraries, which torch does not run here.
UNRUN = """
to.device n, torch.device("cpu"), torch.float64
_grouped_mm bf, experts, runs
"""

DRAWN_BEYOND = """
randint 2**53 + 1, [4, 6]
randint.low 0, 2**53 + 1, [4, 6]
_grouped_mm bf520, experts513, runs513
"""

TENSORS |= {
    "v3": torch.randn(3),
    "tall6": torch.randn(6, 3),
    "mean3": torch.randn(3),
    "var3": torch.rand(3) + 0.5,
    "r12": torch.randn(12, 2),
    "k3": torch.randn(5, 4, 3),
    "k5": torch.randn(2, 2, 3, 3, 3),
    "h0": torch.randn(4, 3),
    "wi": torch.randn(3, 6),
    "wh": torch.randn(3, 3),
    "fpoint": torch.tensor([1.0]),
    "m5": torch.eye(5) * 5 + 1,
    "m33": torch.eye(33) * 2 + 0.01,
    "bf520": torch.randn(520, 8, dtype=torch.bfloat16),
    "experts513": torch.randn(513, 8, 16, dtype=torch.bfloat16),
    "runs513": torch.full((513,), 520, dtype=torch.int32),
}


def declare(line, names):
    """A case of a line: tensors that it names are inputs."""
    call, _, opened = line.partition(" | ")
    call, _, result = call.partition(" -> ")
    operator, arguments = call.split(" ", 1)
    base, _, overload = operator.partition(".")
    called = getattr(getattr(torch.ops.aten, base), overload or "default")
    name = operator.replace(".", "_")
    words = re.findall(r"(?<![\w.])[a-z]\w*\b(?!\s*=)", arguments)
    used = [word for word in dict.fromkeys(words) if word in TENSORS]
    pick = f"[{result}]" if result else ""
    scope = {"torch": torch, "called": called}
    body = eval(f"lambda {', '.join(used) or '_'}: called({arguments}){pick}", scope)
    prefix = "call_"
    while prefix + name in {known.name for known in CASES}:
        prefix += "again_"
    names.add(prefix + name)
    # Something has to be an input.
    case(prefix + name, body, *(TENSORS[word] for word in used or ["s"]))
    if opened:
        open_dims = re.findall(r"(\w+): (\d+)", opened)
        dims = {word: {int(dim): AUTO(min=2, max=64)} for word, dim in open_dims}
        CASES[-1].dynamic = (tuple(dims.get(word, {}) for word in used),)


for calls, names in (
    (CALLS, BY_NUMBERS),
    (DRAWING, DRAWN),
    (BEYOND, BY_NUMBERS),
    (OPEN, DRAWN),
    (UNRUN, DRAWN),
    (DRAWN_BEYOND, DRAWN),
):
    for line in calls.strip().splitlines():
        declare(line, names)

# Right-hand sides that stand on the other side, and vectors.
solve = torch.ops.aten.linalg_solve_ex.default
BY_NUMBERS.add("solve_ex_right")
case(
    "solve_ex_right",
    lambda a, b, m, v: (*solve(a, b, left=False), *solve(m, v)),
    torch.randn(2, 3, 3) + 4 * torch.eye(3),
    (2, 4, 3),
    torch.randn(3, 3) + 4 * torch.eye(3),
    (3,),
)

# Integers with a scale a row: multiplied wide, and rounded once.
int8pack = torch.ops.aten._weight_int8pack_mm.default
BY_NUMBERS.add("call__weight_int8pack_mm")
case(
    "call__weight_int8pack_mm",
    lambda x, s, h, hs, b, bs, w: (int8pack(x, w, s), int8pack(h, w, hs), int8pack(b, w, bs)),
    (4, 16),
    torch.rand(6),
    torch.randn(1, 16, dtype=torch.float16),
    torch.rand(6, dtype=torch.float16),
    torch.randn(5, 16, dtype=torch.bfloat16),
    torch.rand(6, dtype=torch.bfloat16),
    torch.randint(-128, 128, (6, 16), dtype=torch.int8),
)
