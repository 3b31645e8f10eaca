//! Reductions, softmax, norms, products, attention, indices, sorting.

use std::io::Write;

use anymetal_tensor_ops::{
    AttentionOptions, DType, MatmulOptions, OpError, Path, RopeOptions, ScatterReduction,
};

use crate::case::Cases;

const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

pub(crate) fn write(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    for dtype in FLOATS {
        reductions(cases, dtype)?;
        norms(cases, dtype)?;
        products(cases, dtype)?;
        sums(cases, dtype)?;
        attention(cases, dtype)?;
    }
    indices(cases)?;
    sorting(cases)
}

fn reductions(cases: &mut Cases<impl Write>, dtype: DType) -> Result<(), OpError> {
    let ops = cases.ops();
    let x = cases.floats(&[4, 7, 130], dtype, -2.0, 2.0)?;
    for (text, over) in [("(0, 2)", &[0isize, 2][..]), ("1", &[1]), ("-1", &[-1])] {
        let of = |function: &str| format!("x0.{function}({text}, keepdim=True)");
        cases.forward("sum", of("sum"), &[&x], &[&ops.sum(&x, over, true)?])?;
        cases.forward("mean", of("mean"), &[&x], &[&ops.mean(&x, over, true)?])?;
        cases.forward("max", of("amax"), &[&x], &[&ops.max(&x, over, true)?])?;
        cases.forward("min", of("amin"), &[&x], &[&ops.min(&x, over, true)?])?;
        cases.forward("logsumexp", of("logsumexp"), &[&x], &[&ops.logsumexp(&x, over, true)?])?;
        cases.forward("var", format!("x0.var({text})"), &[&x], &[&ops.var(&x, over, 1, false)?])?;
    }
    for axis in [0, 1, 2] {
        let of = |function: &str| format!("torch.{function}(x0, {axis})");
        cases.forward("argmax", of("argmax"), &[&x], &[&ops.argmax(&x, axis, false)?])?;
        cases.forward("argmin", of("argmin"), &[&x], &[&ops.argmin(&x, axis, false)?])?;
        cases.forward("cumsum", of("cumsum"), &[&x], &[&ops.cumsum(&x, axis)?])?;
        cases.forward("cumprod", of("cumprod"), &[&x], &[&ops.cumprod(&x, axis)?])?;
        let first = |function: &str| format!("{}[0]", of(function));
        cases.forward("cummax", first("cummax"), &[&x], &[&ops.cummax(&x, axis)?])?;
        cases.forward("cummin", first("cummin"), &[&x], &[&ops.cummin(&x, axis)?])?;
        cases.forward("logcumsumexp", of("logcumsumexp"), &[&x], &[&ops.logcumsumexp(&x, axis)?])?;
        cases.forward("std", of("std"), &[&x], &[&ops.std(&x, &[axis], 1, false)?])?;
        cases.forward("prod", of("prod"), &[&x], &[&ops.prod(&x, &[axis], false)?])?;
        let g = cases.floats(&[4, 7, 130], dtype, -1.0, 1.0)?;
        let (y, log) = (ops.softmax(&x, axis)?, ops.log_softmax(&x, axis)?);
        cases.forward("softmax", of("softmax"), &[&x], &[&y])?;
        cases.forward("log_softmax", of("log_softmax"), &[&x], &[&log])?;
        cases.backward("softmax", of("softmax"), &[&x], &g, &[&ops.softmax_backward(&y, &g, axis)?])?;
        let of_x = ops.log_softmax_backward(&log, &g, axis)?;
        cases.backward("log_softmax", of("log_softmax"), &[&x], &g, &[&of_x])?;
    }
    let truth = ops.compare(anymetal_tensor_ops::Comparison::Gt, &x, &ops.scalar(1.9f32)?)?;
    cases.forward("any", "x0.any(1)", &[&truth], &[&ops.any(&truth, &[1], false)?])?;
    cases.forward("all", "x0.all(1)", &[&truth], &[&ops.all(&truth, &[1], false)?])
}

