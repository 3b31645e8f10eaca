//! Verifies emitted LLVM text: on every path, a poll comes within the allowed work.
//!
//! The text carries its certificate in comments. `; poll` marks the load of a stop flag whose block exits
//! when the flag is set. The label of a loop header has
//! - `; trips <= N`: at most N iterations run without a poll in between, or
//! - `; lanes <= N`: the loop expands a single instruction over lanes or digits, and costs as much as that
//!   instruction.
//!
//! A cycle without a poll whose header has no bound is an error, and so is a path between two polls with more
//! than [`MAX_UNPOLLED_ITERATIONS`] iterations and calls of the program's functions, those in functions
//! included. The bounds themselves are the business of `anymetal_analysis::TripCounts`, whose tests simulate
//! loops.

use std::collections::HashMap;
use std::fmt;

use crate::llvm::{Bound, global_names};
use anymetal_analysis::limits::{MAX_UNPOLLED_ITERATIONS, MAX_UNPOLLED_PIECES};

/// Prefix of the names of the program's functions; a call of such a function counts as an iteration.
const SUBROUTINES: &str = "am.sub.";

/// Why emitted text may outlive its deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PollError {
    /// A cycle neither polls nor has a bound.
    Unbounded { function: String, header: String },
    /// More iterations between two polls than are allowed.
    TooLong { function: String, iterations: u64 },
    /// A bound that is not a number, or too large for an instruction.
    BadBound { function: String, header: String },
    /// Functions call each other in a circle.
    Recursive { function: String },
}

impl fmt::Display for PollError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unbounded { function, header } => {
                write!(f, "the loop at {header} of {function} neither polls the stop flag nor has a bound")
            }
            Self::TooLong { function, iterations } => {
                write!(f, "{function} runs {iterations} iterations without a poll of the stop flag")
            }
            Self::BadBound { function, header } => {
                write!(f, "the bound of {header} of {function} is invalid")
            }
            Self::Recursive { function } => write!(f, "{function} calls itself"),
        }
    }
}

#[derive(Debug, Default)]
struct BasicBlock<'t> {
    name: &'t str,
    successors: Vec<&'t str>,
    callees: Vec<&'t str>,
    polls: bool,
    bound: Option<Bound>,
}

#[derive(Debug)]
struct Body<'t> {
    name: &'t str,
    /// The entry first.
    blocks: Vec<BasicBlock<'t>>,
}

/// Verifies all functions of a module.
pub(super) fn check(text: &str) -> Result<(), PollError> {
    let bodies = parse(text)?;
    let numbers: HashMap<&str, usize> = bodies.iter().enumerate().map(|(at, body)| (body.name, at)).collect();
    // By function: the most iterations between two polls.
    let mut gaps: Vec<Option<u64>> = vec![None; bodies.len()];
    for number in callees_first(&bodies, &numbers)? {
        let gap = gap_of(&bodies[number], |name| {
            let callee = numbers.get(name).map(|&number| gaps[number]);
            // Functions of other modules are the host's.
            let inside = callee.map_or(0, |gap| gap.expect("callees come first"));
            inside.saturating_add(u64::from(name.starts_with(SUBROUTINES)))
        })?;
        gaps[number] = Some(gap);
    }
    Ok(())
}

fn parse(text: &str) -> Result<Vec<Body<'_>>, PollError> {
    let mut bodies: Vec<Body<'_>> = Vec::new();
    let (mut is_inside, mut is_first) = (false, false);
    for line in text.lines() {
        if let Some(header) = line.strip_prefix("define ") {
            // The first block may have no label.
            let blocks = vec![BasicBlock::default()];
            bodies.push(Body { name: symbol(header).unwrap_or(""), blocks });
            (is_inside, is_first) = (true, true);
            continue;
        }
        let Some(body) = bodies.last_mut().filter(|_| is_inside) else { continue };
        if line.starts_with('}') {
            is_inside = false;
        } else if !line.starts_with([' ', '\t', ';']) && !line.is_empty() {
            let (name, rest) = line.split_once(':').unwrap_or((line, ""));
            let bound = bound(rest).map_err(|()| PollError::BadBound {
                function: body.name.to_owned(),
                header: name.to_owned(),
            })?;
            if is_first {
                body.blocks.clear();
            }
            is_first = false;
            body.blocks.push(BasicBlock { name, bound, ..BasicBlock::default() });
        } else if let Some(block) = body.blocks.last_mut() {
            is_first = false;
            note_instruction(line, block);
        }
    }
    Ok(bodies)
}

