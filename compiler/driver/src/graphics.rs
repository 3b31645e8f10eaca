//! Graphics functions of a library: they are checked and named, and do not run.

use anymetal_hal::artifact::StageInputInfo;
use anymetal_msl::ast::GraphicsStage as Declared;
use serde::{Deserialize, Serialize};

use crate::reflection::stage_input;

/// A function of a graphics pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GraphicsFunction {
    /// The name the host uses.
    pub name: String,
    /// The stage that it is for.
    pub stage: GraphicsStage,
    /// The members of a vertex function's per-vertex data (`[[stage_in]]`).
    pub stage_inputs: Vec<StageInputInfo>,
}

/// A stage of a graphics pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
#[allow(missing_docs, reason = "the names are the language's")]
pub enum GraphicsStage {
    Vertex,
    Fragment,
    Object,
    Mesh,
    Intersection,
}

impl GraphicsFunction {
    pub(crate) fn of(function: &anymetal_msl::GraphicsFunction) -> Self {
        let stage = match function.stage {
            Declared::Vertex => GraphicsStage::Vertex,
            Declared::Fragment => GraphicsStage::Fragment,
            Declared::Object => GraphicsStage::Object,
            Declared::Mesh => GraphicsStage::Mesh,
            Declared::Intersection => GraphicsStage::Intersection,
        };
        let stage_inputs = function.inputs.iter().map(stage_input).collect();
        GraphicsFunction { name: function.name.clone(), stage, stage_inputs }
    }
}
