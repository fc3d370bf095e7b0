//! Measures, when asked to: `cargo test --release --lib ptx::tests::speed -- --ignored --nocapture`.

use super::*;

fn measure(text: &str, entry: &str, grid: [u32; 3], block: [u32; 3], bytes: u64, number: i32) {
    let mut memory = DeviceMemory::default();
    let mut args: Vec<Arg> =
        ["a", "b", "c"].map(|name| Arg::Buffer(memory.allocate(name, bytes))).to_vec();
    args.push(Arg::I32(number));
    let ptx = source(text);
    let module = Module::parse(&ptx).unwrap();
    let parameters = module.parameters(entry).unwrap();
    args.drain(..args.len() - parameters);
    let launch = Launch { ptx, entry: entry.into(), grid, block, dynamic_shared: 1024, args };
    let best = (0..5)
        .map(|_| {
            let start = std::time::Instant::now();
            let executed = drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
            executed as f64 / start.elapsed().as_secs_f64() / 1e6
        })
        .fold(0.0, f64::max);
    println!("{entry}: {best:.1} million warp instructions a second");
}

#[test]
#[ignore = "measures time"]
fn warp_instructions_a_second() {
    let count = 1 << 21;
    let (stencil, compiled) = (include_str!("stencil_int.ptx"), include_str!("compiled.ptx"));
    let line = |text, entry| {
        measure(text, entry, [count / 256, 1, 1], [256, 1, 1], 16 * u64::from(count), count as i32);
    };
    line(stencil, "stencil1d_int");
    for entry in ["st_char", "st_float", "reduce", "histogram", "mathk", "heavy", "i64"] {
        line(compiled, entry);
    }
    let products = include_str!("products.ptx");
    for entry in ["product_int", "product_short", "product_char"] {
        measure(products, entry, [16, 16, 1], [16, 16, 1], 1 << 18, 256);
        measure(products, entry, [8, 32, 1], [32, 8, 1], 1 << 18, 256);
    }
    measure(compiled, "matmul", [16, 16, 1], [16, 16, 1], 1 << 18, 256);
}
