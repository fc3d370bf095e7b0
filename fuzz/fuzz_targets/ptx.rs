//! Any text is parsed and, where that works, executed: `cargo +nightly fuzz run ptx`.
//!
//! A good corpus to start from are the `.ptx` files of the repository.
#![no_main]

use std::sync::Arc;

use gsim::config::machine::InstructionSet;
use gsim::frontend::ptx::Module;
use gsim::isa::{Cta, CtaSource};
use gsim::workload::{Arg, DeviceMemory, Launch, PtxSource};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let ptx = Arc::new(PtxSource { path: "fuzz.ptx".into(), text: text.to_owned() });
    let Ok(module) = Module::parse(&ptx) else { return };
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 4096);
    for entry in module.entries() {
        let mut args = vec![Arg::Buffer(buffer); 2];
        if module.parameters(entry).is_ok_and(|count| count == 3) {
            args.push(Arg::I32(64));
        }
        let launch = Launch {
            ptx: ptx.clone(),
            entry: entry.into(),
            grid: [2, 1, 1],
            block: [33, 1, 1],
            dynamic_shared: 16,
            args,
        };
        for set in [InstructionSet::Ptx, InstructionSet::Sass] {
            let Ok(mut running) = module.launch_for(&launch, &mut memory, set) else { continue };
            running.limit = 2000;
            let mut cta = Cta::default();
            while running.next(&mut cta).is_ok_and(|more| more) {}
        }
    }
});
