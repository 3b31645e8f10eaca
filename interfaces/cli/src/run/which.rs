//! `I`: which argument of a kernel, by index or by name.

use std::fmt;

use anymetal::reflection::{ArgumentInfo, ArgumentKind, KernelInfo};
use anymetal::texture::BindingRole;
use anymetal_driver::suggest;

use crate::failure::Failure;

/// Which argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Which {
    /// The one with that Metal index.
    Index(u32),
    /// The one with that name in the source.
    Name(String),
}

/// An argument and an optional number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sized {
    /// Which.
    pub(crate) which: Which,
    /// The number, if given.
    pub(crate) size: Option<u64>,
}

impl Which {
    /// Parses an index or a name.
    pub(crate) fn parse(text: &str) -> Result<Which, String> {
        if let Ok(index) = text.parse() {
            return Ok(Which::Index(index));
        }
        let valid = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || c == '_');
        if valid {
            Ok(Which::Name(text.to_owned()))
        } else {
            Err(format!("`{text}` is neither index nor name"))
        }
    }

    /// The kernel's enabled argument of that kind.
    pub(crate) fn find<'k>(
        &self,
        kernel: &'k KernelInfo,
        kind: ArgumentKind,
    ) -> Result<&'k ArgumentInfo, Failure> {
        let of_kind = || {
            kernel.arguments.iter().filter(|argument| {
                argument.enabled && argument.kind == kind && argument.role() == BindingRole::Buffer
            })
        };
        let found = of_kind().find(|argument| match self {
            Which::Index(index) => argument.index == *index,
            Which::Name(name) => argument.name == *name,
        });
        found.ok_or_else(|| {
            if let Some(failure) = self.other_use(kernel) {
                return failure;
            }
            let what = match kind {
                ArgumentKind::ThreadgroupMemory => "threadgroup memory argument",
                ArgumentKind::Buffer | ArgumentKind::Texture | ArgumentKind::Sampler => "buffer argument",
            };
            let existing: Vec<String> =
                of_kind().map(|argument| format!("{} `{}`", argument.index, argument.name)).collect();
            let existing = if existing.is_empty() { "none".to_owned() } else { existing.join(", ") };
            let suggestion = match self {
                Which::Name(name) => suggest(name, of_kind().map(|argument| argument.name.as_str())),
                Which::Index(_) => None,
            };
            let hint = suggestion.map(|name| format!(" (did you mean `{name}`?)")).unwrap_or_default();
            Failure::Input(format!("kernel `{}` has no {what} {self}{hint}; it has {existing}", kernel.name))
        })
    }

    /// What to say where the name is of an argument that something else is bound to.
    pub(super) fn other_use(&self, kernel: &KernelInfo) -> Option<Failure> {
        let Which::Name(name) = self else { return None };
        let argument = kernel.arguments.iter().find(|argument| argument.enabled && argument.name == *name)?;
        let what = match (argument.role(), argument.kind) {
            (BindingRole::Texels(_), _) => "a texture: give it picture.png or texture:FORMAT:WIDTHxHEIGHT",
            (BindingRole::Sampler(_), _) => "a sampler: give it sampler:WORD[,WORD…]",
            (_, ArgumentKind::ThreadgroupMemory) => {
                "threadgroup memory: give its length by --threadgroup-memory"
            }
            (BindingRole::Buffer, _) => "a buffer: give it values, as in zeros:f32:COUNT",
            _ => return None,
        };
        Some(Failure::Input(format!("kernel `{}`: `{name}` is {what}", kernel.name)))
    }
}

impl fmt::Display for Which {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Which::Index(index) => write!(formatter, "{index}"),
            Which::Name(name) => write!(formatter, "`{name}`"),
        }
    }
}

impl Sized {
    /// Parses `I=NUMBER`.
    pub(crate) fn parse_required(text: &str) -> Result<Sized, String> {
        let (which, size) = text.split_once('=').ok_or("write I=BYTES")?;
        let size = size.parse().map_err(|_| format!("`{size}` is no number of bytes"))?;
        Ok(Sized { which: Which::parse(which)?, size: Some(size) })
    }
}