fn norms(cases: &mut Cases<impl Write>, dtype: DType) -> Result<(), OpError> {
    let ops = cases.ops();
    let x = cases.floats(&[4, 6, 5, 16], dtype, -2.0, 3.0)?;
    let g = cases.floats(&[4, 6, 5, 16], dtype, -1.0, 1.0)?;
    let (w, b) = (cases.floats(&[5, 16], dtype, 0.5, 1.5)?, cases.floats(&[5, 16], dtype, -1.0, 1.0)?);
    let (cw, cb) = (cases.floats(&[6], dtype, 0.5, 1.5)?, cases.floats(&[6], dtype, -1.0, 1.0)?);
    let (m, v) = (cases.floats(&[6], DType::F32, -1.0, 1.0)?, cases.floats(&[6], DType::F32, 0.5, 2.0)?);

    let expr = "F.layer_norm(x0, (5, 16), x1, x2, 1e-5)";
    cases.forward("layer_norm", expr, &[&x, &w, &b], &[&ops.layer_norm(&x, 2, Some(&w), Some(&b), 1e-5)?])?;
    let (of_x, of_w, of_b) = ops.layer_norm_backward(&x, 2, Some(&w), &g, 1e-5)?;
    cases.backward("layer_norm", expr, &[&x, &w, &b], &g, &[&of_x, &of_w, &of_b])?;

    let expr = "F.rms_norm(x0, (5, 16), x1, 1e-5)";
    cases.forward("rms_norm", expr, &[&x, &w], &[&ops.rms_norm(&x, 2, Some(&w), 1e-5)?])?;
    let (of_x, of_w) = ops.rms_norm_backward(&x, 2, Some(&w), &g, 1e-5)?;
    cases.backward("rms_norm", expr, &[&x, &w], &g, &[&of_x, &of_w])?;

    let expr = "F.group_norm(x0, 3, x1, x2, 1e-5)";
    cases.forward(
        "group_norm",
        expr,
        &[&x, &cw, &cb],
        &[&ops.group_norm(&x, 3, Some(&cw), Some(&cb), 1e-5)?],
    )?;
    let (of_x, of_w, of_b) = ops.group_norm_backward(&x, 3, Some(&cw), &g, 1e-5)?;
    cases.backward("group_norm", expr, &[&x, &cw, &cb], &g, &[&of_x, &of_w, &of_b])?;

    let expr = "F.instance_norm(x0, weight=x1, bias=x2, eps=1e-5)";
    cases.forward(
        "instance_norm",
        expr,
        &[&x, &cw, &cb],
        &[&ops.instance_norm(&x, Some(&cw), Some(&cb), 1e-5)?],
    )?;

    let expr = "F.batch_norm(x0, x1, x2, x3, x4, False, 0.1, 1e-5)";
    let y = ops.batch_norm_inference(&x, &m, &v, Some(&cw), Some(&cb), 1e-5)?;
    cases.forward("batch_norm", expr, &[&x, &m, &v, &cw, &cb], &[&y])?;

    let trained = ops.batch_norm_training(&x, Some(&cw), Some(&cb), (&m, &v), 0.1, 1e-5)?;
    let expr = "F.batch_norm(x0, None, None, x1, x2, True, 0.1, 1e-5)";
    cases.forward("batch_norm training", expr, &[&x, &cw, &cb], &[&trained.output])?;
    let expr_of_statistics = "(lambda m, v: (F.batch_norm(x0, m, v, training=True, momentum=0.1), m, v)[1:])(x1.clone(), x2.clone())";
    let statistics = [&trained.running_mean, &trained.running_variance];
    cases.forward("batch_norm statistics", expr_of_statistics, &[&x, &m, &v], &statistics)?;
    let (of_x, of_w, of_b) = ops.batch_norm_backward(&x, Some(&cw), &g, 1e-5)?;
    cases.backward("batch_norm", expr, &[&x, &cw, &cb], &g, &[&of_x, &of_w, &of_b])
}

fn products(cases: &mut Cases<impl Write>, dtype: DType) -> Result<(), OpError> {
    let own = cases.ops().forced(Path::Own);
    let shapes = [
        (&[3, 1, 20, 70][..], &[2, 70, 33][..], &[3, 2, 20, 33][..]),
        (&[130, 65], &[65, 67], &[130, 67]),
        (&[1, 300], &[300, 40], &[1, 40]),
    ];
    for (a_shape, b_shape, out) in shapes {
        let (a, b) = (cases.floats(a_shape, dtype, -1.0, 1.0)?, cases.floats(b_shape, dtype, -1.0, 1.0)?);
        let g = cases.floats(out, dtype, -1.0, 1.0)?;
        for ops in [cases.ops(), own.clone()] {
            cases.forward("matmul", "x0 @ x1", &[&a, &b], &[&ops.matmul(&a, &b)?])?;
            let (of_a, of_b) = ops.matmul_backward(&a, &b, &g)?;
            cases.backward("matmul", "x0 @ x1", &[&a, &b], &g, &[&of_a, &of_b])?;
        }
        let bias = cases.floats(&[out[out.len() - 1]], dtype, -1.0, 1.0)?;
        let activation = Some(anymetal_tensor_ops::Activation::Gelu);
        let options = MatmulOptions { bias: Some(&bias), activation, out: None };
        let y = cases.ops().matmul_with(&a, &b, &options)?;
        cases.forward("matmul fused", "F.gelu(x0 @ x1 + x2)", &[&a, &b, &bias], &[&y])?;
    }
    Ok(())
}

