//! The types of texture arguments, from their spelling in MSL.

use super::{ChannelKind, PixelFormat, TextureKind};

/// What a kernel reads and writes, whatever the format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Component {
    /// `float` or `half`
    Float,
    /// `int` or `short`
    Signed,
    /// `uint` or `ushort`
    Unsigned,
}

/// The type of a texture argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TextureType {
    /// Its kind.
    pub kind: TextureKind,
    /// What its values are made of.
    pub component: Component,
    /// Whether it is one of the types for depth.
    pub is_depth: bool,
}

impl TextureType {
    /// The type that reflection spells so, such as `metal::texture2d<float, access::read>`.
    pub fn parse(spelling: &str) -> Option<TextureType> {
        let (name, rest) = spelling.split_once('<')?;
        let name = name.rsplit("::").next()?;
        let (is_depth, shape) = match name.strip_prefix("depth") {
            Some(shape) => (true, shape),
            None => (false, name.strip_prefix("texture")?),
        };
        let kind = match shape {
            "1d" => TextureKind::D1,
            "1d_array" => TextureKind::D1Array,
            "2d" => TextureKind::D2,
            "2d_array" => TextureKind::D2Array,
            "3d" => TextureKind::D3,
            "cube" => TextureKind::Cube,
            "cube_array" => TextureKind::CubeArray,
            "_buffer" => TextureKind::Buffer,
            _ => return None,
        };
        let component = match rest.split([',', '>']).next()?.trim() {
            "float" | "half" => Component::Float,
            "int" | "short" => Component::Signed,
            "uint" | "ushort" => Component::Unsigned,
            _ => return None,
        };
        Some(TextureType { kind, component, is_depth })
    }

    /// Whether a texture of that kind and format can be bound.
    pub fn takes(&self, kind: TextureKind, format: PixelFormat) -> bool {
        let component = match format.kind() {
            ChannelKind::Uint => Component::Unsigned,
            ChannelKind::Sint => Component::Signed,
            ChannelKind::Unorm | ChannelKind::Snorm | ChannelKind::Float | ChannelKind::SharedExponent => {
                Component::Float
            }
        };
        kind == self.kind && component == self.component && (!self.is_depth || format.is_depth())
    }
}
