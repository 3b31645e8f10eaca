//! Arguments that a launch may give by value: small structures behind references that are only read, whole
//! words of them, at places known here.
//!
//! Such an argument needs no memory of the card, which a launch would first have to write, and no thread
//! waits for it.

use anymetal_ir::{ArgKind, Function, Inst, Kernel, Op, Scalar, Space, Type, Value, ValueDef};

use crate::limits::ptx::{MAX_BY_VALUE_BYTES, MAX_BY_VALUE_TOTAL_BYTES};

/// Bytes of a word.
const WORD: u64 = 4;

/// For each argument of the kernel how many 32-bit words a launch may give by value; 0: it binds memory.
/// `order`: the function's instructions.
pub(super) fn value_words(function: &Function, kernel: &Kernel, order: &[Inst]) -> Vec<u32> {
    let mut words: Vec<u32> = kernel
        .args
        .iter()
        .map(|argument| {
            let is_small = (1..=MAX_BY_VALUE_BYTES).contains(&argument.element_size);
            let is_words =
                argument.element_size.is_multiple_of(WORD) && argument.element_align >= WORD as u32;
            let is_value = argument.enabled
                && argument.reference
                && argument.kind == ArgKind::Buffer
                && argument.space == Space::Constant;
            if is_value && is_small && is_words { (argument.element_size / WORD) as u32 } else { 0 }
        })
        .collect();
    for &inst in order {
        keep_readable(function, inst, &mut words);
    }
    let mut left = MAX_BY_VALUE_TOTAL_BYTES;
    for words in &mut words {
        match left.checked_sub(u64::from(*words) * WORD) {
            Some(rest) => left = rest,
            None => *words = 0,
        }
    }
    assert!(left <= MAX_BY_VALUE_TOTAL_BYTES, "arguments given by value fit the launch's parameters");
    words
}

/// Strikes out the arguments of which the instruction is no read at a known place.
fn keep_readable(function: &Function, inst: Inst, words: &mut [u32]) {
    let data = function.inst(inst);
    let reads = match (&data.op, data.result) {
        (&Op::Load { ptr, volatile: false, .. }, Some(result)) => Some((ptr, function.ty(result))),
        _ => None,
    };
    data.op.for_each_operand(|operand| {
        if function.ty(operand) != Type::Ptr(Space::Constant) {
            return;
        }
        let is_read = match (place_in_argument(function, operand), reads) {
            (Some((argument, offset)), Some((_, ty))) => {
                let bytes = words.get(argument).map_or(0, |&words| u64::from(words) * WORD);
                can_read(ty, offset, bytes)
            }
            // A place of its own, which is looked at where it is used.
            (Some(_), None) => matches!(data.op, Op::PtrAdd { base, index: None, .. } if base == operand),
            (None, _) => true,
        };
        if let (false, Some(argument)) = (is_read, argument_of(function, operand)) {
            words[argument] = 0;
        }
    });
}

/// Whether a value of the type can be read from words, `offset` bytes within so many.
fn can_read(ty: Type, offset: u64, bytes: u64) -> bool {
    let Some(element) = ty.scalar().filter(|_| !ty.is_ptr()).map(Scalar::size) else {
        // Words hold numbers, not pointers.
        return false;
    };
    let is_whole = offset.is_multiple_of(u64::from(element).min(WORD));
    is_whole && offset.checked_add(ty.size().into()).is_some_and(|end| end <= bytes)
}

/// The argument that a pointer leads into, and the bytes from its start, if they are known.
pub(super) fn place_in_argument(function: &Function, pointer: Value) -> Option<(usize, u64)> {
    let (mut pointer, mut bytes) = (pointer, 0i64);
    loop {
        match function.values[pointer.index()].def {
            ValueDef::Param(index) => return Some((index as usize, u64::try_from(bytes).ok()?)),
            ValueDef::Inst(inst) => match function.inst(inst).op {
                Op::PtrAdd { base, index: None, offset, .. } => {
                    (pointer, bytes) = (base, bytes.checked_add(offset)?);
                }
                _ => return None,
            },
            ValueDef::LoopParam(..) | ValueDef::Result(..) => return None,
        }
    }
}

/// The argument that a pointer leads into, wherever.
fn argument_of(function: &Function, pointer: Value) -> Option<usize> {
    let mut pointer = pointer;
    loop {
        match function.values[pointer.index()].def {
            ValueDef::Param(index) => return Some(index as usize),
            ValueDef::Inst(inst) => match function.inst(inst).op {
                Op::PtrAdd { base, .. } => pointer = base,
                _ => return None,
            },
            ValueDef::LoopParam(..) | ValueDef::Result(..) => return None,
        }
    }
}
