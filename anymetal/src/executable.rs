//! Planned graphs, ready to run again and again.
//!
//! Owns [`Executable`], thin over the runtime's. Invariant: a refused argument changes nothing.

use anymetal_core::graph::node::NodeId;
use anymetal_core::graph::resource::ResourceId;
use anymetal_core::graph::{self as runtime, Plan, PlanOptions};
use anymetal_core::submission::argument::Argument;
use anymetal_hal::command::Grid;

use crate::buffer::BufferSlice;
use crate::error::Error;
use crate::graph::{Graph, ValueId};

/// A planned graph with its arguments, for [`crate::Queue::submit_graph`] and its like.
///
/// ```
/// # fn main() -> Result<(), anymetal::Error> {
/// use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
/// use anymetal::Device;
///
/// let device = Device::system_default()?;
/// let source = "kernel void scale(device const float* x, device float* y, constant float& a,
///                                 uint i [[thread_position_in_grid]]) { y[i] = a * x[i]; }";
/// let scale = device.library_from_source(source)?.pipeline("scale")?;
/// let (x, y) = (device.buffer(&[1.0f32; 64])?, device.buffer(&[2.0f32; 64])?);
/// let z = device.acquire::<f32>(64)?;
///
/// let mut graph = GraphBuilder::new("scale");
/// let (input, factor) = (graph.parameter_of::<f32>("input", 64)?, graph.value("factor", 3)?);
/// graph.kernel("scale", scale.node().arg(input).arg(&z).arg(factor).threads(64).build()?)?;
/// let mut graph = Executable::new(&graph.build()?, PlanOptions::default())?;
///
/// let queue = device.queue()?;
/// graph.set_buffer(input, &x)?;
/// queue.submit_graph(&graph)?.wait()?;
/// assert_eq!(z.read()?, [3.0; 64]);
/// graph.set_buffer(input, &y)?;
/// graph.set_value(factor, 0.5)?;
/// assert!(graph.set_value(factor, true).is_err(), "no number");
/// queue.submit_graph(&graph)?.wait()?;
/// assert_eq!(z.read()?, [1.0; 64]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Executable {
    graph: Graph,
    inner: runtime::Executable,
}

impl Executable {
    /// Plans a graph and makes it ready to run once its parameters are set.
    pub fn new(graph: &Graph, options: PlanOptions) -> Result<Self, Error> {
        Ok(Executable { graph: graph.clone(), inner: runtime::Executable::new(graph.inner(), options)? })
    }

    /// The plan: what runs in which order, what is fused.
    pub fn plan(&self) -> &Plan {
        self.inner.plan()
    }

    /// The graph's name, which labels what it submits.
    pub fn label(&self) -> &str {
        self.graph.name()
    }

    /// Sets the buffer of a parameter: `graph.set_buffer(input, &x)`. Its length must be the parameter's.
    pub fn set_buffer(&mut self, parameter: ResourceId, buffer: impl Into<BufferSlice>) -> Result<(), Error> {
        Ok(self.inner.set_buffer(parameter, buffer.into())?)
    }

    /// Sets the buffers of several parameters at once, all or none: two that swap their buffers never share
    /// one.
    pub fn set_buffers<R: Into<BufferSlice>>(
        &mut self,
        arguments: impl IntoIterator<Item = (ResourceId, R)>,
    ) -> Result<(), Error> {
        let arguments = arguments.into_iter().map(|(parameter, buffer)| (parameter, buffer.into()));
        Ok(self.inner.set_buffers(arguments)?)
    }

    /// Sets a value, converted to what each kernel that takes it declares. If one cannot take it, it stays
    /// what it was for all.
    pub fn set_value(&mut self, value: ValueId, argument: impl Argument) -> Result<(), Error> {
        for (bytes, converted) in self.graph.convert(value, &argument)? {
            self.inner.set_bytes(bytes, &converted)?;
        }
        Ok(())
    }

    /// Sets the grid of a kernel node.
    pub fn set_grid(&mut self, node: NodeId, grid: Grid) -> Result<(), Error> {
        Ok(self.inner.set_grid(node, grid)?)
    }

    pub(crate) fn inner(&self) -> &runtime::Executable {
        &self.inner
    }
}
