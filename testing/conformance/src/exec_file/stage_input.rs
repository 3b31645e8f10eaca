//! The directives that say where stage-in data are.
//!
//! They become the values of the function constants that a pipeline's descriptor becomes, and the binding of
//! the region, which executors then treat as any others.

use crate::case::{Arg, Binding, Constant, Launch};
use anymetal_hal::artifact::{ElementType, KernelInfo, ScalarType, StageInputInfo};
use anymetal_hal::stage_input::{
    AttributeFormat, BufferLayout, IndexType, StageInRegion, StageInputDescriptor,
};
use anymetal_types::texture::BindingRole;

/// The directives of a launch so far.
#[derive(Clone, Debug, Default)]
pub(super) struct StageInput {
    descriptor: StageInputDescriptor,
    attributes: Vec<u32>,
    region: Option<StageInRegion>,
}

impl StageInput {
    /// Takes a directive; false: it is none of these.
    pub(super) fn apply(&mut self, key: &str, value: &str) -> Result<bool, String> {
        let (word, index) = key.split_once(' ').unwrap_or((key, ""));
        let words: Vec<&str> = value.split_whitespace().collect();
        let descriptor = std::mem::take(&mut self.descriptor);
        self.descriptor = match (word, &words[..]) {
            ("attribute", [format, offset, buffer]) => {
                let named = AttributeFormat::ALL.iter().find(|known| known.name() == *format);
                let format = named.ok_or_else(|| format!("unknown format `{format}`"))?;
                self.attributes.push(number(index)?);
                descriptor.attribute(number(index)?, *format, number(offset)?, number(buffer)?)
            }
            ("layout", [stride, step, rate @ ..]) => {
                let rate = rate.first().map_or(Ok(1), |rate| number(rate))?;
                descriptor.layout(number(index)?, layout(step, number(stride)?)?.rate(rate))
            }
            ("indices", ["u16"]) => descriptor.indices(number(index)?, IndexType::U16),
            ("indices", ["u32"]) => descriptor.indices(number(index)?, IndexType::U32),
            ("region", [origin, size]) => {
                let (origin, size) = (super::extent(origin)?, super::extent(size)?);
                self.region = Some(StageInRegion::new(origin, size));
                descriptor
            }
            _ => {
                self.descriptor = descriptor;
                return Ok(false);
            }
        };
        Ok(true)
    }

    /// Gives a launch what they say.
    pub(super) fn finish(self, launch: &mut Launch) -> Result<(), String> {
        if self.attributes.is_empty() && self.region.is_none() {
            return Ok(());
        }
        // Floats are made of any format.
        let element = ElementType::Scalar(ScalarType::F32);
        let input = |&attribute| StageInputInfo::new(attribute, String::new(), element.clone());
        let kernel = KernelInfo::new(launch.kernel.clone(), "")
            .stage_inputs(self.attributes.iter().map(input).collect())
            .thread_attributes(vec!["grid_size".to_owned()]);
        let constants = self.descriptor.constants(&kernel).map_err(|error| error.to_string())?;
        let values = constants.into_iter().map(|(index, value)| (index, Constant::Integer(value as i64)));
        launch.constants.extend(values);
        let bytes = self.region.unwrap_or_default().to_bytes().to_vec();
        if let Some(index) = BindingRole::StageInRegion.index() {
            launch.args.push(Arg { index, binding: Binding::Buffer { bytes, offset: 0 } });
        }
        Ok(())
    }
}

fn layout(step: &str, stride: u32) -> Result<BufferLayout, String> {
    Ok(match step {
        "x" => BufferLayout::along_x(stride),
        "y" => BufferLayout::along_y(stride),
        "x-indexed" => BufferLayout::along_x(stride).indexed(),
        "y-indexed" => BufferLayout::along_y(stride).indexed(),
        "constant" => BufferLayout::constant(stride),
        _ => return Err(format!("unknown step function `{step}`")),
    })
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is no number"))
}
