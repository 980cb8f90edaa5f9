"""Kernels that only the interpreter runs here must also be accepted by the compiler."""

import importlib.util

import pytest

F, B, L = "*fp32", "*bf16", "*i64"
LENGTHS = {"num_blocks": "i32", "prompt_length": "i32", "seq_len": "i32"}
SCALES = {"scale": "fp32", "policy_scale": "fp32", "floor": "fp32"}
CHOICE = {"LOCAL": 128, "BLOCK": 32, "TOPN": 16, "TOPK": 12, "NB": 64, "ROWS": 32}
SUMMARY = {"num_image": "i32", "seq_len": "i32", "scale": "fp32"}

# Module, kernel, types of its arguments, constants, warps
KERNELS = [
    (
        "block_routing.training_kernels",
        "summary_kernel",
        {"key_ptr": F, "cls_ptr": F, "out_ptr": F, **SUMMARY},
        {"BLOCK": 32, "R": 64},
        4,
    ),
    (
        "block_routing.training_kernels",
        "summary_grad_kernel",
        dict.fromkeys(("dout_ptr", "key_ptr", "cls_ptr", "dkey_ptr", "dcls_ptr"), F) | SUMMARY,
        {"BLOCK": 32, "R": 64},
        4,
    ),
    (
        "block_routing.training_kernels",
        "bias_kernel",
        {"product_ptr": F, "out_ptr": F, **LENGTHS, **SCALES},
        CHOICE,
        4,
    ),
    (
        "block_routing.training_kernels",
        "bias_grad_kernel",
        {"dout_ptr": F, "product_ptr": F, "dproduct_ptr": F, **LENGTHS, **SCALES},
        CHOICE,
        4,
    ),
    (
        "cross_entropy.training_kernels",
        "loss_kernel",
        {
            "score_ptr": B,
            "target_ptr": L,
            "loss_ptr": F,
            "log_norm_ptr": F,
            "right_ptr": F,
            "classes": "i32",
        },
        {"WIDTH": 8192},
        8,
    ),
    (
        "cross_entropy.training_kernels",
        "loss_grad_kernel",
        {
            "dloss_ptr": F,
            "score_ptr": B,
            "target_ptr": L,
            "log_norm_ptr": F,
            "dscore_ptr": B,
            "classes": "i32",
            "rows": "i32",
        },
        {"WIDTH": 8192},
        8,
    ),
    (
        "tile_stamping.stamp_kernel",
        "stamp_kernel",
        {"canvas_ptr": F, "pixel_ptr": "*u8"}
        | dict.fromkeys(("start_ptr", "shape_ptr", "tile_ptr", "page_ptr", "x_ptr", "y_ptr"), L)
        | {"height": "i32", "width": "i32"},
        {"CHUNK": 256},
        4,
    ),
]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="triton is not installed")
@pytest.mark.parametrize(("module", "name", "types", "constants", "warps"), KERNELS)
def test_kernel_compiles_for_hopper(module, name, types, constants, warps):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    kernel = getattr(importlib.import_module(f"ocrcli.kernels.{module}"), name)
    signature = {each: types.get(each, "constexpr") for each in kernel.arg_names}
    assert {each for each, kind in signature.items() if kind == "constexpr"} == set(constants)
    source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
    target = GPUTarget("cuda", 90, 32)
    compiled = triton.compile(source, target=target, options={"num_warps": warps})
    assert len(compiled.asm["cubin"]) > 1000
