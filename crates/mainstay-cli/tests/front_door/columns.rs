//! Columns are read as their owner means them: nasty files, each with what it should give.

use super::spreadsheet::sheet;
use super::*;

/// A table of 24 rows from one function per column.
pub(crate) fn table(delimiter: &str, columns: &[(&str, &dyn Fn(usize) -> String)]) -> String {
    let mut text = columns.iter().map(|(n, _)| *n).collect::<Vec<_>>().join(delimiter) + "\n";
    for i in 0..24 {
        let cells: Vec<String> = columns.iter().map(|(_, cell)| cell(i)).collect();
        text += &(cells.join(delimiter) + "\n");
    }
    text
}

pub(crate) fn label(i: usize) -> String {
    ["no", "yes"][usize::from(i * 7 % 5 > 2)].to_owned()
}

pub(crate) fn measure(i: usize) -> String {
    format!("{}", (i * 7 % 5) as f64 + 0.25 * (i % 3) as f64)
}

/// A file, flags, and the features it gives or the parts of the one line that stops it.
type Nasty<'a> = (&'a str, Vec<u8>, &'a [&'a str], Result<&'a [&'a str], &'a [&'a str]>);

#[test]
fn nasty_files_give_the_expected_columns_or_one_line() {
    let plain = |more: &(&str, &dyn Fn(usize) -> String)| {
        table(",", &[("x", &measure), *more, ("y", &label)]).into_bytes()
    };
    let mostly = |odd: &'static str| {
        move |i: usize| if i == 16 { odd.to_owned() } else { format!("{}", 20 + i % 11) }
    };
    let dates = |form: fn(usize) -> String| plain(&("when", &form));
    let constant = |cell: &'static str| move |_: usize| cell.to_owned();
    let utf16: Vec<u8> = [0xff, 0xfe]
        .into_iter()
        .chain(
            table(",", &[("größe", &measure), ("y", &label)])
                .encode_utf16()
                .flat_map(u16::to_le_bytes),
        )
        .collect();
    let comma = table(";", &[("x", &|i| measure(i).replace('.', ",")), ("y", &label)]);
    let index = table(",", &[("", &|i| i.to_string()), ("x", &measure), ("y", &label)]);
    let cases: Vec<Nasty> = vec![
        (
            "bom.csv",
            ["\u{feff}".as_bytes(), table(",", &[("x", &measure), ("y", &label)]).as_bytes()]
                .concat(),
            &[],
            Ok(&["x"]),
        ),
        ("comma.csv", comma.into_bytes(), &[], Ok(&["x"])),
        ("spaces.csv", plain(&("age", &|i| format!(" {} ", 20 + i % 11))), &[], Ok(&["x", "age"])),
        ("dot.csv", plain(&("age", &mostly("."))), &["--impute", "mean"], Ok(&["x", "age"])),
        ("dash.csv", plain(&("age", &mostly("-"))), &["--impute", "mean"], Ok(&["x", "age"])),
        ("na.csv", plain(&("age", &mostly("n/a"))), &["--impute", "mean"], Ok(&["x", "age"])),
        ("none.csv", plain(&("age", &mostly("none"))), &["--impute", "mean"], Ok(&["x", "age"])),
        ("gap.csv", plain(&("age", &mostly("."))), &[], Err(&["row 17", "`age`", "impute"])),
        (
            "odd.csv",
            plain(&("age", &mostly("old"))),
            &[],
            Err(&["row 17", "`age`", "`old`", "--na", "--categorical age"]),
        ),
        (
            "code.csv",
            plain(&("age", &mostly("-99"))),
            &["--na", "-99", "--impute", "drop"],
            Ok(&["x", "age"]),
        ),
        (
            "unit.csv",
            plain(&("age", &|i| format!("{} kg", 20 + i))),
            &[],
            Err(&["row 1", "`20 kg`", "unit"]),
        ),
        (
            "percent.csv",
            plain(&("age", &|i| format!("{}%", 20 + i))),
            &[],
            Err(&["`20%`", "percent"]),
        ),
        (
            "thousand.csv",
            plain(&("age", &|i| format!("\"1,{:03}\"", 20 + i))),
            &[],
            Err(&["`1,020`", "thousands"]),
        ),
        ("index.csv", index.clone().into_bytes(), &[], Ok(&["x"])),
        ("index2.csv", index.into_bytes(), &["--keep-feature", "column1"], Ok(&["column1", "x"])),
        ("ids.csv", plain(&("id", &|i| format!("P{}", 900 - i))), &[], Ok(&["x"])),
        ("numbers.csv", plain(&("id", &|i| format!("{}", 7000 + i * i))), &[], Ok(&["x"])),
        ("iso.csv", dates(|i| format!("2024-02-{:02}", 1 + i % 20)), &[], Ok(&["x", "when"])),
        ("day.csv", dates(|i| format!("{:02}/03/2024", 1 + i % 20)), &[], Ok(&["x", "when"])),
        ("points.csv", dates(|i| format!("{}.3.2024", 1 + i % 9)), &[], Ok(&["x", "when"])),
        (
            "ambiguous.csv",
            dates(|i| format!("{:02}/03/2024", 1 + i % 9)),
            &[],
            Err(&["`when`", "2024-03-01 or 2024-01-03"]),
        ),
        (
            "dropped.csv",
            dates(|i| format!("{:02}/03/2024", 1 + i % 9)),
            &["--drop", "when"],
            Ok(&["x"]),
        ),
        ("constant.csv", plain(&("same", &constant("4"))), &[], Ok(&["x", "same"])),
        ("utf16.csv", utf16, &[], Ok(&["größe"])),
        (
            "headless.csv",
            b"5.1,3.5,u\n4.9,3.0,v\n".to_vec(),
            &[],
            Err(&["line 1", "`5.1`", "--no-header"]),
        ),
        ("sheet.xlsx", sheet(), &[], Ok(&["x", "ward=a", "ward=b"])),
        ("book.xlsx", sheet(), &["--sheet", "other"], Err(&["no sheet `other`", "`Data`"])),
    ];
    let folder = Folder::new();
    for case in cases {
        meets(&folder, case);
    }
}

