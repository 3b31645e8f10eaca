//! Checks of the text as it is written, in debug builds.
//!
//! LLVM's reader refuses most of these faults as well, but only after the whole module is written, far from
//! the code at fault. Here the panic's backtrace leads to the emitter. Registers whose type the text does
//! not show (parameters, parts of structures) are not checked.

use std::collections::{BTreeSet, HashMap};

use super::BlockName;

/// What is known of the registers and blocks of one function.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// The types of registers whose definition shows it.
    types: HashMap<u32, Box<str>>,
    /// Blocks with a label.
    placed: BTreeSet<BlockName>,
    /// Blocks that a terminator names.
    targets: BTreeSet<BlockName>,
}

impl Checks {
    /// Notes that the block's label is written.
    pub(super) fn place(&mut self, block: BlockName) {
        assert!(self.placed.insert(block), "block b{block} has two labels");
    }

    /// Checks one instruction, and notes its result.
    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim();
        if line.starts_with(';') || line.contains(" asm ") {
            return;
        }
        let (result, instruction) = match line.strip_prefix("%r").and_then(|rest| rest.split_once(" = ")) {
            Some((number, instruction)) => (number.parse::<u32>().ok(), instruction),
            None => (None, line),
        };
        let opcode = instruction.split(' ').next().unwrap_or_default();
        self.note_targets(instruction);
        check_alignment(instruction);
        self.check_operands(opcode, instruction);
        check_types(opcode, instruction);
        if let Some(result) = result {
            let ty = result_type(opcode, instruction);
            assert!(ty.as_deref() != Some("void"), "%r{result} is the result of a call without one: {line}");
            let before = ty.and_then(|ty| self.types.insert(result, ty.into()));
            assert!(before.is_none(), "%r{result} has two definitions: {line}");
        }
    }

    /// Checks that the function is complete.
    pub(super) fn finish(&self) {
        let missing: Vec<_> = self.targets.difference(&self.placed).collect();
        assert!(missing.is_empty(), "branches lead to blocks without a label: {missing:?}");
    }

    /// The type of the register, where its definition shows it.
    pub(super) fn type_of(&self, register: u32) -> Option<&str> {
        self.types.get(&register).map(|ty| &**ty)
    }

    fn note_targets(&mut self, instruction: &str) {
        for target in instruction.split("label %b").skip(1) {
            let number = target.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            self.targets.insert(number.parse().expect("blocks are named by numbers"));
        }
    }

    /// Each operand has the type that is written before it, or that all operands of the instruction share.
    fn check_operands(&self, opcode: &str, instruction: &str) {
        let shared = match opcode {
            "phi" => Some(first_type(instruction, opcode)),
            "icmp" | "fcmp" => compared_type(instruction),
            _ if is_integer_op(opcode) || is_float_op(opcode) => Some(first_type(instruction, opcode)),
            _ => None,
        };
        for (at, _) in instruction.match_indices("%r") {
            let digits =
                instruction[at + 2..].split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            let Some(known) = digits.parse().ok().and_then(|register| self.type_of(register)) else {
                continue;
            };
            let Some(written) = type_before(&instruction[..at]).or(shared) else { continue };
            assert!(known == written, "%r{digits} is a {known}, not a {written}: {instruction}");
        }
    }
}

fn check_alignment(instruction: &str) {
    for after in instruction.split(", align ").skip(1) {
        let align = after.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let align: u64 = align.parse().expect("an alignment is a number");
        assert!(align.is_power_of_two(), "alignment {align} is not a power of two: {instruction}");
    }
}

/// The opcode suits the types that it is used with.
fn check_types(opcode: &str, instruction: &str) {
    if is_integer_op(opcode) || is_float_op(opcode) {
        let ty = element(first_type(instruction, opcode));
        let is_float = matches!(ty, "half" | "float" | "double");
        assert!(is_float == is_float_op(opcode), "{opcode} does not compute in {ty}: {instruction}");
    }
    // Other address spaces have addresses of 32 bits, and numbers of lanes are i32.
    if opcode == "getelementptr" && !instruction.contains("addrspace") {
        for index in operands(instruction).skip(2) {
            let ty = element(take_type(index));
            assert!(matches!(ty, "i64" | "i32"), "an address index is an {ty}, not an i64: {instruction}");
        }
    }
    let casts = ["bitcast", "trunc", "zext", "sext", "fptrunc", "fpext"];
    if casts.contains(&opcode)
        && let Some((from, to)) = instruction.rsplit_once(" to ")
    {
        let (from, to) = (first_type(from, opcode), take_type(to));
        let (Some(source), Some(target)) = (bits(from), bits(to)) else { return };
        let fits = match opcode {
            "bitcast" => source == target,
            "trunc" | "fptrunc" => source > target && count(from) == count(to),
            _ => source < target && count(from) == count(to),
        };
        assert!(fits, "{opcode} cannot turn {from} into {to}: {instruction}");
    }
}

