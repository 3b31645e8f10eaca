//! Wording that the formats share: threads, accesses, values, memory, numbers.

use crate::{AccessedMemory, Action, Finding, MemorySpace, Position, Side, Value};

/// Longest value that is shown.
const MAX_SHOWN_BYTES: usize = 16;

/// "Write of 4 bytes (value 0x3f800000 = 1.0 as float) by thread (3,0,0) of threadgroup (1,0,0),
/// SIMD-group 0 lane 3"
pub(super) fn side(side: &Side) -> String {
    let name = match side.action {
        Action::Read => "Read",
        Action::Write => "Write",
        Action::AtomicLoad => "Atomic load",
        Action::AtomicStore => "Atomic store",
        Action::AtomicReadModifyWrite => "Atomic read-modify-write",
        Action::Barrier => "Barrier executed",
        Action::SimdgroupFunction => "SIMD-group function executed",
        Action::Arithmetic => "Computed",
        Action::Return => "Return from the kernel",
    };
    let mut text = name.to_owned();
    if is_access(side.action) && side.bytes > 0 {
        text.push_str(&format!(" of {}", plural(side.bytes, "byte")));
    }
    if let Some(value) = side.value.as_ref().map(value).filter(|value| !value.is_empty()) {
        text.push_str(&format!(" (value {value})"));
    }
    format!("{text} by {}", position(&side.thread))
}

/// The same of the earlier access of a race: "Previous write of …".
pub(super) fn earlier_side(earlier: &Side) -> String {
    let text = side(earlier);
    if !is_access(earlier.action) {
        return text;
    }
    let mut chars = text.chars();
    let first = chars.next().map(|char| char.to_ascii_lowercase()).into_iter();
    format!("Previous {}", first.chain(chars).collect::<String>())
}

/// The accesses in the order that reports show them: the one that completes the error, then the earlier ones.
pub(super) fn sides(finding: &Finding) -> impl Iterator<Item = (String, &Side)> {
    let describe = |(index, shown)| (if index == 0 { side(shown) } else { earlier_side(shown) }, shown);
    finding.sides.iter().rev().enumerate().map(describe)
}

fn is_access(action: Action) -> bool {
    use Action::{AtomicLoad, AtomicReadModifyWrite, AtomicStore, Read, Write};
    matches!(action, Read | Write | AtomicLoad | AtomicStore | AtomicReadModifyWrite)
}

fn position(thread: &Position) -> String {
    let [x, y, z] = thread.thread;
    let [group_x, group_y, group_z] = thread.threadgroup;
    format!(
        "thread ({x},{y},{z}) of threadgroup ({group_x},{group_y},{group_z}), SIMD-group {} lane {}",
        thread.simdgroup, thread.lane
    )
}

/// The value's bits, and the number that they most likely are; empty for one without bytes or too long.
fn value(value: &Value) -> String {
    let bytes = &value.0;
    match bytes.len() {
        0 => String::new(),
        1..=4 => scalar(bytes),
        length if length <= MAX_SHOWN_BYTES && length % 4 == 0 && length != 8 => {
            bytes.chunks(4).map(scalar).collect::<Vec<_>>().join(", ")
        }
        8 => format!("{} = {}", hex(bytes), little_endian(bytes)),
        length if length <= MAX_SHOWN_BYTES => hex(bytes),
        _ => String::new(),
    }
}

fn scalar(bytes: &[u8]) -> String {
    let bits = little_endian(bytes);
    if let &[a, b, c, d] = bytes {
        let float = f32::from_le_bytes([a, b, c, d]);
        if (1e-9..1e12).contains(&float.abs()) {
            return format!("{} = {float:?} as float", hex(bytes));
        }
        let signed = i32::from_le_bytes([a, b, c, d]);
        // -1 and its neighbours are NaNs, too, but most likely are not meant so.
        return match bits {
            0 => "0".to_owned(),
            _ if float.is_nan() && signed.unsigned_abs() > 1 << 20 => {
                format!("{} = NaN as float", hex(bytes))
            }
            _ => format!("{} = {signed}", hex(bytes)),
        };
    }
    if bits == 0 { "0".to_owned() } else { format!("{} = {bits}", hex(bytes)) }
}

fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().rev().take(8).fold(0, |bits, &byte| bits << 8 | u64::from(byte))
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().rev().map(|byte| format!("{byte:02x}"));
    format!("0x{}", digits.collect::<String>())
}

/// "device buffer `out`, labelled "sums", 4,000 bytes; accessed at byte 4,096 (element 1,024 of 1,000)"
pub(super) fn memory(finding: &Finding) -> Option<String> {
    let memory = finding.memory.as_ref()?;
    let (space, noun) = match memory.space {
        MemorySpace::Device => ("device", "buffer"),
        MemorySpace::Constant => ("constant", "buffer"),
        MemorySpace::Threadgroup => ("threadgroup", "variable"),
        MemorySpace::Thread => ("thread", "variable"),
    };
    let mut text = if memory.name.is_empty() {
        format!("{space} memory")
    } else {
        format!("{space} {noun} `{}`", memory.name)
    };
    if let Some(label) = &memory.label {
        text.push_str(&format!(", labelled \"{label}\""));
    }
    text.push_str(&format!(", {}", plural(memory.bytes, "byte")));
    let offsets = finding.sides.last().filter(|side| side.bytes > 0);
    if let Some(side) = offsets {
        text.push_str(&format!("; accessed at {}", offset(memory, side.offset)));
    }
    Some(text)
}

fn offset(memory: &AccessedMemory, offset: i64) -> String {
    let size = i64::try_from(memory.element_bytes).unwrap_or(i64::MAX).max(1);
    let sign = if offset < 0 { "-" } else { "" };
    let byte = format!("byte {sign}{}", grouped(offset.unsigned_abs()));
    if size == 1 {
        return byte;
    }
    let index = offset.div_euclid(size);
    let sign = if index < 0 { "-" } else { "" };
    let count = memory.bytes / size.unsigned_abs();
    let within = match offset.rem_euclid(size) {
        0 => String::new(),
        rest => format!(" + {}", plural(rest.unsigned_abs(), "byte")),
    };
    format!("{byte} (element {sign}{}{within} of {})", grouped(index.unsigned_abs()), grouped(count))
}

/// How often besides the first: "and 1,022 more between the same lines".
pub(super) fn repeats(finding: &Finding) -> Option<String> {
    let more = finding.count.saturating_sub(1);
    let place = if finding.sides.len() > 1 { "between the same lines" } else { "on the same line" };
    (more > 0).then(|| format!("and {} more {place}", grouped(more)))
}

/// The kernel and the launch: "`reduce`, launch 2, schedule seed 17".
pub(super) fn kernel(finding: &Finding) -> String {
    let seed = finding.seed.map(|seed| format!(", schedule seed {seed}")).unwrap_or_default();
    format!("`{}`, launch {}{seed}", finding.kernel, finding.launch)
}

/// `1 byte`, `1,024 bytes`
pub(super) fn plural(count: u64, noun: &str) -> String {
    format!("{} {noun}{}", grouped(count), if count == 1 { "" } else { "s" })
}

/// A number with commas between thousands.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{grouped, value};
    use crate::Value;

    #[test]
    fn numbers_have_commas() {
        let texts = [0, 999, 1000, 1_234_567].map(grouped);
        assert_eq!(texts, ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn values_are_shown_as_what_they_most_likely_are() {
        let of = |bytes: &[u8]| value(&Value(bytes.to_vec()));
        assert_eq!(of(&1.0f32.to_le_bytes()), "0x3f800000 = 1.0 as float");
        assert_eq!(of(&17u32.to_le_bytes()), "0x00000011 = 17");
        assert_eq!(of(&(-1i32).to_le_bytes()), "0xffffffff = -1");
        assert_eq!(of(&f32::NAN.to_le_bytes()), "0x7fc00000 = NaN as float");
        assert_eq!(of(&0u32.to_le_bytes()), "0");
        assert_eq!(of(&[200]), "0xc8 = 200");
        assert_eq!(of(&5u64.to_le_bytes()), "0x0000000000000005 = 5");
        assert_eq!(
            of(&[1, 0, 0, 0, 0, 0, 128, 63, 0, 0, 0, 0]),
            "0x00000001 = 1, 0x3f800000 = 1.0 as float, 0"
        );
        assert_eq!(of(&[0; 64]), "");
        assert_eq!(of(&[]), "");
    }
}
