//! Which element each thread gets: step functions and rates, indices, regions.

use crate::{library, modes};
use anymetal::stage_input::{
    AttributeFormat, BufferLayout, IndexType, StageInRegion, StageInputDescriptor, StepFunction,
};
use anymetal::{Buffer, CheckMode, Device, Error, Launch, Pipeline, PipelineDescriptor};

const SOURCE: &str = "struct In { uint value [[attribute(4)]]; };
    kernel void store(In in [[stage_in]], device uint* y [[buffer(0)]], uint2 at [[thread_position_in_grid]],
                      uint2 grid [[threads_per_grid]]) { y[at.y * grid.x + at.x] = in.value; }
    kernel void region(device uint* y, uint3 origin [[grid_origin]], ushort2 size [[grid_size]],
                       uint3 grid [[threads_per_grid]]) {
        y[0] = origin.x; y[1] = origin.y; y[2] = origin.z; y[3] = size.x; y[4] = size.y; y[5] = grid.x;
    }";

const GRID: (u32, u32) = (7, 5);

/// Element `n` is this, in a stride of eight bytes at an offset of four.
fn element(n: u32) -> u32 {
    1000 + 3 * n
}

struct Setup {
    elements: Buffer<u32>,
    y: Buffer<u32>,
}

impl Setup {
    fn new(device: &Device) -> Result<Self, Error> {
        let elements: Vec<u32> = (0..64).flat_map(|n| [0xdead, element(n)]).collect();
        let y = device.buffer(&[u32::MAX; (GRID.0 * GRID.1) as usize])?;
        Ok(Setup { elements: device.buffer(&elements)?, y })
    }

    fn launch<'a>(&self, queue: &'a anymetal::Queue, pipeline: &'a Pipeline) -> Launch<'a> {
        queue.launch(pipeline).arg_at(0, &self.y).arg_at(1, &self.elements).threads(GRID).group_size((4, 2))
    }
}

fn descriptor(layout: BufferLayout) -> StageInputDescriptor {
    StageInputDescriptor::new().attribute(4, AttributeFormat::UInt, 4, 1).layout(1, layout)
}

fn pipeline(mode: CheckMode, stage_input: StageInputDescriptor) -> Result<Pipeline, Error> {
    library(SOURCE, mode)?.pipeline(PipelineDescriptor::new("store").stage_input(stage_input))
}

/// What the grid has to store for each position.
fn grid(of: impl Fn(u32, u32) -> u32) -> Vec<u32> {
    (0..GRID.1).flat_map(|y| (0..GRID.0).map(move |x| (x, y))).map(|(x, y)| of(x, y)).collect()
}