fn sums(cases: &mut Cases<impl Write>, dtype: DType) -> Result<(), OpError> {
    let ops = cases.ops();
    let (a, b) = (cases.floats(&[3, 5, 4], dtype, -1.0, 1.0)?, cases.floats(&[3, 4, 6], dtype, -1.0, 1.0)?);
    let (c, square) = (cases.floats(&[6, 5], dtype, -1.0, 1.0)?, cases.floats(&[4, 4], dtype, -1.0, 1.0)?);
    let one = [
        ("bij->jib", &a),
        ("bij->b", &a),
        ("...j->...", &a),
        ("ii", &square),
        ("ii->i", &square),
        ("ba", &c),
    ];
    for (text, x) in one {
        cases.forward("einsum", format!("torch.einsum('{text}', x0)"), &[x], &[&ops.einsum(text, &[x])?])?;
    }
    let two = [
        ("bij,bjk->bik", &a, &b),
        ("bij,bjk->kb", &a, &b),
        ("bij,cjk->bick", &a, &b),
        ("...ij,...jk->...ik", &a, &b),
        ("bij,jk", &a, &square),
        ("bij,ki->bkj", &a, &c),
        ("ij,ij->", &square, &square),
        ("ij,kl->ikjl", &square, &c),
    ];
    for (text, x, y) in two {
        let expr = format!("torch.einsum('{text}', x0, x1)");
        cases.forward("einsum", expr, &[x, y], &[&ops.einsum(text, &[x, y])?])?;
    }
    for text in ["bij,bjk,kl->bil", "bij,bjk,ki->b", "bij,bjk,ki->"] {
        let expr = format!("torch.einsum('{text}', x0, x1, x2)");
        cases.forward("einsum", expr, &[&a, &b, &c], &[&ops.einsum(text, &[&a, &b, &c])?])?;
    }
    Ok(())
}

fn attention(cases: &mut Cases<impl Write>, dtype: DType) -> Result<(), OpError> {
    let ops = cases.ops();
    let q = cases.floats(&[2, 6, 19, 32], dtype, -1.0, 1.0)?;
    let k = cases.floats(&[2, 2, 19, 32], dtype, -1.0, 1.0)?;
    let v = cases.floats(&[2, 2, 19, 24], dtype, -1.0, 1.0)?;
    let mask = cases.floats(&[19, 19], DType::F32, -1.0, 1.0)?;
    let f = "F.scaled_dot_product_attention(x0, x1, x2, enable_gqa=True";
    let y = ops.attention(&q, &k, &v, &AttentionOptions { causal: true, ..AttentionOptions::default() })?;
    cases.forward("attention", format!("{f}, is_causal=True)"), &[&q, &k, &v], &[&y])?;
    let options = AttentionOptions { mask: Some(&mask), scale: Some(0.3), ..AttentionOptions::default() };
    let y = ops.attention(&q, &k, &v, &options)?;
    cases.forward("attention", format!("{f}, attn_mask=x3, scale=0.3)"), &[&q, &k, &v, &mask], &[&y])?;
    let seen = ops.compare(anymetal_tensor_ops::Comparison::Lt, &mask, &ops.scalar(0.5f32)?)?;
    let y =
        ops.attention(&q, &k, &v, &AttentionOptions { mask: Some(&seen), ..AttentionOptions::default() })?;
    cases.forward("attention", format!("{f}, attn_mask=x3)"), &[&q, &k, &v, &seen], &[&y])?;
    for causal in [true, false] {
        let options = AttentionOptions { causal, ..AttentionOptions::default() };
        let g = cases.floats(&[2, 6, 19, 24], dtype, -1.0, 1.0)?;
        let (of_q, of_k, of_v) = ops.attention_backward(&q, &k, &v, &g, &options)?;
        let expr = format!("{f}, is_causal={})", if causal { "True" } else { "False" });
        cases.backward("attention", expr, &[&q, &k, &v], &g, &[&of_q, &of_k, &of_v])?;
    }
    for halves in [true, false] {
        let options = RopeOptions { first: 5, halves, ..RopeOptions::default() };
        let expr = format!("rope(x0, 5, 10000, {})", if halves { "True" } else { "False" });
        cases.forward("rope", expr.as_str(), &[&q], &[&ops.rope(&q, &options)?])?;
        let g = cases.floats(q.shape(), dtype, -1.0, 1.0)?;
        let of_q = ops.rope(&g, &RopeOptions { inverse: true, ..options })?;
        cases.backward("rope", expr, &[&q], &g, &[&of_q])?;
    }
    Ok(())
}

