//! What a variable that is declared holds, and where it lies.

use super::*;

/// The first words of 32 bits of a variable in global memory, as a kernel reads them; `module` declares it.
fn words_of(module: &str, name: &str, count: usize) -> Vec<u32> {
    let read = |at| format!("ld.global.u32 %r2, [{name}+{at}]; st.global.u32 [%a1+{at}], %r2;\n");
    let body: String = (0..count).map(|word| read(4 * word)).collect();
    let text = kernel(&format!("{body}ret;")).replace(".visible", &format!("{module}\n.visible"));
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 4 * count as u64);
    let launch = one_cta(text, 1, &[buffer; 2]);
    let module = Module::parse(&launch.ptx).unwrap();
    drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
    let words = memory.of(buffer).as_chunks::<4>().0.iter();
    words.map(|word| u32::from_le_bytes(*word)).collect()
}

fn refusal(text: &str) -> String {
    Module::parse(&source(text)).unwrap_err().to_string()
}

#[test]
fn a_list_with_fewer_values_than_elements_ends_with_zeros() {
    let words = |declaration, count| words_of(declaration, "a", count);
    assert_eq!(words(".global .u32 a[2][3] = {{1}, {2}};", 6), [1, 0, 0, 2, 0, 0]);
    assert_eq!(
        words(".global .u32 a[2][2][2] = {{{1}, {2, 3}}, {{4}}};", 8),
        [1, 0, 2, 3, 4, 0, 0, 0]
    );
    assert_eq!(words(".global .u32 a[2][2] = {{}, {2}};", 4), [0, 0, 2, 0]);
    let [one, two] = [1f32, 2.0].map(f32::to_bits);
    let vectors = ".global .v4 .f32 a[2] = {{1.0}, {2.0}};";
    assert_eq!(words(vectors, 8), [one, 0, 0, 0, two, 0, 0, 0]);
    // Inner braces may be left out.
    assert_eq!(words(".global .u32 a[2][3] = {1, 2, 3, 4};", 6), [1, 2, 3, 4, 0, 0]);
    assert_eq!(words(".global .u32 a = {7};", 1), [7]);
}

#[test]
fn a_list_with_more_values_than_elements_is_told_with_its_place() {
    let more = |column| format!("t.ptx:1:{column}: more initial values than there are elements");
    assert_eq!(refusal(".global .u32 a[2][3] = {{1}, {2, 3, 4, 5}};"), more(40));
    assert_eq!(refusal(".global .u32 a[2] = {1, 2, 3};"), more(28));
    assert_eq!(refusal(".global .u32 a[1][2] = {{1}, {2}};"), more(30));
    assert_eq!(refusal(".global .v2 .u32 a[] = {{1, 2, 3}};"), more(32));
    assert_eq!(
        refusal(".global .u32 a[2][2] = {1, {2}};"),
        "t.ptx:1:28: this list begins amid another one"
    );
    let far = ".global .u8 a[2][1000000000] = {{1}, {2}};";
    assert_eq!(refusal(far), "t.ptx:1:39: this initial value lies behind 268435456 bytes");
}

#[test]
fn an_array_without_a_size_has_that_of_its_initial_value() {
    let size = |declaration: &str| {
        let module = Module::parse(&source(declaration)).unwrap();
        module.variables().next().unwrap().bytes
    };
    assert_eq!(size(".global .u32 a[][2] = {{1}, {2}};"), Some(16));
    assert_eq!(size(".global .u32 a[][2] = {1, 2, 3};"), Some(16));
    assert_eq!(size(".global .v2 .f32 a[] = {{1.0, 2.0}, {3.0, 4.0}};"), Some(16));
    assert_eq!(size(".global .u16 a[] = {1, 2, 3};"), Some(6));
    assert_eq!(size(".extern .shared .v4 .f32 a[];"), None);
    assert_eq!(
        refusal(".global .u32 a[2][];"),
        "t.ptx:1:19: expected a number of elements, found `]`"
    );
}

#[test]
fn all_variables_of_a_declaration_hold_vectors() {
    let body = ".shared .v4 .f32 a[2], b[2], c; mov.u32 %r1, b; mov.u32 %r2, c;
        st.global.v2.u32 [%a1], {%r1, %r2}; ret;";
    let (_, values) = run(body, 1, &[]).unwrap();
    assert_eq!(values, [64 << 32 | 32]);
}

