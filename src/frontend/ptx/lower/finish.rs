//! The decoded program, put together from its bodies.

use super::super::ast::Entry;
use super::super::liveness;
use super::super::lowering::{self, Issued};
use super::super::program::{Block, Constant, NO_BLOCK, Program, TRUE};
use super::{Lowerer, calls, variables};
use crate::config::machine::InstructionSet;
use crate::error::Result;

impl Lowerer<'_> {
    pub(super) fn finish(mut self, entry: &Entry) -> Result<Program> {
        if self.names.overflow {
            return Err(self.error(entry.at, "the entry names more than 65,535 registers"));
        }
        let constants = self.names.constants();
        for constant in &constants {
            if let Constant::Frame { function, offset } = constant.value {
                self.functions[function as usize].frame_rows.push((constant.row, offset));
            }
        }
        let guarded: Vec<bool> =
            self.micros.iter().map(|micro| micro.guard != TRUE || micro.guard_flip != 0).collect();
        let (mut blocks, mut peaks): (Vec<Block>, Vec<u32>) = Default::default();
        let mut first = 0;
        for graph in &self.graphs {
            let count = graph.block_of.len();
            let (insts, guarded) = (&self.insts[first..][..count], &guarded[first..][..count]);
            peaks.push(liveness::registers(graph, insts, guarded, &self.names.weights));
            let moved = blocks.len() as u32;
            blocks.extend(graph.blocks.iter().map(|block| Block {
                start: block.start + first as u32,
                end: block.end + first as u32,
                reconverge: match block.reconverge {
                    NO_BLOCK => NO_BLOCK,
                    meet => meet + moved,
                },
            }));
            first += count;
        }
        let issued = self.issued(&blocks);
        let graph = self.call_graph();
        let frames: Vec<u64> = self.layout.frames.iter().map(|frame| frame.bytes).collect();
        let (recursive, local_bytes) = calls::stack_bytes(&graph, &frames);
        if local_bytes > variables::MAX_LOCAL {
            let message = format!("calls need {local_bytes} bytes of local memory a thread");
            return Err(self.error(entry.at, message));
        }
        Ok(Program {
            name: entry.name.clone(),
            issued,
            insts: self.insts,
            micros: self.micros,
            accesses: self.accesses,
            copies: self.copies,
            products: self.products,
            matrices: self.matrices,
            group_products: self.group_products,
            barriers: self.barriers,
            mbarriers: self.mbarriers,
            bulks: self.bulks,
            tables: self.tables,
            calls: self.calls,
            functions: self.functions,
            recursive,
            blocks,
            constants,
            narrow_rows: self.names.narrow_rows,
            wide_rows: self.names.wide_rows,
            pred_rows: self.names.pred_rows,
            registers_per_thread: calls::registers(&graph, &peaks),
            params: self.layout.params,
            shared_bytes: self.layout.shared_bytes,
            local_bytes: local_bytes as u32,
            consts: self.layout.consts,
            param_start: self.layout.param_start,
            globals: self.layout.globals,
            patches: self.layout.patches,
            max_threads: entry.max_threads,
            required_threads: entry.required_threads,
        })
    }

    /// What the machine sees of the blocks.
    fn issued(&mut self, blocks: &[Block]) -> Issued {
        if self.set == InstructionSet::Ptx {
            return Issued::text(&self.insts, blocks, self.names.weights.len() as u16);
        }
        let mut successors: Vec<Vec<u32>> = Vec::with_capacity(blocks.len());
        for graph in &self.graphs {
            let moved = successors.len() as u32;
            let next = |next: &Vec<u32>| next.iter().map(|next| next + moved).collect();
            successors.extend(graph.successors.iter().map(next));
        }
        let lines = std::mem::take(&mut self.lines);
        lowering::machine_code(lines, &self.insts, (blocks, &successors), &self.names.weights)
    }
}
