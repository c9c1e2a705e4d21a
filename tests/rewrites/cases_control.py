"""Subgraphs and functions."""

from __future__ import annotations

from .cases import BOOL, Case, Draw, array, pick, serves, whole
from .harness import parse
from .test_smaller_forms import CALLS

BODIES = ("p = Mul (q, x)", "s = Tanh (q)  p = Add (s, x)", "p = Sub (x, q)")


@serves("inline_if")
def constant_condition(draw: Draw, name: str) -> Case:
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y) <bool c = {{{pick(draw, 0, 1)}}}> {{
          a = Relu (x)
          [node] y = If (c) <
            then_branch = t () => (float[2,3] p) <float[3] w = {{1, 2, 3}}> {{ q = Add (a, w)  {pick(draw, *BODIES)} }},
            else_branch = e () => (float[2,3] r) {{ r = Sub (a, x) }}
          >
        }}"""
    )
    return Case(model, {"x": array(draw, (2, 3), delicate=True)}, target="trt7.1")


@serves("if_to_where")
def chosen(draw: Draw, name: str) -> Case:
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x, bool c) => (float[2,3] y, float[2,3] z) {{
          a = Neg (x)
          [node] y, z = If (c) <
            then_branch = t () => (float[2,3] p, float[2,3] o) <float[3] w = {{1, 2, 3}}> {{
              q = Sqrt (x)  {pick(draw, *BODIES)}  o = Mul (a, w) }},
            else_branch = e () => (float[2,3] p, float[2,3] o) {{ p = Abs (x)  o = Exp (a) }}
          >
        }}"""
    )
    feeds = {"x": array(draw, (2, 3), delicate=True), "c": array(draw, (), BOOL)}
    return Case(model, feeds, target="trt7.0")


@serves("unroll_loop")
def rounds(draw: Draw, name: str) -> Case:
    body = pick(draw, "b = Add (a, x)", "f = Cast <to = 1> (i)  b = Mul (a, f)", "t = Tanh (a)  b = Sub (t, x)")
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y, float[k,2,3] z)
        <int64 n = {{{whole(draw, 1, 4)}}}, bool on = {{1}}> {{
          [node] y, z = Loop (n, on, x) <body = r (int64 i, bool go, float[2,3] a) => (bool goes, float[2,3] b, float[2,3] s) {{
            {body}  goes = Identity (go)  s = Neg (b) }}>
        }}"""
    )
    return Case(model, {"x": array(draw, (2, 3), delicate=True)}, target="trt7.1")


@serves("unroll_scan")
def elements(draw: Draw, name: str) -> Case:
    back, axis = pick(draw, 0, 1), pick(draw, 0, 1)
    length = whole(draw, 1, 4)
    shape = (length, 3) if axis == 0 else (3, length)
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[{shape[0]},{shape[1]}] x, float[3] a) => (float[3] y, float[k,3] z) {{
          [node] y, z = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_input_directions = [{back}],
            scan_output_directions = [{pick(draw, 0, 1)}],
            body = r (float[3] s, float[3] e) => (float[3] t, float[3] o) {{ t = Add (s, e)  o = Tanh (t) }}> (a, x)
        }}"""
    )
    return Case(model, {"x": array(draw, shape, delicate=True), "a": array(draw, (3,), delicate=True)}, target="trt7.1")


@serves("inline_function")
def called(draw: Draw, name: str) -> Case:
    model = parse(CALLS.replace("by = 3", f"by = {whole(draw, -3, 3)}"))
    return Case(model, {"x": array(draw, (2, 3), delicate=True)}, target="trt8.6")


@serves("loop_to_where")
def ended_by_its_body(draw: Draw, name: str) -> Case:
    body = pick(draw, "b = Add (a, x)", "t = Tanh (a)  b = Sub (t, x)", "b = Mul (a, half)")
    model = parse(
        f"""<ir_version: 8, opset_import: ["" : 13]> g (float[2,3] x) => (float[2,3] y)
        <int64 n = {{{whole(draw, 1, 4)}}}, bool on = {{1}}, float half = {{0.5}}, float much = {{2}}> {{
          [node] y = Loop (n, on, x) <body = r (int64 i, bool go, float[2,3] a) => (bool goes, float[2,3] b) {{
            {body}  most = ReduceMax <keepdims = 0> (b)  goes = Less (most, much) }}>
        }}"""
    )
    return Case(model, {"x": array(draw, (2, 3))}, target="trt8.6")
