//! The instructions around the accesses, and what waits for what.

use std::collections::HashMap;

use super::*;
use crate::isa::{ArithClass, CtaSource, Turns};

/// For each memory instruction of a warp, the latest earlier one whose data it waits for, by number.
fn waits(source: &mut SyntheticSource) -> Vec<Option<usize>> {
    let executed = execute(source, 0, 0);
    // Which memory instruction a register's value waits for.
    let mut of_register: HashMap<u16, Option<usize>> = HashMap::new();
    // Instructions issue in order: what one has waited for, all that follow have, too.
    let mut waited = None;
    let mut found = Vec::new();
    for step in &executed {
        let inst = &source.kernel().insts[step.pc];
        let needs = inst.srcs.as_slice().iter().chain(inst.dsts.as_slice());
        let latest = needs.filter_map(|reg| of_register.get(reg).copied().flatten()).max();
        waited = waited.max(latest);
        let writes = if step.memory().is_some() {
            found.push(waited);
            Some(found.len() - 1)
        } else {
            None
        };
        for &reg in inst.dsts.as_slice() {
            of_register.insert(reg, writes);
        }
    }
    found
}

#[test]
fn an_access_waits_for_the_one_so_many_before_it() {
    for arithmetic in [0, 1, 5, 70] {
        for address_ops in [0, 1, 3] {
            for in_flight in [1, 2, 7] {
                let mut source = source(
                    1,
                    1,
                    &format!(
                        "phases: [(accesses: 20, in_flight: {in_flight}, arithmetic: {arithmetic}, \
                         address_ops: {address_ops}, mix: [(pattern: Random(), footprint: 4096), \
                         (pattern: Stream, footprint: 4096)])]"
                    ),
                );
                let want: Vec<Option<usize>> =
                    (0usize..20).map(|number| number.checked_sub(in_flight)).collect();
                assert_eq!(waits(&mut source), want, "{in_flight} {arithmetic} {address_ops}");
            }
        }
    }
}

#[test]
fn a_chase_waits_for_the_last_load_of_its_chain() {
    for in_flight in [1, 3] {
        let mut source = source(
            1,
            1,
            &format!(
                "phases: [(accesses: 12, in_flight: {in_flight}, mix: [(pattern: Chase(node: 64, \
                 order: Shuffled), footprint: 4096)])]"
            ),
        );
        let want: Vec<Option<usize>> =
            (0usize..12).map(|number| number.checked_sub(in_flight)).collect();
        assert_eq!(waits(&mut source), want);
        // A chase computes no address: loads and the exit.
        assert_eq!(execute(&mut source, 0, 0).len(), 13);
    }
}

#[test]
fn an_address_from_a_load_waits_for_it() {
    let mut source = source(
        1,
        1,
        "phases: [(accesses: 8, in_flight: 4, mix: [(pattern: Stream, footprint: 4096), \
         (pattern: Random(), footprint: 4096, address_from: 0)])]",
    );
    let want = [None, Some(0), Some(0), Some(2), Some(2), Some(4), Some(4), Some(6)];
    assert_eq!(waits(&mut source), want);
}

#[test]
fn every_access_has_its_instructions_and_nothing_else() {
    for (in_flight, accesses) in [(1, 10), (4, 10), (16, 10)] {
        let mut source = source(
            1,
            2,
            &format!(
                "repeats: 3, phases: [(accesses: {accesses}, in_flight: {in_flight}, arithmetic: 37, \
                 class: Sfu, address_ops: 2, barrier: true, mix: [(pattern: Stream, \
                 footprint: 65536, write_fraction: 0.3)])]"
            ),
        );
        let executed = execute(&mut source, 0, 1);
        let count = |op: Op| executed.iter().filter(|step| step.op == op).count();
        let passes = 3 * accesses;
        assert_eq!(count(Op::Arith(ArithClass::Sfu)), passes * 37);
        assert_eq!(count(Op::Arith(ArithClass::IntAdd)), passes * 2);
        assert_eq!(executed.iter().filter(|step| step.memory().is_some()).count(), passes);
        assert_eq!((count(Op::Barrier), count(Op::Exit)), (3, 1));
        assert_eq!(executed.len(), passes * 40 + 4);
        assert_eq!(executed.last().unwrap().op, Op::Exit);
    }
}

#[test]
fn dependent_arithmetic_is_a_chain_and_independent_is_none() {
    let chain = |dependent: bool| {
        let mut source = source(
            1,
            1,
            &format!(
                "phases: [(accesses: 1, arithmetic: 4, dependent: {dependent}, address_ops: 0, \
                 mix: [(pattern: Stream, footprint: 128)])]"
            ),
        );
        let executed = execute(&mut source, 0, 0);
        let insts: Vec<_> =
            executed[1..5].iter().map(|step| source.kernel().insts[step.pc].clone()).collect();
        insts.windows(2).all(|pair| pair[1].srcs.as_slice().contains(&pair[0].dsts.as_slice()[0]))
    };
    assert!(chain(true));
    assert!(!chain(false));
}

#[test]
fn stores_and_atomics_come_as_often_as_they_should_evenly_spread() {
    use AccessKind::{Atomic, Load, Store};
    let mut quarter = one(1, 1, 8, "pattern: Stream, footprint: 4096, write_fraction: 0.25");
    assert_eq!(kinds(&mut quarter, 0, 0), [Load, Load, Store, Load, Load, Load, Store, Load]);
    let access = "pattern: Stream, footprint: 4096, write_fraction: 0.3, atomic_fraction: 0.2";
    let kinds = kinds(&mut one(1, 1, 1000, access), 0, 0);
    let count = |kind| kinds.iter().filter(|&&k| k == kind).count();
    assert_eq!((count(Load), count(Store), count(Atomic(Turns::Lanes))), (500, 300, 200));
}

#[test]
fn a_store_takes_the_last_result_and_returns_nothing() {
    let mut source = source(
        1,
        1,
        "phases: [(accesses: 2, arithmetic: 3, mix: [(pattern: Stream, footprint: 4096), \
         (pattern: Stream, footprint: 4096, write_fraction: 1)])]",
    );
    let executed = execute(&mut source, 0, 0);
    let insts = source.kernel().insts.clone();
    let store = executed.iter().rfind(|step| step.memory().is_some()).unwrap();
    let last = executed
        .iter()
        .take_while(|step| step.pc != store.pc)
        .filter(|step| step.op == Op::Arith(ArithClass::FpFma))
        .last();
    let result = insts[last.unwrap().pc].dsts.as_slice()[0];
    assert!(insts[store.pc].srcs.as_slice().contains(&result));
    assert!(insts[store.pc].dsts.as_slice().is_empty());
}

#[test]
fn the_table_does_not_grow_with_the_length_of_a_phase() {
    let table = |accesses: u32| {
        source(
            1,
            1,
            &format!(
                "phases: [(accesses: {accesses}, in_flight: 8, arithmetic: 60000, mix: [(weight: 3, \
                 pattern: Stream, footprint: 4096, write_fraction: 0.3), (pattern: Chase(node: 8, \
                 order: Shuffled), footprint: 4096)])]"
            ),
        )
        .kernel()
        .insts
        .len()
    };
    assert_eq!(table(10_000), table(20_000));
    assert!(table(20_000) < 1000);
}
