//! Instructions whose result the PTX ISA leaves open.

use std::collections::BTreeSet;

/// The opcodes of a module for which a GPU may give another result than gsim.
///
/// Approximate floating-point instructions have an error bound and no exact result (PTX ISA, "Floating Point
/// Instructions": `.approx`, and `div.full`). Floating-point atomics round in the order in which threads come. An
/// atomic's old value depends on that order too, but only some kernels use it: those are not excused here.
pub fn opcodes(ptx: &str) -> BTreeSet<String> {
    let is_open = |opcode: &&str| {
        let mut parts = opcode.split('.');
        let name = parts.next().unwrap_or_default();
        let has = |part: &str| opcode.split('.').any(|one| one == part);
        let floats = ["f16", "f16x2", "bf16", "bf16x2", "f32", "f64"];
        has("approx")
            || (name == "div" && has("full"))
            || (matches!(name, "atom" | "red") && has("add") && floats.into_iter().any(has))
    };
    ptx.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .flat_map(|line| line.split([' ', '\t', ';']))
        .filter(is_open)
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_isa_leaves_open_is_listed() {
        let ptx = "
            // ex2.approx.f32 in a comment
            add.rn.f32 %f1, %f2, %f3; div.full.f32 %f1, %f2, %f3;
            @%p1 ex2.approx.ftz.f32 %f1, %f1;
            atom.global.add.f32 %f1, [%rd1], %f2;
            red.global.add.u32 [%rd1], 1;
            div.rn.f32 %f1, %f2, %f3;";
        let found: Vec<String> = opcodes(ptx).into_iter().collect();
        assert_eq!(found, ["atom.global.add.f32", "div.full.f32", "ex2.approx.ftz.f32"]);
    }
}