#[test]
fn a_module_may_stand_on_one_line() {
    let body = ".loc 1 2 3 mov.u32 %r1, 5; .loc 1 4 3, function_name $L__info_string0+16, inlined_at 1 7 8
        add.u32 %r1, %r1, 1; .file 2 \"b.h\" .loc 2 1 1, function_name .debug_str, inlined_at 1 2 3 add.u32 %r1, %r1, 10;
        st.global.u32 [%a1], %r1; ret;";
    assert_eq!(run(body, 1, &[]).unwrap().1, [16]);
    let text = kernel(body)
        .replace("sm_75", "sm_75, debug .file 1 \"a.cu\", 1700000000, 512")
        .replace('\n', " ");
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 8);
    let launch = one_cta(text, 1, &[buffer; 2]);
    let module = Module::parse(&launch.ptx).unwrap();
    drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
    assert_eq!(memory.of(buffer)[..4], [16, 0, 0, 0]);
    assert_eq!(refusal(".version x"), "t.ptx:1:10: expected a version such as `8.0`, found `x`");
    assert_eq!(
        refusal(".target sm_75,"),
        "t.ptx:1:15: expected a target such as `sm_75`, found the end of the file"
    );
    assert_eq!(refusal(".file 1 2"), "t.ptx:1:9: expected a file, found `2`");
    assert_eq!(
        refusal(".loc 1 2 3, x"),
        "t.ptx:1:13: expected `function_name` or `inlined_at`, found `x`"
    );
}

#[test]
fn a_variable_that_is_declared_and_not_defined_is_refused_where_it_is_named() {
    let told = |declaration: &str, body: &str| {
        let text =
            kernel(&format!("{body} ret;")).replace(".visible", &format!("{declaration} .visible"));
        Module::parse(&source(text)).unwrap().parameters("k").map_err(|error| error.to_string())
    };
    let refused = |place: &str| {
        Err(format!(
            "t.ptx:{place}: `y` is declared and not defined in this module (hint: compile the whole program into one module, without -rdc)"
        ))
    };
    let load = "ld.global.u32 %r1, [y];";
    assert_eq!(told(".extern .global .u32 y;", load), refused("9:20"));
    assert_eq!(told(".extern .global .u32 y[];", load), refused("9:20"));
    assert_eq!(told("", &format!(".extern .global .u32 y; {load}")), refused("9:44"));
    assert_eq!(told(".extern .const .u32 y;", "ld.const.u32 %r1, [y];"), refused("9:19"));
    assert_eq!(told(".extern .global .u32 y;", "mov.u64 %a3, y;"), refused("9:14"));
    let table = ".extern .global .u32 y; .global .u64 t = y;";
    assert_eq!(told(table, "ld.global.u64 %a3, [t];"), refused("4:42"));
    // What nothing names may be missing.
    assert_eq!(told(".extern .global .u32 y;", ""), Ok(2));
}

#[test]
fn a_variable_that_is_declared_before_or_behind_its_definition_has_its_value() {
    let both =
        [".extern .global .u32 a[];", ".global .u32 other; .visible .global .u32 a[2] = {5, 6};"];
    for module in [both.join(" "), [both[1], both[0]].concat()] {
        assert_eq!(words_of(&module, "a", 2), [5, 6]);
        let mut module = Module::parse(&source(module)).unwrap();
        let listed: Vec<_> =
            module.variables().map(|variable| (variable.name, variable.bytes)).collect();
        assert_eq!(listed, [("other", Some(4)), ("a", Some(8))]);
        module.fill_variable("a", vec![7; 8]);
        assert_eq!(module.ast.definition("a").unwrap().init.bytes, [7; 8]);
    }
}

#[test]
fn variables_of_two_blocks_with_one_name_and_size_are_two() {
    let body = "{ .global .u32 v = 1; ld.global.u32 %r1, [v]; add.u32 %r1, %r1, 10; st.global.u32 [v], %r1; }
        { .global .u32 v = 2; ld.global.u32 %r2, [v]; st.global.v2.u32 [%a1], {%r1, %r2}; } ret;";
    let mut memory = DeviceMemory::default();
    let buffer = memory.allocate("b", 8);
    let launch = one_cta(kernel(body), 1, &[buffer; 2]);
    let module = Module::parse(&launch.ptx).unwrap();
    // The next launch finds both again.
    for first in [11, 21] {
        drain(&mut module.launch(&launch, &mut memory).unwrap()).unwrap();
        assert_eq!(memory.of(buffer), [first, 0, 0, 0, 2, 0, 0, 0]);
    }
    let names: Vec<&str> = memory.buffers().iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["b", "t.ptx:9:16: v", "t.ptx:10:24: v"]);
}

#[test]
fn the_name_of_a_family_of_registers_may_end_in_digits() {
    let body = ".reg .u32 a1<3>, a<2>, b<11>, c00<1>; mov.u32 a12, 7; mov.u32 a1, 8; mov.u32 a10, 1; mov.u32 b10, 5; mov.u32 c000, 3;
        add.u32 %r1, a12, a1; add.u32 %r1, %r1, a10; add.u32 %r1, %r1, b10; add.u32 %r1, %r1, c000; st.global.u32 [%a1], %r1; ret;";
    assert_eq!(run(body, 1, &[]).unwrap().1, [24]);
    for name in ["a13", "a2", "a012", "a1100000000000000000002", "b011"] {
        let text = format!(".reg .u32 a1<3>, a<2>, b<11>; mov.u32 {name}, 7; ret;");
        let error = run(&text, 1, &[]).unwrap_err().to_string();
        assert_eq!(error, format!("t.ptx:9:39: `{name}` is not declared as a register"));
    }
}