#[test]
fn exports_of_clinics_give_the_expected_columns_or_one_line() {
    let limit = |i: usize| ["<0.5", "0.7", "3"][i % 3].to_owned();
    let limit = table(",", &[("x", &measure), ("crp", &limit), ("y", &label)]);
    let cost = |i: usize| format!("{}.5{:02},50", 1 + i % 7, i);
    let comma = |i: usize| measure(i).replace('.', ",");
    let cost = table(";", &[("x", &comma), ("cost", &cost), ("y", &label)]);
    let headless = b"P-1,67,33.5,3.18,f,A,no,ill\nP-2,34,28.1,3.05,m,B,no,well\n";
    let cases: [Nasty; 4] = [
        // Rows that came twice do not make an identifier a hundred categories, nor an index a measurement.
        ("twice.csv", twice(), &[], Ok(&["x"])),
        ("limit.csv", limit.into_bytes(), &[], Err(&["row 1", "`crp`", "`<0.5` is a limit"])),
        ("cost.csv", cost.into_bytes(), &[], Err(&["row 1", "`1.500,50` has a thousands"])),
        ("words.csv", headless.to_vec(), &[], Err(&["line 1", "`67`", "--no-header"])),
    ];
    let folder = Folder::new();
    for case in cases {
        meets(&folder, case);
    }
}

/// A table with a saved index and identifiers, put together from two that share two rows.
fn twice() -> Vec<u8> {
    let text = table(
        ",",
        &[("", &|i| i.to_string()), ("id", &|i| format!("P{i}")), ("x", &measure), ("y", &label)],
    );
    let rows: Vec<&str> = text.lines().collect();
    [&rows[..], &rows[1..3]].concat().join("\n").into_bytes()
}

/// Fits the file, and compares its features or the line that stops it with what is expected.
fn meets(folder: &Folder, (name, bytes, flags, expected): Nasty<'_>) {
    let path = folder.write(name, bytes);
    let model = folder.text("nasty.json");
    let output = mainstay(&[&["fit", &path, "-t", "y", "-o", &model][..], flags].concat());
    match expected {
        Err(parts) => fails(&output, parts),
        Ok(features) => {
            assert!(output.status.success(), "{name}: {}", err(&output));
            let file: Value = serde_json::from_slice(&fs::read(&model).unwrap()).unwrap();
            assert_eq!(file["model"]["feature_names"], serde_json::json!(features), "{name}");
            // The same file is predicted as it was fitted.
            let again = mainstay(&["predict", &model, &path]);
            assert!(again.status.success(), "{name}: {}", err(&again));
        }
    }
}
