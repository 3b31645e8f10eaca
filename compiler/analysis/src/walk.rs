//! Walking nested blocks without recursion.

use anymetal_ir::{Block, Function, Inst, Op};

/// Calls `f` for every instruction of the block and the blocks nested in it, in textual order: a
/// construct before the blocks in it.
pub fn walk_insts(function: &Function, block: Block, f: &mut impl FnMut(Inst)) {
    walk_with_depth(function, block, &mut |inst, _| f(inst));
}

/// Whether a jump or return among the instructions, or nested in them, leads out of them.
pub fn jumps_out(function: &Function, insts: &[Inst]) -> bool {
    // The rest of each block that the walk is in, and the label of the construct around it.
    let mut stack = vec![(insts, None)];
    while let Some((rest, label)) = stack.pop() {
        let Some((&inst, rest)) = rest.split_first() else { continue };
        stack.push((rest, label));
        let op = &function.inst(inst).op;
        let leads_out = match *op {
            Op::Break(label, _) | Op::Continue(label, _) => {
                stack.iter().all(|&(_, around)| around != Some(label))
            }
            Op::Return(_) => true,
            _ => false,
        };
        if leads_out {
            return true;
        }
        stack.extend(op.blocks().into_iter().map(|nested| (function.block(nested), op.label())));
    }
    false
}

/// How deep constructs nest in the function's body; 0 without any.
pub fn nesting(function: &Function) -> usize {
    let mut deepest = 0;
    walk_with_depth(function, function.body, &mut |_, depth| deepest = deepest.max(depth));
    deepest
}

fn walk_with_depth(function: &Function, block: Block, f: &mut impl FnMut(Inst, usize)) {
    // Work list, innermost block last: block, next position, depth.
    let mut stack = vec![(block, 0, 0)];
    while let Some((block, at, depth)) = stack.pop() {
        let Some(&inst) = function.block(block).get(at) else { continue };
        stack.push((block, at + 1, depth));
        f(inst, depth);
        let mut blocks = function.inst(inst).op.blocks();
        while let Some(nested) = blocks.pop() {
            stack.push((nested, 0, depth + 1));
        }
    }
}

/// For each instruction: its position in the text, and that after its last nested one.
pub fn textual_ranges(function: &Function) -> Vec<(u32, u32)> {
    let mut ranges = vec![(0, 0); function.insts.len()];
    let mut position = 0;
    let mut open: Vec<(Block, usize, Option<Inst>)> = vec![(function.body, 0, None)];
    while let Some((block, at, construct)) = open.pop() {
        let Some(&inst) = function.block(block).get(at) else {
            // The end of the last block overwrites those of the earlier blocks.
            if let Some(construct) = construct {
                ranges[construct.index()].1 = position;
            }
            continue;
        };
        open.push((block, at + 1, construct));
        ranges[inst.index()] = (position, position + 1);
        position += 1;
        open.extend(function.inst(inst).op.blocks().into_iter().rev().map(|nested| (nested, 0, Some(inst))));
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::{jumps_out, walk_insts};
    use anymetal_ir::parse_module;

    const FUNCTION: &str = r#"
func f0 "f" (v0: bool, v1: i32) {
  scope label0 {
    loop label1 {
      if v0 {
        break label1
      }
      switch label2 v1 case 1 {
        continue label1
      } default {
        break label2
      }
    }
    if v0 {
      break label0
    }
  }
  if v0 {
    return
  }
}
"#;

    #[test]
    fn jumps_within_do_not_lead_out() {
        let module = parse_module(FUNCTION).expect("the text is well formed");
        let function = &module.functions[0];
        let mut found = Vec::new();
        walk_insts(function, function.body, &mut |inst| {
            if !function.inst(inst).op.blocks().is_empty() {
                found.push(jumps_out(function, &[inst]));
            }
        });
        // The scope, the loop, the branch in it, the switch, the branch in the scope, and the last branch.
        assert_eq!(found, [false, false, true, true, true, true]);
    }
}
