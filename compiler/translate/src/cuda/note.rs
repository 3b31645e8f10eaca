//! What the host code says of its launches, for `anymetal trace`.

use super::amount::{Amount, Evaluator};
use super::items::{Function, Items};
use super::launches::Found;
use crate::token::Text;

/// A launch that the host code has.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The kernel's name, with template arguments if it has any.
    pub kernel: String,
    /// The line in the source, from 1, and its file.
    pub line: u32,
    /// The file.
    pub file: String,
    /// Threadgroups of the grid, and threads of a threadgroup, by dimension.
    pub groups: Vec<Amount>,
    /// Threads of a threadgroup, by dimension.
    pub group: Vec<Amount>,
    /// Bytes of dynamic threadgroup memory.
    pub shared: Option<Amount>,
    /// The stream, if one is named.
    pub stream: Option<String>,
    /// Its arguments.
    pub arguments: Vec<Argument>,
}

/// An argument of a launch.
#[derive(Debug, Clone, PartialEq)]
pub enum Argument {
    /// A buffer: the host's expression for it, and the type of its elements as `anymetal run` has it.
    Buffer(String, &'static str),
    /// A number, and its type.
    Value(Amount, &'static str),
}

/// The notes of all launches.
pub(super) fn notes(
    text: &Text<'_>,
    items: &Items,
    launches: &[Found],
    arguments_of: impl Fn(&Found) -> Option<String>,
    place: impl Fn(usize) -> (String, u32),
) -> Vec<Launch> {
    let evaluator = Evaluator { text, items };
    let note = |launch: &Found| {
        let name = text.at(launch.name);
        let is_it = |function: &&Function| function.name == name && function.is_kernel;
        let kernel = items.functions.iter().find(is_it)?;
        let (file, line) = place(launch.name);
        let given = arguments_of(launch).map(|arguments| format!("{name}<{arguments}>"));
        let config = |number: usize| launch.config.get(number).copied();
        let argument =
            |(number, &part): (usize, &(usize, usize))| argument(text, &evaluator, kernel, number, part);
        Some(Launch {
            kernel: given.unwrap_or_else(|| name.to_owned()),
            line,
            file,
            groups: evaluator.extent(config(0)?),
            group: evaluator.extent(config(1)?),
            shared: config(2).map(|part| evaluator.amount(part)),
            stream: config(3).map(|(first, last)| text.between(first, last).to_owned()),
            arguments: launch.args.iter().enumerate().map(argument).collect(),
        })
    };
    launches.iter().filter_map(note).collect()
}

fn argument(
    text: &Text<'_>,
    evaluator: &Evaluator<'_, '_>,
    kernel: &Function,
    number: usize,
    part: (usize, usize),
) -> Argument {
    let declarator = kernel.params.get(number).and_then(|param| param.declarator.as_ref());
    let ty = declarator.map_or("", |one| element(text, one.ty));
    match declarator {
        Some(one) if !one.stars.is_empty() || one.arrays > 0 => {
            Argument::Buffer(text.between(part.0, part.1).to_owned(), ty)
        }
        _ => Argument::Value(evaluator.amount(part), ty),
    }
}

/// The type of elements as `anymetal run` has it.
fn element(text: &Text<'_>, (first, last): (usize, usize)) -> &'static str {
    let says = |word: &str| (first..=last).any(|token| text.at(token) == word);
    let is_unsigned = says("unsigned") || says("uint") || says("uint32_t") || says("size_t");
    match () {
        () if says("char") || says("uint8_t") => {
            if is_unsigned {
                "u8"
            } else {
                "i8"
            }
        }
        () if says("short") => {
            if is_unsigned {
                "u16"
            } else {
                "i16"
            }
        }
        () if says("long") || says("size_t") => {
            if is_unsigned {
                "u64"
            } else {
                "i64"
            }
        }
        () if is_unsigned => "u32",
        () if says("int") => "i32",
        () if says("half") || says("__half") => "f16",
        () if says("bool") => "bool",
        () => "f32",
    }
}

/// The launches as a workload for `anymetal trace` of the translated file `source`. What only the host knows
/// is in angle brackets, for the reader to fill in.
pub fn launches_toml(launches: &[Launch], source: &str) -> String {
    let mut out = String::from(
        "# Launches that the host code has. What it computes when it runs is in <angle brackets>.\n",
    );
    out.push_str(&format!("source = {}\n\n[buffers]\n", quoted(source)));
    let mut buffers = std::collections::BTreeMap::new();
    for launch in launches {
        for argument in &launch.arguments {
            if let Argument::Buffer(name, ty) = argument {
                buffers.entry(name.as_str()).or_insert(*ty);
            }
        }
    }
    for (name, ty) in buffers {
        out.push_str(&format!("{} = {}\n", quoted(name), quoted(&format!("zeros:{ty}:<count>"))));
    }
    let mut queues: Vec<&str> = launches.iter().map(queue).collect();
    queues.sort_unstable();
    queues.dedup();
    queues.iter().for_each(|name| out.push_str(&format!("\n[[queue]]\nname = {}\n", quoted(name))));
    for (number, launch) in launches.iter().enumerate() {
        out.push_str(&step(number, launch));
    }
    out
}

fn queue(launch: &Launch) -> &str {
    launch.stream.as_deref().filter(|stream| *stream != "0").unwrap_or("default")
}

fn step(number: usize, launch: &Launch) -> String {
    let arguments: Vec<String> = launch
        .arguments
        .iter()
        .map(|argument| match argument {
            Argument::Buffer(name, _) => quoted(name),
            Argument::Value(amount, ty) => quoted(&format!("{ty}:{}", value(amount, ty))),
        })
        .collect();
    let sizes = |amounts: &[Amount]| {
        let one = |amount: &Amount| match amount {
            Amount::Integer(value) => value.to_string(),
            Amount::Real(value) => (*value as i128).to_string(),
            Amount::Text(text) => quoted(&format!("<{text}>")),
        };
        format!("[{}]", amounts.iter().map(one).collect::<Vec<_>>().join(", "))
    };
    let mut out = format!("\n[[step]] # {}:{}\n", launch.file.replace(char::is_control, " "), launch.line);
    out.push_str(&format!("name = {}\n", quoted(&format!("{}-{}", launch.kernel, number + 1))));
    out.push_str(&format!("queue = {}\nkernel = {}\n", quoted(queue(launch)), quoted(&launch.kernel)));
    out.push_str(&format!("args = [{}]\n", arguments.join(", ")));
    out.push_str(&format!("groups = {}\ngroup = {}\n", sizes(&launch.groups), sizes(&launch.group)));
    match &launch.shared {
        None | Some(Amount::Integer(0)) => {}
        Some(bytes) => out.push_str(&format!("# threadgroup memory 0: {} bytes\n", value(bytes, "u64"))),
    }
    out
}

/// A value as `anymetal run` takes it for a type, converted to the type as C converts it.
fn value(amount: &Amount, ty: &str) -> String {
    let is_real = matches!(ty, "f32" | "f16");
    match amount {
        Amount::Integer(value) if ty == "bool" => u8::from(*value != 0).to_string(),
        Amount::Integer(value) => value.to_string(),
        Amount::Real(value) if ty == "bool" => u8::from(*value != 0.0).to_string(),
        Amount::Real(value) if is_real => format!("{value:?}"),
        Amount::Real(value) => (*value as i128).to_string(),
        Amount::Text(text) => format!("<{}>", text.replace(char::is_control, " ")),
    }
}

/// A string of TOML.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
