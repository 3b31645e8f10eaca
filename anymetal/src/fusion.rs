//! Fusing the kernels of graphs.
//!
//! Owns [`PipelineFuser`], which kernel nodes bring along so that plans may put one launch in the place of
//! several. Invariant: a fuser speaks for its own pipeline only; of others it needs their fusers.

use std::any::Any;
use std::sync::Arc;

use anymetal_core::graph::fuse::{Fused, Fuser, Launch};
use anymetal_hal::stage_input::region_argument;

use crate::compile::{self, FusionInput};
use crate::device::Device;
use crate::pipeline::Pipeline;

/// Threadgroups of a launch for each compute unit that keep a device busy to its end, or nearly.
const THREADGROUPS_PER_UNIT: u64 = 4;

/// Knows how to fuse a pipeline's kernel with others.
#[derive(Debug)]
pub(crate) struct PipelineFuser {
    pipeline: Pipeline,
}

impl PipelineFuser {
    /// `None` for ready code, of which nothing can be shown.
    pub(crate) fn of(pipeline: &Pipeline) -> Option<Arc<dyn Fuser>> {
        // A region that is not bound is given when the work is handed over, by its argument's index.
        let can =
            pipeline.specialiser().compiled.can_specialise() && region_argument(pipeline.kernel()).is_none();
        can.then(|| Arc::new(PipelineFuser { pipeline: pipeline.clone() }) as Arc<dyn Fuser>)
    }

    fn device(&self) -> &Device {
        &self.pipeline.specialiser().device
    }

    /// The launches as the compiler takes them; `None` if one is of something else.
    fn inputs<'l>(&self, launches: &'l [Launch<'_>]) -> Option<Vec<FusionInput<'l>>> {
        let input = |launch: &'l Launch<'_>| {
            let fuser = launch.fuser.as_any().downcast_ref::<PipelineFuser>()?;
            let specialiser = fuser.pipeline.specialiser();
            let is_here = Arc::ptr_eq(self.device().hal(), specialiser.device.hal());
            is_here.then_some(FusionInput {
                compiled: &specialiser.compiled,
                constants: &specialiser.constants,
                kernel: fuser.pipeline.kernel(),
                places: &launch.places,
                bytes: &launch.bytes,
                threads: launch.threads,
                group_size: launch.group_size,
            })
        };
        launches.iter().map(input).collect()
    }
}

impl Fuser for PipelineFuser {
    fn refusal(&self, launches: &[Launch<'_>]) -> Option<String> {
        match self.inputs(launches) {
            Some(inputs) => compile::fusion_refusal(&inputs),
            None => Some("they are of different kinds or devices".to_owned()),
        }
    }

    fn fuse(&self, launches: &[Launch<'_>]) -> Result<Fused, String> {
        let inputs = self.inputs(launches).ok_or("they are of different kinds or devices")?;
        let (artifact, name, arguments) = compile::fused(&inputs)?;
        let pipeline = self.device().pipeline_of(&artifact, &name).map_err(|error| error.to_string())?;
        Ok(Fused::new(pipeline, arguments))
    }

    fn fills_device(&self, threadgroups: u64) -> bool {
        threadgroups >= THREADGROUPS_PER_UNIT * u64::from(self.device().capabilities().compute_units)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