fn note_instruction<'t>(line: &'t str, block: &mut BasicBlock<'t>) {
    let line = line.trim_start();
    if line.starts_with(';') {
        return;
    }
    block.polls |= line.ends_with("; poll") && line.contains(" load volatile i32, ptr ");
    for target in line.split("label %").skip(1) {
        block.successors.push(word(target));
    }
    if line.starts_with("call ") || line.contains(" call ") || line.starts_with("tail call ") {
        block.callees.extend(symbol(line));
    }
}

/// The name after the first `@`.
fn symbol(line: &str) -> Option<&str> {
    global_names(line).next()
}

fn word(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '.' | '_' | '$' | '-'));
    &text[..end.unwrap_or(text.len())]
}

/// The bound in the comment after a label.
fn bound(comment: &str) -> Result<Option<Bound>, ()> {
    let Some(comment) = comment.trim().strip_prefix(';') else { return Ok(None) };
    let Some((kind, number)) = comment.trim().split_once(" <= ") else { return Ok(None) };
    let number: u64 = number.parse().map_err(|_| ())?;
    match kind {
        "trips" => Ok(Some(Bound::Trips(number))),
        "lanes" if number <= MAX_UNPOLLED_PIECES => Ok(Some(Bound::Lanes(number))),
        _ => Err(()),
    }
}

/// The functions, each after those that it calls.
fn callees_first(bodies: &[Body<'_>], numbers: &HashMap<&str, usize>) -> Result<Vec<usize>, PollError> {
    let callees = |number: usize| -> Vec<usize> {
        let names = bodies[number].blocks.iter().flat_map(|block| &block.callees);
        names.filter_map(|name| numbers.get(name).copied()).collect()
    };
    let graph: Vec<Vec<usize>> = (0..bodies.len()).map(callees).collect();
    let mut order = Vec::new();
    for component in components(&graph) {
        let &[number] = component.as_slice() else {
            return Err(PollError::Recursive { function: bodies[component[0]].name.to_owned() });
        };
        if graph[number].contains(&number) {
            return Err(PollError::Recursive { function: bodies[number].name.to_owned() });
        }
        order.push(number);
    }
    Ok(order)
}

/// The longest path of a function between two polls, its ends included.
fn gap_of(body: &Body<'_>, iterations_of: impl Fn(&str) -> u64) -> Result<u64, PollError> {
    let numbers: HashMap<&str, usize> =
        body.blocks.iter().enumerate().map(|(at, block)| (block.name, at)).collect();
    let successors: Vec<Vec<usize>> = body
        .blocks
        .iter()
        .map(|block| block.successors.iter().filter_map(|name| numbers.get(name).copied()).collect())
        .collect();
    let calls = |block: &BasicBlock<'_>| {
        block.callees.iter().fold(0u64, |sum, callee| sum.saturating_add(iterations_of(callee)))
    };
    let weights: Vec<u64> = body.blocks.iter().map(calls).collect();
    let order = reverse_post_order(&successors);
    let paths = Paths { body, successors, order, weights };
    // A block with a poll ends a path. The emitter starts a new block after it, so calls in the block precede
    // the poll.
    let unpolled: Vec<usize> = (0..body.blocks.len()).collect();
    let iterations = paths.longest(&unpolled, None)?;
    if iterations > MAX_UNPOLLED_ITERATIONS {
        return Err(PollError::TooLong { function: body.name.to_owned(), iterations });
    }
    Ok(iterations)
}

struct Paths<'b, 't> {
    body: &'b Body<'t>,
    successors: Vec<Vec<usize>>,
    /// By block: its place in reverse post-order.
    order: Vec<usize>,
    weights: Vec<u64>,
}

