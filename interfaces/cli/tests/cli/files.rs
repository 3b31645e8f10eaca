//! Files in and out: `.npy`, `.bin`, and malformed ones.

use crate::support::{Bench, Ran, f32s, npy, source, split_npy};

fn saxpy(bench: &Bench, x: &str, more: &[&str]) -> Ran {
    let file = source("saxpy.metal");
    let x = format!("x={x}");
    let base = ["run", &file, "-k", "saxpy", "--threads", "12", "--arg", &x, "--arg", "a=f32:2"];
    bench.run(&[&base[..], more].concat())
}

#[test]
fn arrays_keep_their_shape_on_the_way_through() {
    let bench = Bench::new();
    bench.write("x.npy", npy("<f4", "(3, 4)", &f32s((0..12).map(|i| i as f32))));
    bench.write("y.npy", npy("<f4", "(3, 2, 2)", &f32s((0..12).map(|_| 1.0))));
    let more = ["--arg", "y=y.npy", "--save", "y=out.npy", "--save", "0=in.npy"];
    saxpy(&bench, "x.npy", &more).expect(0);
    let out = std::fs::read(bench.path("out.npy")).unwrap();
    let (header, data) = split_npy(&out);
    assert!(header.contains("'<f4'") && header.contains("'shape': (3, 2, 2)"), "{header}");
    assert_eq!(data, f32s((0..12).map(|i| 1.0 + 2.0 * i as f32)));
    // Saved files can be read again.
    saxpy(&bench, "out.npy", &["--arg", "y=in.npy"]).expect(0);
}

#[test]
fn big_endian_arrays_and_raw_bytes_are_read() {
    let bench = Bench::new();
    let big: Vec<u8> = (0..12).flat_map(|i| (i as f32).to_be_bytes()).collect();
    bench.write("x.npy", npy(">f4", "(12,)", &big));
    bench.write("y.bin", f32s((0..12).map(|_| 0.5)));
    let ran = saxpy(&bench, "x.npy", &["--arg", "y=y.bin", "--print", "y:3"]).expect(0);
    assert!(ran.stdout.contains("y (12 f32): 0.5 2.5 4.5 …"), "{}", ran.stdout);
}

#[test]
fn every_integer_type_goes_through() {
    let bench = Bench::new();
    for (name, descr, msl) in [
        ("i8", "|i1", "char"),
        ("u8", "|u1", "uchar"),
        ("i16", "<i2", "short"),
        ("u16", "<u2", "ushort"),
        ("i32", "<i4", "int"),
        ("u32", "<u4", "uint"),
        ("i64", "<i8", "long"),
        ("u64", "<u8", "ulong"),
        ("f16", "<f2", "half"),
    ] {
        bench.write(
            "copy.metal",
            format!(
                "kernel void copy(device const {msl}* in [[buffer(0)]], device {msl}* out [[buffer(1)]], \
                 uint i [[thread_position_in_grid]]) {{ out[i] = in[i]; }}"
            ),
        );
        let (input, output) = (format!("in=rand:{name}:40:7"), format!("out=zeros:{name}:40"));
        let arguments = [
            "run",
            "copy.metal",
            "-k",
            "copy",
            "--threads",
            "40",
            "--arg",
            &input,
            "--arg",
            &output,
            "--save",
            "in=in.npy",
            "--save",
            "out=out.npy",
        ];
        bench.run(&arguments).expect(0);
        let (before, after) =
            (std::fs::read(bench.path("in.npy")).unwrap(), std::fs::read(bench.path("out.npy")).unwrap());
        assert_eq!(before, after, "{name}");
        assert!(split_npy(&after).0.contains(descr), "{name}");
        bench.run(&[&arguments[..6], &["--arg", "in=in.npy", "--arg", &output]].concat()).expect(0);
    }
}

#[test]
fn pointers_to_bytes_take_any_type_and_references_their_own() {
    let bench = Bench::new();
    let text = "kernel void halve(device char* data [[buffer(0)]], constant char& by [[buffer(1)]],
                                  uint i [[thread_position_in_grid]]) { ((device float*)data)[i] /= by; }";
    bench.write("halve.metal", text);
    let halve = |by| {
        let arguments = ["--arg", "data=iota:f32:4", "--arg", by, "--print", "data:4"];
        bench.run(&[&["run", "halve.metal", "-k", "halve", "--threads", "4"][..], &arguments].concat())
    };
    let ran = halve("by=i8:2").expect(0);
    assert!(ran.stdout.contains("data (4 f32): 0 0.5 1 1.5"), "{}", ran.stdout);
    halve("by=f32:2").expect(1).says(&["argument 1 `by`", "f32 was given"]);
}

#[test]
fn invalid_files_are_reported_with_name_and_reason() {
    let bench = Bench::new();
    let good = npy("<f4", "(12,)", &f32s((0..12).map(|i| i as f32)));
    bench.write("double.npy", npy("<f8", "(12,)", &[0; 96]));
    bench.write("integers.npy", npy("<i4", "(12,)", &[0; 48]));
    bench.write("cut.npy", &good[..good.len() - 1]);
    bench.write("header.npy", &good[..40]);
    bench.write("empty.npy", b"");
    bench.write("rubbish.npy", (0..=255).collect::<Vec<u8>>());
    bench.write("huge.npy", npy("<f4", "(4611686018427387904, 4)", &[]));
    bench.write("large.npy", npy("<f4", "(1000000000000,)", &[]));
    for (name, reason) in [
        ("double.npy", "astype(np.float32)"),
        ("integers.npy", "i32 was given"),
        ("cut.npy", "cut off"),
        ("header.npy", "ends within its header"),
        ("empty.npy", "too short"),
        ("rubbish.npy", "magic"),
        ("huge.npy", "impossible"),
        ("large.npy", "cut off"),
        ("missing.npy", "No such file"),
        (".npy", "No such file"),
    ] {
        let ran = saxpy(&bench, name, &["--arg", "y=zeros:f32:12"]).expect(1);
        ran.says(&["argument 0 `x`", reason]);
    }
    let no_folder = ["--arg", "y=zeros:f32:12", "--save", "y=no/such/out.npy"];
    saxpy(&bench, "iota:f32:12", &no_folder).expect(1).says(&["no/such/out.npy"]);
}
