//! A spreadsheet as a zip archive without compression, made by hand.

use super::columns::{label, measure};

/// A spreadsheet of 24 rows.
pub(crate) fn sheet() -> Vec<u8> {
    let cell = |value: &str| match value.parse::<f64>() {
        Ok(_) => format!("<c><v>{value}</v></c>"),
        Err(_) => format!("<c t=\"inlineStr\"><is><t>{value}</t></is></c>"),
    };
    let row = |cells: &[&str]| {
        format!("<row>{}</row>", cells.iter().map(|c| cell(c)).collect::<String>())
    };
    let mut rows = row(&["x", "ward", "y"]);
    for i in 0..24 {
        rows += &row(&[&measure(i), ["a", "b"][i % 2], &label(i)]);
    }
    workbook(&rows)
}

/// A spreadsheet whose one sheet has these rows.
pub(crate) fn workbook(rows: &str) -> Vec<u8> {
    const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
    const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
    let files = [
        (
            "[Content_Types].xml",
            format!(
                "<Types xmlns=\"{PACKAGE}/content-types\"><Default Extension=\"xml\" ContentType=\"application/xml\"/></Types>"
            ),
        ),
        (
            "_rels/.rels",
            format!(
                "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"r1\" Type=\"{OFFICE}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns=\"{MAIN}\" xmlns:r=\"{OFFICE}\"><sheets><sheet name=\"Data\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>"
            ),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!(
                "<Relationships xmlns=\"{PACKAGE}/relationships\"><Relationship Id=\"r1\" Type=\"{OFFICE}/worksheet\" Target=\"worksheets/sheet1.xml\"/></Relationships>"
            ),
        ),
        (
            "xl/worksheets/sheet1.xml",
            format!("<worksheet xmlns=\"{MAIN}\"><sheetData>{rows}</sheetData></worksheet>"),
        ),
    ];
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in &files {
        let offset = archive.len() as u32;
        let mut common = Vec::new();
        for half in [20_u16, 0, 0, 0, 0] {
            common.extend(half.to_le_bytes());
        }
        common.extend(crc32fast::hash(content.as_bytes()).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((content.len() as u32).to_le_bytes());
        common.extend((name.len() as u16).to_le_bytes());
        common.extend(0_u16.to_le_bytes());
        archive.extend(
            [b"PK\x03\x04", common.as_slice(), name.as_bytes(), content.as_bytes()].concat(),
        );
        directory.extend(
            [
                b"PK\x01\x02\x14\x00",
                common.as_slice(),
                &[0; 10],
                &offset.to_le_bytes(),
                name.as_bytes(),
            ]
            .concat(),
        );
    }
    let (start, count) = (archive.len() as u32, files.len() as u16);
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06\0\0\0\0");
    archive.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    archive.extend([(directory.len() as u32).to_le_bytes(), start.to_le_bytes()].concat());
    archive.extend([0, 0]);
    archive
}