impl Paths<'_, '_> {
    /// The weight of the longest path without a poll within these blocks. Edges back to `header` are left
    /// out.
    fn longest(&self, blocks: &[usize], header: Option<usize>) -> Result<u64, PollError> {
        let local: HashMap<usize, usize> =
            blocks.iter().enumerate().map(|(at, &block)| (block, at)).collect();
        // An edge from a poll starts a new path, so it does not belong to this path.
        let edges = |block: usize| -> Vec<usize> {
            let is_end = self.body.blocks[block].polls;
            let inside = self.successors[block].iter().filter(|&&to| Some(to) != header && !is_end);
            inside.filter_map(|to| local.get(to).copied()).collect()
        };
        let graph: Vec<Vec<usize>> = blocks.iter().map(|&block| edges(block)).collect();
        let mut longest = vec![0u64; blocks.len()];
        let mut all = 0;
        // Components are listed after their successors.
        for component in components(&graph) {
            let is_cycle = component.len() > 1 || graph[component[0]].contains(&component[0]);
            let own = if is_cycle {
                let members: Vec<usize> = component.iter().map(|&at| blocks[at]).collect();
                self.cycle(&members)?
            } else {
                self.weights[blocks[component[0]]]
            };
            let after = component.iter().flat_map(|&at| &graph[at]).map(|&to| longest[to]).max().unwrap_or(0);
            let sum = own.saturating_add(after);
            for &at in &component {
                longest[at] = sum;
            }
            all = all.max(sum);
        }
        Ok(all)
    }

    /// The weight of the cycles through these blocks.
    fn cycle(&self, members: &[usize]) -> Result<u64, PollError> {
        // In a reducible graph it dominates the others.
        let first = members.iter().copied().min_by_key(|&block| self.order[block]);
        let header = first.expect("a cycle has blocks");
        let Some(bound) = self.body.blocks[header].bound else {
            let header = self.body.blocks[header].name.to_owned();
            return Err(PollError::Unbounded { function: self.body.name.to_owned(), header });
        };
        let inside = self.longest(members, Some(header))?;
        Ok(match bound {
            Bound::Trips(trips) => trips.saturating_mul(inside.saturating_add(1)),
            Bound::Lanes(lanes) => lanes.saturating_mul(inside),
        })
    }
}

/// Position of each block in reverse post-order from the first block; the maximum for unreachable blocks.
fn reverse_post_order(graph: &[Vec<usize>]) -> Vec<usize> {
    let mut order = vec![usize::MAX; graph.len()];
    let (mut seen, mut path, mut left) = (vec![false; graph.len()], vec![(0, 0)], graph.len());
    while let Some((node, edge)) = path.pop() {
        seen[node] = true;
        match graph[node].get(edge) {
            Some(&to) => {
                path.push((node, edge + 1));
                if !seen[to] {
                    path.push((to, 0));
                }
            }
            None => {
                left -= 1;
                order[node] = left;
            }
        }
    }
    order
}