fn indices(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    let ops = cases.ops();
    let x = cases.floats(&[9, 12], DType::F32, -2.0, 2.0)?;
    let rows = cases.indices(&[3, 5], 9)?;
    cases.forward("embedding", "F.embedding(x1, x0)", &[&x, &rows], &[&ops.embedding(&x, &rows)?])?;
    let g = cases.floats(&[3, 5, 12], DType::F32, -1.0, 1.0)?;
    let of_x = ops.embedding_backward(9, &rows, &g)?;
    cases.backward("embedding", "F.embedding(x1, x0)", &[&x, &rows], &g, &[&of_x])?;
    let flat = ops.reshape(&rows, &[15])?;
    let selected = ops.index_select(&x, 0, &flat)?;
    cases.forward("index_select", "x0.index_select(0, x1)", &[&x, &flat], &[&selected])?;
    let added = ops.index_add(&x, 0, &flat, &selected)?;
    cases.forward("index_add", "x0.index_add(0, x1, x2)", &[&x, &flat, &selected], &[&added])?;
    let along = cases.indices(&[4, 12], 9)?;
    let gathered = ops.gather(&x, 0, &along)?;
    cases.forward("gather", "x0.gather(0, x1)", &[&x, &along], &[&gathered])?;
    let sum = ops.scatter_add(&x, 0, &along, &gathered)?;
    cases.forward("scatter_add", "x0.scatter_add(0, x1, x2)", &[&x, &along, &gathered], &[&sum])?;
    for (reduction, text) in [
        (ScatterReduction::Sum, "sum"),
        (ScatterReduction::Prod, "prod"),
        (ScatterReduction::Min, "amin"),
        (ScatterReduction::Max, "amax"),
    ] {
        let source = cases.floats(&[4, 12], DType::F32, -2.0, 2.0)?;
        let joined = ops.scatter_reduce(reduction, &x, 0, &along, &source)?;
        let expr = format!("x0.scatter_reduce(0, x1, x2, '{text}')");
        cases.forward("scatter_reduce", expr, &[&x, &along, &source], &[&joined])?;
    }
    let (classes, one) = (cases.indices(&[9], 12)?, cases.floats(&[], DType::F32, 0.5, 1.5)?);
    let expr = "F.cross_entropy(x0, x1)";
    cases.forward("cross_entropy", expr, &[&x, &classes], &[&ops.cross_entropy(&x, &classes)?])?;
    let of_x = ops.cross_entropy_backward(&x, &classes, &one)?;
    cases.backward("cross_entropy", expr, &[&x, &classes], &one, &[&of_x])?;
    let order = ops.argsort(&cases.floats(&[4, 12], DType::F32, 0.0, 1.0)?, 1, false)?;
    let set = ops.scatter(&x, 1, &order, &gathered)?;
    cases.forward("scatter", "x0.scatter(1, x1, x2)", &[&x, &order, &gathered], &[&set])
}

fn sorting(cases: &mut Cases<impl Write>) -> Result<(), OpError> {
    let ops = cases.ops();
    let x = cases.floats(&[5, 70, 3], DType::F16, -2.0, 2.0)?;
    for (descending, text) in [(false, "False"), (true, "True")] {
        let (values, places) = ops.sort_with_positions(&x, 1, descending)?;
        let expr = format!("torch.sort(x0, dim=1, descending={text}, stable=True)");
        cases.forward("sort", expr, &[&x], &[&values, &places])?;
        let (values, _) = ops.topk(&x, 6, 1, descending)?;
        cases.forward("topk", format!("torch.topk(x0, 6, 1, largest={text})[0]"), &[&x], &[&values])?;
    }
    let x = cases.indices(&[200], 17)?;
    let (values, counts) = ops.unique(&x)?;
    cases.forward("unique", "torch.unique(x0, return_counts=True)", &[&x], &[&values, &counts])
}
