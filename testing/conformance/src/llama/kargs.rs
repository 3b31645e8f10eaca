//! Parameter structs, laid out as ggml's header declares them.

use super::tensor::Tensor;
use anymetal_harness::corpus;
use std::sync::OnceLock;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Bool,
    I16,
    I32,
    I64,
    F32,
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "bool" => Self::Bool,
            "int16_t" => Self::I16,
            "int32_t" | "int" => Self::I32,
            "int64_t" | "uint64_t" | "size_t" => Self::I64,
            "float" => Self::F32,
            _ => return None,
        })
    }

    fn size(self) -> usize {
        match self {
            Self::Bool => 1,
            Self::I16 => 2,
            Self::I32 | Self::F32 => 4,
            Self::I64 => 8,
        }
    }
}

#[derive(Clone, Debug)]
struct Field {
    name: String,
    offset: usize,
    kind: Kind,
}

/// A struct and its contents, zero at first.
#[derive(Clone, Debug)]
pub struct Kargs {
    name: &'static str,
    fields: Vec<Field>,
    bytes: Vec<u8>,
}

/// A number for a field.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// For an integer field.
    Integer(i64),
    /// For a field of type `float`.
    Float(f32),
}

impl From<usize> for Number {
    fn from(value: usize) -> Self {
        Self::Integer(value as i64)
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self::Integer(value)
    }
}

impl From<i32> for Number {
    fn from(value: i32) -> Self {
        Self::Integer(value.into())
    }
}

impl From<f32> for Number {
    fn from(value: f32) -> Self {
        Self::Float(value)
    }
}

impl From<bool> for Number {
    fn from(value: bool) -> Self {
        Self::Integer(value.into())
    }
}

fn header() -> &'static str {
    static HEADER: OnceLock<String> = OnceLock::new();
    HEADER.get_or_init(|| {
        let files = corpus::files("llama-cpp-sys-2").unwrap_or_else(|error| panic!("{error}"));
        let folders = files.iter().flat_map(|file| &file.include_dirs);
        let mut paths = folders.map(|folder| folder.join("ggml-metal-impl.h"));
        let text = paths.find_map(|path| std::fs::read_to_string(path).ok());
        text.unwrap_or_else(|| panic!("there is no ggml-metal-impl.h"))
    })
}

impl Kargs {
    /// The struct `ggml_metal_kargs_NAME`.
    ///
    /// # Panics
    /// If the header has no such struct, or one with fields of other types than numbers.
    pub fn new(name: &'static str) -> Self {
        let (fields, size) = layout(header(), name)
            .unwrap_or_else(|| panic!("ggml-metal-impl.h has no usable struct `{name}`"));
        Self { name, fields, bytes: vec![0; size] }
    }

    /// Sets a field; of an array's, `NAME[I]`.
    ///
    /// # Panics
    /// If there is none, or it is of another kind.
    #[must_use]
    pub fn set(mut self, field: &str, value: impl Into<Number>) -> Self {
        let found = self.try_set(field, value.into());
        assert!(found, "{} has no field `{field}`", self.name);
        self
    }

    fn try_set(&mut self, field: &str, value: Number) -> bool {
        let Some(field) = self.fields.iter().find(|known| known.name == field) else { return false };
        let size = field.kind.size();
        let bytes = match (field.kind, value) {
            (Kind::F32, Number::Float(value)) => u64::from(value.to_bits()).to_le_bytes(),
            (Kind::F32, Number::Integer(_)) | (_, Number::Float(_)) => {
                panic!("{}.{} is of another kind than {value:?}", self.name, field.name)
            }
            (_, Number::Integer(value)) => value.to_le_bytes(),
        };
        self.bytes[field.offset..field.offset + size].copy_from_slice(&bytes[..size]);
        true
    }

    /// Sets the extents and strides of a tensor, those that the struct has: `neS0`, …, `nbS3`, with `S` empty
    /// for the output.
    #[must_use]
    pub fn tensor(mut self, which: &str, tensor: &Tensor) -> Self {
        for dimension in 0..4 {
            self.try_set(&format!("ne{which}{dimension}"), tensor.ne[dimension].into());
            self.try_set(&format!("nb{which}{dimension}"), tensor.nb[dimension].into());
        }
        self
    }

    /// The bytes to bind.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The fields of a struct and its size.
fn layout(text: &str, name: &str) -> Option<(Vec<Field>, usize)> {
    let end = text.find(&format!("}} ggml_metal_kargs_{name};"))?;
    let start = text[..end].rfind("typedef struct")?;
    let body = &text[start + text[start..].find('{')? + 1..end];
    let (mut fields, mut offset, mut align) = (Vec::new(), 0usize, 1);
    for line in body.lines() {
        let line = line.split("//").next().unwrap_or("").trim();
        let Some(declaration) = line.strip_suffix(';') else { continue };
        let mut words = declaration.split_whitespace();
        let kind = Kind::named(words.next()?)?;
        let declared = words.next()?;
        let (field, count) = match declared.split_once('[') {
            Some((field, count)) => (field, Some(count.trim_end_matches(']').parse::<usize>().ok()?)),
            None => (declared, None),
        };
        align = align.max(kind.size());
        offset = offset.next_multiple_of(kind.size());
        for i in 0..count.unwrap_or(1) {
            let name = if count.is_some() { format!("{field}[{i}]") } else { field.to_owned() };
            fields.push(Field { name, offset, kind });
            offset += kind.size();
        }
    }
    Some((fields, offset.next_multiple_of(align)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structs_are_laid_out_as_in_c() {
        // As the host's compiler has them.
        for (name, size) in [("soft_max", 128), ("mul_mv", 112), ("mul_mm", 88)] {
            assert_eq!(Kargs::new(name).bytes().len(), size, "{name}");
        }
        let text = "typedef struct {\n    int16_t a; // one\n    float  b[2];\n    uint64_t c;\n} ggml_metal_kargs_x;";
        let (fields, size) = layout(text, "x").expect("it is well formed");
        let places: Vec<_> = fields.iter().map(|field| (field.name.as_str(), field.offset)).collect();
        assert_eq!(places, [("a", 0), ("b[0]", 4), ("b[1]", 8), ("c", 16)]);
        assert_eq!(size, 24);
    }
}