#[test]
fn threads_step_along_their_axis_by_the_rate() -> Result<(), Error> {
    let device = Device::system_default()?;
    let queue = device.queue()?;
    for &mode in modes()? {
        for rate in [1, 3] {
            let cases: [(BufferLayout, fn(u32, u32) -> u32); 3] = [
                (BufferLayout::along_x(8), |x, _| x),
                (BufferLayout::along_y(8), |_, y| y),
                (BufferLayout::constant(8), |_, _| 0),
            ];
            for (layout, place) in cases {
                let store = pipeline(mode, descriptor(layout.rate(rate)))?;
                let setup = Setup::new(&device)?;
                setup.launch(&queue, &store).submit()?.wait()?;
                let wanted = grid(|x, y| element(place(x, y) / rate));
                assert_eq!(setup.y.read()?, wanted, "{layout:?} {rate} {mode:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn indices_name_the_elements() -> Result<(), Error> {
    let device = Device::system_default()?;
    let queue = device.queue()?;
    let indices = [40u32, 3, 9, 0, 17, 22, 5];
    let narrow = device.buffer(&indices.map(|index| index as u16))?;
    let wide = device.buffer(&indices)?;
    for (mode, rate) in modes()?.iter().flat_map(|&mode| [(mode, 1), (mode, 2)]) {
        for layout in [BufferLayout::along_x(8), BufferLayout::along_y(8)] {
            let is_x = layout.step == StepFunction::ThreadPositionInGridX;
            let described = descriptor(layout.indexed().rate(rate));
            let region = StageInRegion::new([10, 20, 30], [7, 4, 1]);
            let wanted = grid(|x, y| match (y < 4, is_x) {
                (false, _) => 0,
                (true, true) => element(indices[(x / rate) as usize] + 10),
                (true, false) => element(indices[(y / rate) as usize] + 20),
            });
            for ty in [IndexType::U16, IndexType::U32] {
                let store = pipeline(mode, described.clone().indices(2, ty))?;
                let setup = Setup::new(&device)?;
                let launch = setup.launch(&queue, &store).stage_in_region(region);
                let launch = match ty {
                    IndexType::U16 => launch.arg_at(2, &narrow),
                    IndexType::U32 => launch.arg_at(2, &wide),
                };
                launch.submit()?.wait()?;
                assert_eq!(setup.y.read()?, wanted, "{layout:?} {rate} {ty:?} {mode:?}");
            }
        }
    }
    Ok(())
}

/// The last thread's element is the buffer's last; those outside of the region would be beyond.
#[test]
fn threads_outside_of_the_region_get_zeros_and_read_nothing() -> Result<(), Error> {
    let device = Device::system_default()?;
    let queue = device.queue()?;
    for &mode in modes()?.iter().filter(|&&mode| mode != CheckMode::Off) {
        let store = pipeline(mode, descriptor(BufferLayout::along_x(8)))?;
        let setup = Setup::new(&device)?;
        let whole = StageInRegion::WHOLE;
        let region = StageInRegion::new([60, 0, 0], [4, whole, whole]);
        setup.launch(&queue, &store).stage_in_region(region).submit()?.wait()?;
        let wanted = grid(|x, _| if x < 4 { element(60 + x) } else { 0 });
        assert_eq!(setup.y.read()?, wanted, "{mode:?}");
    }
    Ok(())
}

#[test]
fn an_origin_may_lead_back() -> Result<(), Error> {
    let device = Device::system_default()?;
    let queue = device.queue()?;
    let indices = device.buffer(&[9u32, 8, 7, 6, 5, 4, 3])?;
    let described = descriptor(BufferLayout::along_x(8).indexed()).indices(2, IndexType::U32);
    let store = pipeline(CheckMode::Bounds, described)?;
    let setup = Setup::new(&device)?;
    let region = StageInRegion::new([-3i32 as u32, 0, 0], [7, 5, 1]);
    setup.launch(&queue, &store).arg_at(2, &indices).stage_in_region(region).submit()?.wait()?;
    assert_eq!(setup.y.read()?, grid(|x, _| element(9 - x - 3)));
    Ok(())
}

#[test]
fn a_region_may_be_written_by_work_before() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = library(SOURCE, CheckMode::Bounds)?;
    let descriptor = PipelineDescriptor::new("region").stage_input(StageInputDescriptor::new());
    let pipeline = library.pipeline(descriptor)?;
    let (y, region) = (device.buffer_zeroed::<u32>(6)?, device.buffer(&[9u32, 1, 2, 3, 4, 5, 6])?);
    let queue = device.queue()?;
    let view = region.view(1..7)?;
    queue.launch(&pipeline).arg(&y).stage_in_region_from(&view).threads(40).submit()?.wait()?;
    assert_eq!(y.read()?, [1, 2, 3, 4, 5, 40]);
    let mut commands = queue.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    encoder.set_pipeline(&pipeline);
    encoder.set_buffer(0, &y, 0)?;
    encoder.set_stage_in_region(StageInRegion::new([7, 8, 9], [10, 11, 12]));
    encoder.dispatch_threads(40, 32)?;
    encoder.end_encoding();
    commands.commit()?.wait()?;
    assert_eq!(y.read()?, [7, 8, 9, 10, 11, 40]);
    Ok(())
}

#[test]
fn without_a_region_it_is_the_grid() -> Result<(), Error> {
    let device = Device::system_default()?;
    let library = library(SOURCE, CheckMode::Bounds)?;
    let described = PipelineDescriptor::new("region").stage_input(StageInputDescriptor::new());
    let queue = device.queue()?;
    for pipeline in [library.pipeline("region")?, library.pipeline(described)?] {
        let y = device.buffer(&[u32::MAX; 6])?;
        queue.launch(&pipeline).arg(&y).threads((40, 3)).submit()?.wait()?;
        assert_eq!(y.read()?, [0, 0, 0, 40, 3, 40]);
    }
    Ok(())
}

#[test]
fn a_node_of_a_graph_has_its_region() -> Result<(), Error> {
    use anymetal::graph::{Executable, GraphBuilder, PlanOptions};
    let device = Device::system_default()?;
    let store = pipeline(CheckMode::Bounds, descriptor(BufferLayout::along_x(8)))?;
    let setup = Setup::new(&device)?;
    let node = store.node().arg(&setup.y).arg(&setup.elements).threads(GRID);
    let region = StageInRegion::new([11, 0, 0], [StageInRegion::WHOLE; 3]);
    let mut graph = GraphBuilder::new("stage-in");
    graph.kernel("store", node.stage_in_region(region).build()?)?;
    let graph = Executable::new(&graph.build()?, PlanOptions::default())?;
    device.queue()?.submit_graph(&graph)?.wait()?;
    assert_eq!(setup.y.read()?, grid(|x, _| element(11 + x)));
    Ok(())
}

#[test]
fn an_indirect_command_has_the_whole_grid() -> Result<(), Error> {
    use anymetal::command::IndirectCommandBufferDescriptor;
    let device = Device::system_default()?;
    let store = pipeline(CheckMode::Bounds, descriptor(BufferLayout::along_y(8)))?;
    let setup = Setup::new(&device)?;
    let indirect = device.indirect_command_buffer(&IndirectCommandBufferDescriptor::new(1, 2))?;
    let mut command = indirect.command(0)?;
    command.set_pipeline(&store)?.set_buffer(0, &setup.y, 0)?;
    command.set_buffer(1, &setup.elements, 0)?.dispatch_threads(GRID, (4, 2))?;
    let mut commands = device.queue()?.command_buffer()?;
    let mut encoder = commands.compute_encoder();
    encoder.use_buffer(&setup.y);
    encoder.use_buffer(&setup.elements);
    encoder.execute_commands(&indirect, 0..1)?;
    encoder.end_encoding();
    commands.commit()?.wait()?;
    assert_eq!(setup.y.read()?, grid(|_, y| element(y)));
    Ok(())
}
