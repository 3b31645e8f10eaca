//! Tagged pointers: an allocation's number and an offset in 64 bits.
//!
//! Owns the encoding, its arithmetic, and the text of the search for an address among a launch's resident
//! buffers. Both code generators keep pointers so; the rules of the table are
//! [`anymetal_abi::resident`]'s.
//!
//! Invariants: tagged pointers are in registers and in pointer slots only, so that no data becomes one; and
//! no sum carries from the offset into the number: it saturates at [`LARGEST_OFFSET`], where no allocation
//! has bytes, and later sums leave it there.

use anymetal_abi::offsets::{ENTRY_LEN, TABLE_ENTRY};
use anymetal_abi::resident::{ADDRESS_BITS, DANGLING, READ_ONLY};
use anymetal_ir::Value;

use crate::elementwise::Width;
use crate::llvm::{Builder, I64, IntPredicate, Opd};

/// Added to the offset of a tagged pointer.
pub(crate) const BIAS: i64 = 1 << 47;
/// The bits of the biased offset.
pub(crate) const OFFSET_BITS: i64 = (1 << 48) - 1;
/// The largest offset of a tagged pointer; the smallest is that of the null pointer, `-BIAS`.
pub(crate) const LARGEST_OFFSET: i64 = BIAS - 1;

/// The sum of the tagged pointers `code` and bytes of either sign, with the offset saturated.
fn saturated(t: &mut Builder, width: Width, code: &Opd, sum: &Opd) -> Opd {
    let int = |value| width.int(I64, value);
    let after = saturated_forward(t, width, code, sum);
    // A saturated pointer stays so: it may be far below its allocation.
    let own = t.and(code, &int(OFFSET_BITS));
    let is_lost = t.icmp(IntPredicate::Eq, &own, &int(OFFSET_BITS));
    t.select(&is_lost, code, &after)
}

/// [`saturated`], or [`saturated_forward`] if the bytes are known to be not negative.
pub(crate) fn saturation(index: Option<Value>, offset: i64) -> fn(&mut Builder, Width, &Opd, &Opd) -> Opd {
    if index.is_none() && offset >= 0 { saturated_forward } else { saturated }
}

/// As [`saturated`], of bytes that are not negative.
pub(crate) fn saturated_forward(t: &mut Builder, width: Width, code: &Opd, sum: &Opd) -> Opd {
    let int = |value| width.int(I64, value);
    let number = t.and(code, &int(!OFFSET_BITS));
    let offset = t.sub(sum, &number);
    let fits = t.icmp(IntPredicate::ULt, &offset, &int(BIAS + LARGEST_OFFSET));
    let most = t.or(&number, &int(BIAS + LARGEST_OFFSET));
    t.select(&fits, sum, &most)
}

/// The length of an entry for an access; 0 for a store to read-only memory.
pub(crate) fn entry_len(t: &mut Builder, len: &Opd, stores: bool) -> Opd {
    if !stores {
        return t.and(len, (!READ_ONLY) as i64);
    }
    let writable = t.icmp(IntPredicate::SGe, len, 0);
    t.select(&writable, len, 0)
}

/// Where a target's search finds the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Search<'a> {
    /// The parameters before `%first` and `%bits`.
    pub(crate) parameters: &'a str,
    /// What defines `%table` and `%count`, if they are no parameters.
    pub(crate) start: &'a str,
    /// LLVM's type of pointers to the table.
    pub(crate) pointer: &'a str,
    /// What is behind each load of it.
    pub(crate) invariant: &'a str,
}

/// The text of `@am.pointer`, which returns the tagged pointer for eight bytes from memory or an integer: a
/// binary search for the last buffer that does not begin after the address. `%first` is the number of the
/// first resident buffer. Bits that are not an address may be the tag of constant data, which has
/// `%constants.count` numbers from `%constants` on and is read-only.
pub(crate) fn search(search: Search<'_>) -> String {
    let Search { parameters, start, pointer, invariant } = search;
    format!(
        "define internal i64 @am.pointer({parameters}, i64 %constants, i64 %constants.count, i64 %first, i64 %bits) noinline nounwind willreturn speculatable memory(none) {{
entry:
  %tag = lshr i64 %bits, {ADDRESS_BITS}
  %is.tagged = icmp ne i64 %tag, 0
  %constant = sub i64 %tag, %constants
  %is.constant = icmp ult i64 %constant, %constants.count
  %is.null = icmp eq i64 %bits, 0
  %is.plain = or i1 %is.constant, %is.null
  br i1 %is.plain, label %plain, label %other
plain:
  ret i64 %bits
other:
  br i1 %is.tagged, label %dangling, label %search
search:
{start}  br label %head
head: ; lanes <= 64
  %low = phi i64 [ 0, %search ], [ %low.next, %step ]
  %high = phi i64 [ %count, %search ], [ %high.next, %step ]
  %more = icmp ult i64 %low, %high
  br i1 %more, label %step, label %last
step:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %middle.at = mul i64 %middle, {TABLE_ENTRY}
  %middle.p = getelementptr i8, {pointer} %table, i64 %middle.at
  %middle.base = load i64, {pointer} %middle.p, align 8{invariant}
  %is.below = icmp ule i64 %middle.base, %bits
  %after = add i64 %middle, 1
  %low.next = select i1 %is.below, i64 %after, i64 %low
  %high.next = select i1 %is.below, i64 %high, i64 %middle
  br label %head
last:
  %is.none = icmp eq i64 %low, 0
  br i1 %is.none, label %dangling, label %check
check:
  %index = sub i64 %low, 1
  %at = mul i64 %index, {TABLE_ENTRY}
  %own.p = getelementptr i8, {pointer} %table, i64 %at
  %base = load i64, {pointer} %own.p, align 8{invariant}
  %len.p = getelementptr i8, {pointer} %own.p, i64 {ENTRY_LEN}
  %marked.len = load i64, {pointer} %len.p, align 8{invariant}
  %len = and i64 %marked.len, {}
  %offset = sub i64 %bits, %base
  %is.inside = icmp ule i64 %offset, %len
  %number = add i64 %first, %index
  %has.number = icmp ult i64 %number, {DANGLING}
  %is.good = and i1 %is.inside, %has.number
  br i1 %is.good, label %inside, label %dangling
inside:
  %tagged = shl i64 %number, {ADDRESS_BITS}
  %zero = add i64 %tagged, {BIAS}
  %code = add i64 %zero, %offset
  ret i64 %code
dangling:
  %kept = and i64 %bits, {}
  %nowhere = add i64 %kept, {}
  ret i64 %nowhere
}}
",
        !READ_ONLY as i64,
        BIAS - 1,
        ((DANGLING << ADDRESS_BITS) as i64) + BIAS,
    )
}
