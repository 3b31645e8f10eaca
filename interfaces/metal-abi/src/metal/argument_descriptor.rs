//! `MTLArgumentDescriptor`: the members of an argument buffer without a function that declares them.
//!
//! Invariant: the layout is that of a structure in MSL with the same members in the order of their indices,
//! so that an encoder made of descriptors writes what a kernel reads.

use anymetal::reflection::{ArgumentLayout, ArgumentMember, ArgumentMemberKind};
use objc2::rc::Retained;

use super::data_type;
use super::descriptor::descriptor;
use super::violation;
use crate::foundation::NSArray;

descriptor! {
    /// A member of an argument buffer, or an array of them with one index each.
    ArgumentDescriptor = "MTLArgumentDescriptor", ArgumentProperties;
    values {
        data_type, set_data_type: usize = 0, [dataType] [setDataType:];
        index, set_index: usize = 0, [index] [setIndex:];
        array_length, set_array_length: usize = 0, [arrayLength] [setArrayLength:];
        access, set_access: usize = 0, [access] [setAccess:];
        texture_type, set_texture_type: usize = 0, [textureType] [setTextureType:];
        block_alignment, set_block_alignment: usize = 0, [constantBlockAlignment] [setConstantBlockAlignment:];
    }
    objects {}
    methods {
        #[unsafe(method_id(argumentDescriptor))]
        fn argument_descriptor() -> Retained<Self> {
            crate::foundation::object(ArgumentProperties::default())
        }
    }
}

/// More members than this are refused: an encoder lists each.
const MAX_MEMBERS: usize = 1 << 20;

/// The largest alignment of a block of constants.
const MAX_ALIGNMENT: usize = 1 << 16;

/// What has eight bytes in an argument buffer, by its data type.
const HANDLES: [(usize, ArgumentMemberKind); 6] = [
    (58, ArgumentMemberKind::Texture),
    (59, ArgumentMemberKind::Sampler),
    (60, ArgumentMemberKind::Pointer),
    (79, ArgumentMemberKind::ComputePipeline),
    (80, ArgumentMemberKind::IndirectCommandBuffer),
    // A table of visible functions is a pointer to its entries.
    (115, ArgumentMemberKind::Pointer),
];

/// A descriptor's members: the first index, how many there are, what they are.
#[derive(Clone, Copy)]
struct Members {
    first: usize,
    count: usize,
    kind: ArgumentMemberKind,
    size: usize,
    align: usize,
}

impl Members {
    fn of(method: &str, properties: &ArgumentProperties) -> Members {
        let (kind, size, align) = shape_of(method, properties.data_type());
        let block = properties.block_alignment();
        let is_alignment = block.is_power_of_two() && block <= MAX_ALIGNMENT;
        if block > 0 && !(is_alignment && kind == ArgumentMemberKind::Constant) {
            let rule = "constantBlockAlignment is a power of two up to 65536, of a descriptor of constants";
            violation(method, format_args!("{rule}, not {block} at the index {}", properties.index()));
        }
        let count = properties.array_length().max(1);
        Members { first: properties.index(), count, kind, size, align: align.max(block) }
    }

    /// The index after the last member, if members have indices of 32 bits.
    fn end(&self) -> Option<usize> {
        self.first.checked_add(self.count).filter(|&end| u32::try_from(end).is_ok())
    }

    fn add_to(&self, layout: &mut ArgumentLayout) {
        layout.align = layout.align.max(self.align as u32);
        layout.size = layout.size.next_multiple_of(self.align as u64);
        for id in self.first..self.first + self.count {
            let (offset, size, kind) = (layout.size, self.size as u64, self.kind);
            layout.members.push(ArgumentMember::new(id as u32, offset, size, kind));
            layout.size += size;
        }
    }
}

/// The kind, the bytes and the alignment of a member of a data type.
fn shape_of(method: &str, number: usize) -> (ArgumentMemberKind, usize, usize) {
    if let Some((_, kind)) = HANDLES.iter().find(|(known, _)| *known == number) {
        return (*kind, 8, 8);
    }
    let Some((size, align)) = data_type::size_and_align(number) else {
        violation(method, format_args!("the data type {number} is none of a member of an argument buffer"));
    };
    (ArgumentMemberKind::Constant, size, align)
}

/// The structure that an array of descriptors describes, for a method that was given it.
pub(crate) fn layout_of(method: &str, arguments: &NSArray) -> ArgumentLayout {
    let members = |element: Retained<objc2::runtime::AnyObject>| {
        let descriptor = element.downcast::<ArgumentDescriptor>();
        let descriptor = descriptor.unwrap_or_else(|_| violation(method, "an element is no descriptor"));
        Members::of(method, descriptor.ivars())
    };
    let mut all: Vec<Members> = arguments.elements().into_iter().map(members).collect();
    if all.is_empty() {
        violation(method, "there are no descriptors");
    }
    all.sort_by_key(|members| members.first);
    check(method, &all);
    let mut layout = ArgumentLayout::new(0, 1, Vec::new());
    all.iter().for_each(|members| members.add_to(&mut layout));
    layout.size = layout.size.next_multiple_of(u64::from(layout.align));
    layout
}

/// Each index is of one member, and there are not too many.
fn check(method: &str, all: &[Members]) {
    let (mut next, mut total) = (0, 0usize);
    for members in all {
        if members.first < next {
            violation(method, format_args!("the index {} is of two descriptors", members.first));
        }
        total = total.saturating_add(members.count);
        next = members.end().filter(|_| total <= MAX_MEMBERS).unwrap_or_else(|| {
            violation(method, format_args!("an argument buffer has no more than {MAX_MEMBERS} members"))
        });
    }
}
