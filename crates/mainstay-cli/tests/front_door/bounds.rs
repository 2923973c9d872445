//! Small files that unpack to more than there is memory for, and programs that are told to end while they write.

use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;

use super::spreadsheet::workbook;
use super::*;

/// The program with so many bytes to read into.
fn with_memory(bytes: u64, args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mainstay"));
    command.env("MAINSTAY_MEMORY", bytes.to_string()).args(args);
    command.stdin(Stdio::null()).output().unwrap()
}

#[test]
fn a_small_file_that_unpacks_to_too_much_is_refused() {
    let folder = Folder::new();
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(b"x,y\n").unwrap();
    let block = "1.5,a\n2.5,b\n".repeat(100_000);
    for _ in 0..60 {
        packed.write_all(block.as_bytes()).unwrap();
    }
    let packed = packed.finish().unwrap();
    assert!(packed.len() < 1_000_000, "{} bytes", packed.len());
    let path = folder.write("bomb.csv.gz", packed);
    let args = ["fit", &path, "-t", "y"];
    fails(&with_memory(20_000_000, &args), &["bomb.csv.gz", "need more memory"]);
}

#[test]
fn a_sheet_with_two_far_cells_is_refused_and_not_unfolded() {
    let folder = Folder::new();
    let far = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row><row r=\"1048576\"><c r=\"XFD1048576\"><v>2</v></c></row>";
    let path = folder.write("far.xlsx", workbook(far));
    let asked = Instant::now();
    fails(&mainstay(&["fit", &path, "-t", "y"]), &["far.xlsx", "need more memory"]);
    assert!(asked.elapsed() < Duration::from_secs(20));
    let long =
        format!("<row><c t=\"inlineStr\"><is><t>{}</t></is></c></row>", "a".repeat(4_000_000));
    let path = folder.write("long.xlsx", workbook(&long));
    fails(&with_memory(10_000_000, &["fit", &path, "-t", "y"]), &["long.xlsx", "need more memory"]);
}

/// The temporary file is seen, then the program is told to end: nothing half-written stays, whatever it was doing.
#[cfg(unix)]
#[test]
fn a_program_told_to_end_while_it_writes_leaves_no_half_file() {
    let folder = Folder::new();
    let model = folder.text("model.json");
    let small = folder.write("small.csv", "x,y\n1,a\n2,b\n3,a\n4,b\n");
    out(&mainstay(&["fit", &small, "-t", "y", "-o", &model, "-q"]));
    let rows = folder.write("rows.csv", format!("x\n{}", "0.12345678901\n".repeat(600_000)));
    let target = folder.text("out.csv");
    let mut interrupted = 0;
    for _ in 0..5 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_mainstay"))
            .args(["predict", &model, &rows, "--scores", "--keep", "x", "-o", &target])
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let known = ["model.json", "out.csv", "rows.csv", "small.csv"];
        let begun = Instant::now();
        let writing = || folder.names().iter().any(|n| !known.contains(&n.as_str()));
        while !writing() && begun.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_micros(200));
        }
        let sent = Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
        let ended = child.wait().unwrap();
        assert!(!writing(), "{:?}", folder.names());
        match fs::read_to_string(&target) {
            // It had finished before the signal came: then the file is whole.
            Ok(text) => assert_eq!(text.lines().count(), 600_001),
            Err(_) => interrupted += usize::from(sent.success() && !ended.success()),
        }
        let _ = fs::remove_file(&target);
    }
    assert!(interrupted > 0, "no write was long enough to be interrupted");
}