/// The strongly connected components of a graph, each after its successors (Tarjan, 1972).
fn components(graph: &[Vec<usize>]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut index, mut low) = (vec![NEW; graph.len()], vec![0; graph.len()]);
    let (mut is_open, mut open, mut count, mut found) = (vec![false; graph.len()], Vec::new(), 0, Vec::new());
    for root in 0..graph.len() {
        if index[root] != NEW {
            continue;
        }
        // The path from the root: node, next edge.
        let mut path = vec![(root, 0)];
        while let Some((node, edge)) = path.pop() {
            if edge == 0 {
                (index[node], low[node]) = (count, count);
                count += 1;
                is_open[node] = true;
                open.push(node);
            }
            if let Some(&to) = graph[node].get(edge) {
                path.push((node, edge + 1));
                if index[to] == NEW {
                    path.push((to, 0));
                } else if is_open[to] {
                    low[node] = low[node].min(index[to]);
                }
                continue;
            }
            if let Some(&(parent, _)) = path.last() {
                low[parent] = low[parent].min(low[node]);
            }
            if low[node] == index[node] {
                let first = open.iter().rposition(|&other| other == node).expect("the node is open");
                let component = open.split_off(first);
                component.iter().for_each(|&node| is_open[node] = false);
                found.push(component);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function with a loop whose header's label and latch are these.
    fn looped(header: &str, latch: &str) -> String {
        format!(
            "define void @f(ptr %stop) {{\n  br label %head\n{header}\n  br i1 %c, label %latch, label %exit\nlatch:\n{latch}  br label %head\nexit:\n  ret void\n}}\n"
        )
    }

    const POLL: &str = "  %flag = load volatile i32, ptr %stop, align 4 ; poll\n";

    #[test]
    fn a_loop_polls_or_has_a_bound() {
        assert_eq!(check(&looped("head:", POLL)), Ok(()));
        assert_eq!(check(&looped("head: ; trips <= 65536", "")), Ok(()));
        assert_eq!(check(&looped("head: ; lanes <= 32", "")), Ok(()));
        let unbounded = PollError::Unbounded { function: "f".to_owned(), header: "head".to_owned() };
        assert_eq!(check(&looped("head:", "")), Err(unbounded.clone()));
        // A volatile load of the program is not a poll.
        assert_eq!(
            check(&looped("head:", "  %v = load volatile i32, ptr %x, align 4\n")),
            Err(unbounded.clone())
        );
        assert_eq!(check(&looped("head: ; a comment", "")), Err(unbounded));
        let too_long = PollError::TooLong { function: "f".to_owned(), iterations: 65537 };
        assert_eq!(check(&looped("head: ; trips <= 65537", "")), Err(too_long));
        let bad = PollError::BadBound { function: "f".to_owned(), header: "head".to_owned() };
        assert_eq!(check(&looped("head: ; lanes <= 100000", "")), Err(bad.clone()));
        assert_eq!(check(&looped("head: ; trips <= -1", "")), Err(bad));
    }

    /// A loop in a loop.
    fn nested(outer: &str, inner: &str, inner_latch: &str, outer_latch: &str) -> String {
        format!(
            "define void @f(ptr %stop) {{\n  br label %a\na:{outer}\n  br i1 %c, label %b, label %exit\nb:{inner}\n  br i1 %c, label %inside, label %next\ninside:\n{inner_latch}  br label %b\nnext:\n{outer_latch}  br label %a\nexit:\n  ret void\n}}\n"
        )
    }

    #[test]
    fn nested_bounds_multiply() {
        assert_eq!(check(&nested(" ; trips <= 255", " ; trips <= 256", "", "")), Ok(()));
        let too_long = PollError::TooLong { function: "f".to_owned(), iterations: 256 * 257 };
        assert_eq!(check(&nested(" ; trips <= 256", " ; trips <= 256", "", "")), Err(too_long));
        assert_eq!(check(&nested("", " ; trips <= 65000", "", POLL)), Ok(()));
        // The inner loop may run zero iterations, so the outer loop cannot rely on its poll.
        let unbounded = PollError::Unbounded { function: "f".to_owned(), header: "a".to_owned() };
        assert_eq!(check(&nested("", "", POLL, "")), Err(unbounded));
        assert_eq!(check(&nested(" ; trips <= 300", "", POLL, "")), Ok(()));
    }

    #[test]
    fn loops_in_a_row_add_up() {
        let two = looped("head: ; trips <= 40000", "").replace(
            "exit:\n  ret void\n",
            "exit:\n  br label %two\ntwo: ; trips <= 40000\n  br i1 %c, label %two, label %end\nend:\n  ret void\n",
        );
        let too_long = PollError::TooLong { function: "f".to_owned(), iterations: 80000 };
        assert_eq!(check(&two), Err(too_long));
        assert_eq!(check(&two.replace("exit:\n", &format!("exit:\n{POLL}"))), Ok(()));
    }

    #[test]
    fn calls_count_as_what_they_do() {
        let caller = |calls: &str| {
            format!(
                "define void @main(ptr %stop) {{\n{calls}  ret void\n}}\n{}",
                looped("head: ; trips <= 40000", "")
            )
        };
        let call = "  call void @f(ptr %stop)\n";
        assert_eq!(check(&caller(call)), Ok(()));
        let too_long = PollError::TooLong { function: "main".to_owned(), iterations: 80000 };
        assert_eq!(check(&caller(&format!("{call}{call}"))), Err(too_long));
        let mut tree = String::from("define void @am.sub.0() {\n  ret void\n}\n");
        for level in 1..40 {
            let call = format!("  call void @am.sub.{}()\n", level - 1);
            tree += &format!("define void @am.sub.{level}() {{\n{call}{call}  ret void\n}}\n");
        }
        assert!(matches!(check(&tree), Err(PollError::TooLong { .. })));
        let recursive = "define void @f() {\n  call void @f()\n  ret void\n}\n";
        assert_eq!(check(recursive), Err(PollError::Recursive { function: "f".to_owned() }));
        let circle = "define void @f() {\n  call void @g()\n  ret void\n}\ndefine void @g() {\n  call void @f()\n  ret void\n}\n";
        assert!(matches!(check(circle), Err(PollError::Recursive { .. })));
    }
}