/// The type of the instruction's result, if the text shows it.
fn result_type(opcode: &str, instruction: &str) -> Option<String> {
    let first = first_type(instruction, opcode);
    let ty = match opcode {
        "load" | "freeze" | "phi" | "insertelement" => first,
        "tail" | "call" => first,
        "alloca" => "ptr",
        "icmp" | "fcmp" => {
            let compared = compared_type(instruction)?;
            return Some(match count(compared) {
                1 => "i1".to_owned(),
                n => format!("<{n} x i1>"),
            });
        }
        "extractelement" => element(first),
        "select" => take_type(operands(instruction).nth(1)?),
        "shufflevector" => {
            let picks = count(take_type(operands(instruction).nth(2)?));
            return Some(format!("<{picks} x {}>", element(first)));
        }
        "atomicrmw" => take_type(operands(instruction).nth(1)?),
        "getelementptr" => {
            let is_vector = operands(instruction).skip(1).any(|operand| operand.starts_with('<'));
            if is_vector {
                return None;
            }
            "ptr"
        }
        _ if is_integer_op(opcode) || is_float_op(opcode) => first,
        _ => take_type(instruction.rsplit_once(" to ")?.1),
    };
    // Pointers to other address spaces have a type of two words.
    let is_plain = ty != "ptr" || !instruction.contains("addrspace");
    (is_plain && is_type(ty)).then(|| ty.to_owned())
}

fn is_integer_op(opcode: &str) -> bool {
    matches!(
        opcode,
        "add"
            | "sub"
            | "mul"
            | "udiv"
            | "sdiv"
            | "urem"
            | "srem"
            | "and"
            | "or"
            | "xor"
            | "shl"
            | "lshr"
            | "ashr"
    )
}

fn is_float_op(opcode: &str) -> bool {
    matches!(opcode, "fadd" | "fsub" | "fmul" | "fdiv" | "frem" | "fneg")
}

fn is_type(text: &str) -> bool {
    let is_integer = text.strip_prefix('i').is_some_and(|bits| bits.parse::<u32>().is_ok());
    is_integer || matches!(text, "ptr" | "half" | "float" | "double" | "void") || text.starts_with('<')
}

/// The type at the start of the text, or its first word.
fn take_type(text: &str) -> &str {
    let text = text.trim_start();
    let end = match text.starts_with('<') {
        true => text.find('>').map(|at| at + 1),
        false => text.find([' ', ',', '(']),
    };
    &text[..end.unwrap_or(text.len())]
}

/// The first word after the opcode that is a type; flags and attributes come before it.
fn first_type<'t>(instruction: &'t str, opcode: &str) -> &'t str {
    let mut rest = instruction.strip_prefix(opcode).unwrap_or(instruction).trim_start();
    loop {
        let ty = take_type(rest);
        if ty.is_empty() || is_type(ty) {
            return ty;
        }
        // Not a type: a structure, or a flag to skip.
        let Some((_, next)) = rest.split_once(' ') else { return "" };
        if rest.starts_with(['{', '[', '@', '%']) {
            return "";
        }
        rest = next.trim_start();
    }
}

/// The type of a comparison's operands, which follows the predicate.
fn compared_type(instruction: &str) -> Option<&str> {
    let ty = first_type(instruction, instruction.split(' ').next()?);
    is_type(ty).then_some(ty)
}

/// The type that ends right before an operand.
fn type_before(text: &str) -> Option<&str> {
    let text = text.strip_suffix(' ')?;
    let start = match text.ends_with('>') {
        true => text.rfind('<')?,
        false => text.rfind([' ', '(', ',', '[']).map_or(0, |at| at + 1),
    };
    let ty = &text[start..];
    is_type(ty).then_some(ty)
}

