//! The CPU device: memory, pipelines, queues, a worker pool.
