//! A plan as an SVG drawing.
//!
//! Owns [`svg`]: time runs from left to right, one column per stage, one box per node, passes as coloured
//! bands, barriers as dashed lines, and an arrow for each order that no other arrows imply. Invariant: names
//! are escaped, so the drawing is well-formed whatever they hold; the same plan gives the same text.

use std::fmt::Write;

use crate::graph::order::Order;
use crate::graph::plan::{PassKind, Plan};

const COLUMN: usize = 190;
const ROW: usize = 46;
const BOX: (usize, usize) = (150, 30);
const MARGIN: usize = 20;
const TOP: usize = 64;
/// Names longer than this are cut; the whole name is in the tooltip.
const NAME_LENGTH: usize = 20;

/// The drawing as SVG text.
pub(crate) fn svg(plan: &Plan) -> String {
    let columns: usize = plan.passes.iter().map(|pass| pass.stages.len()).sum();
    let stages = plan.passes.iter().flat_map(|pass| &pass.stages);
    let rows = stages.map(|stage| stage.nodes.len()).max().unwrap_or(0);
    let (width, height) = (2 * MARGIN + columns.max(1) * COLUMN, TOP + MARGIN + rows.max(1) * ROW);
    let mut out = String::new();
    let mut draw = |line: std::fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _infallible = writeln!(out, "{line}");
    };
    draw(format_args!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">"#
    ));
    draw(format_args!(
        r##"<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0,0 L8,4 L0,8 z" fill="#555"/></marker></defs>"##
    ));
    draw(format_args!(
        r#"<text x="{MARGIN}" y="22" font-size="15">{}: {} encoders, {} barriers</text>"#,
        escape(&plan.graph),
        plan.encoders(),
        plan.barriers()
    ));
    let mut places = vec![(0, 0); plan.nodes.len()];
    let mut column = 0;
    for (number, pass) in plan.passes.iter().enumerate() {
        let (x, wide) = (MARGIN + column * COLUMN, pass.stages.len() * COLUMN);
        let (colour, word, tall) = (colour(pass.kind), pass.kind.word(), height - 36 - MARGIN / 2);
        draw(format_args!(
            r#"<rect x="{x}" y="36" width="{}" height="{tall}" rx="6" fill="{colour}"/><text x="{}" y="52">{number}: {word}</text>"#,
            wide - 8,
            x + 8
        ));
        for (position, stage) in pass.stages.iter().enumerate() {
            let x = MARGIN + column * COLUMN;
            if position > 0 && pass.kind != PassKind::Host {
                let (at, bottom) = (x - 4, height - MARGIN / 2);
                draw(format_args!(
                    r##"<line x1="{at}" y1="58" x2="{at}" y2="{bottom}" stroke="#b00" stroke-dasharray="4 3"><title>barrier</title></line>"##
                ));
            }
            for (row, &node) in stage.nodes.iter().enumerate() {
                places[node] = (x + 16, TOP + row * ROW);
            }
            column += 1;
        }
    }
    for (from, to) in shown_edges(plan) {
        let ((x1, y1), (x2, y2)) = (places[from], places[to]);
        let (x1, y1, y2) = (x1 + BOX.0, y1 + BOX.1 / 2, y2 + BOX.1 / 2);
        let bend = 30;
        draw(format_args!(
            r##"<path d="M{x1},{y1} C{},{y1} {},{y2} {x2},{y2}" fill="none" stroke="#555" marker-end="url(#arrow)"/>"##,
            x1 + bend,
            x2.saturating_sub(bend)
        ));
    }
    for (node, (x, y)) in plan.nodes.iter().zip(&places) {
        let (name, word) = (&node.node.name, node.node.work.word());
        let (wide, tall) = BOX;
        draw(format_args!(
            r##"<g><title>{word} {}</title><rect x="{x}" y="{y}" width="{wide}" height="{tall}" rx="4" fill="#fff" stroke="#333"/><text x="{}" y="{}">{}</text></g>"##,
            escape(name),
            x + 8,
            y + 19,
            escape(&shortened(name))
        ));
    }
    draw(format_args!("</svg>"));
    out
}

/// The orders that no chain of others implies.
fn shown_edges(plan: &Plan) -> Vec<(usize, usize)> {
    let order = Order::new(plan.nodes.len(), &plan.edges);
    let reach = order.reachability();
    let implied =
        |from: usize, to: usize| order.after[from].iter().any(|&via| via != to && reach.contains(via, to));
    let edges = plan.edges.iter().map(|&(from, to)| (from as usize, to as usize));
    edges.filter(|&(from, to)| !implied(from, to)).collect()
}

fn colour(kind: PassKind) -> &'static str {
    match kind {
        PassKind::Compute => "#dbe9f8",
        PassKind::Blit => "#e2f3dc",
        PassKind::Host => "#f6ead2",
    }
}

fn shortened(name: &str) -> String {
    match name.char_indices().nth(NAME_LENGTH) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to write these.
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