/// The operands, divided at commas outside brackets.
fn operands(instruction: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    let (_, text) = instruction.split_once(' ').unwrap_or_default();
    let divides = move |c: char| {
        depth +=
            i32::from(matches!(c, '<' | '(' | '[' | '{')) - i32::from(matches!(c, '>' | ')' | ']' | '}'));
        c == ',' && depth == 0
    };
    text.split(divides).map(str::trim)
}

fn element(ty: &str) -> &str {
    ty.split_once(" x ").map_or(ty, |(_, element)| element.trim_end_matches('>'))
}

fn count(ty: &str) -> u64 {
    let count = ty.strip_prefix('<').and_then(|ty| ty.split_once(" x "));
    count.map_or(1, |(count, _)| count.parse().expect("a vector's length is a number"))
}

fn bits(ty: &str) -> Option<u64> {
    let element = match element(ty) {
        "half" => 16,
        "float" => 32,
        "double" => 64,
        other => other.strip_prefix('i')?.parse().ok()?,
    };
    Some(element * count(ty))
}

#[cfg(test)]
mod tests {
    use super::Checks;

    fn accepts(lines: &[&str]) {
        let mut checks = Checks::default();
        for line in lines {
            checks.line(line);
        }
        checks.finish();
    }

    fn refuses(lines: &[&str]) {
        let (last, before) = lines.split_last().expect("at least one line");
        let mut checks = Checks::default();
        for line in before {
            checks.line(line);
        }
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| checks.line(last)));
        assert!(outcome.is_err(), "{last}");
    }

    #[test]
    fn well_typed_lines_pass() {
        accepts(&[
            "%r1 = load <32 x float>, ptr %r9, align 4",
            "%r2 = fadd reassoc contract <32 x float> %r1, %r1",
            "%r3 = fcmp olt <32 x float> %r2, %r1",
            "%r4 = select <32 x i1> %r3, <32 x float> %r2, <32 x float> %r1",
            "%r5 = extractelement <32 x float> %r4, i64 3",
            "%r6 = bitcast float %r5 to i32",
            "%r7 = icmp ult i32 %r6, 4",
            "%r8 = bitcast <32 x i1> %r3 to i32",
            "%r10 = shufflevector <32 x float> %r4, <32 x float> poison, <2 x i32> <i32 0, i32 1>",
            "%r11 = fneg <2 x float> %r10",
            "%r12 = call fast <2 x float> @llvm.fabs.v2f32(<2 x float> %r11)",
            "%r13 = getelementptr i8, ptr %r9, i64 4",
            "store <2 x float> %r12, ptr %r13, align 4",
        ]);
    }

    #[test]
    fn operands_of_another_type_are_refused() {
        let loads = ["%r1 = load i32, ptr %r9, align 4", "%r2 = load i64, ptr %r9, align 8"];
        let [narrow, wide] = loads;
        for wrong in [
            "%r3 = add i32 %r1, %r2",
            "%r3 = add i64 %r2, %r1",
            "%r3 = icmp eq i64 %r1, 0",
            "store i64 %r1, ptr %r9, align 8",
            "store i32 %r1, ptr %r2, align 4",
            "br i1 %r1, label %b1, label %b2",
            "%r3 = phi i32 [ %r1, %b1 ], [ %r2, %b2 ]",
            "%r3 = getelementptr i8, ptr %r9, i64 %r1",
            "call void @f(i32 %r1, i32 %r2)",
        ] {
            refuses(&[narrow, wide, wrong]);
        }
    }

    #[test]
    fn lines_that_no_operand_would_mend_are_refused() {
        for wrong in [
            "%r1 = fadd i32 1, 2",
            "%r1 = add float 1.0, 2.0",
            "%r1 = load i32, ptr %r9, align 3",
            "%r1 = getelementptr i8, ptr %r9, i16 4",
            "%r1 = bitcast <32 x i1> zeroinitializer to i64",
            "%r1 = zext i32 1 to i16",
            "%r1 = trunc <4 x i32> zeroinitializer to <2 x i16>",
            "%r1 = call void @f()",
        ] {
            refuses(&[wrong]);
        }
        refuses(&["%r1 = load i32, ptr %r9, align 4", "%r1 = load i32, ptr %r9, align 4"]);
    }

    #[test]
    #[should_panic(expected = "without a label: [7]")]
    fn a_branch_without_a_target_is_refused() {
        accepts(&["br label %b7"]);
    }
}
