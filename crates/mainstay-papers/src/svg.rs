//! Panels of lines, bars or cells as one SVG; no script, no font, no network.

use mainstay_report::scale::Scale;
use mainstay_report::svg::{Element, path};

use crate::chart::{Chart, Kind};

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 270.0;
/// Space of a panel around its plot: left, top, right, bottom.
const MARGIN: [f64; 4] = [58.0, 34.0, 14.0, 42.0];
const LEGEND: f64 = 14.0;
const COLOURS: [&str; 8] =
    ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444", "#999933"];

/// All panels, three in a line (four: two and two).
pub(crate) fn render(title: &str, charts: &[Chart]) -> String {
    let columns = if charts.len() == 4 { 2 } else { charts.len().clamp(1, 3) };
    let legend = charts.iter().map(|c| legend_lines(c) as f64 * LEGEND).fold(0.0, f64::max);
    let panel = HEIGHT + legend;
    let (width, height) =
        (columns as f64 * WIDTH, charts.len().div_ceil(columns).max(1) as f64 * panel);
    let mut out = Element::new("svg")
        .attr("xmlns", "http://www.w3.org/2000/svg")
        .attr("viewBox", &format!("0 0 {width} {height}"))
        .at("width", width)
        .at("height", height)
        .attr("font-family", "sans-serif")
        .attr("font-size", "11")
        .attr("role", "img")
        .child(&Element::new("title").text(title))
        .child(&Element::rect((0.0, 0.0), width, height).attr("fill", "white"));
    for (k, chart) in charts.iter().enumerate() {
        let (x, y) = ((k % columns) as f64 * WIDTH, (k / columns) as f64 * panel);
        let mut group = Element::new("g").attr("transform", &format!("translate({x},{y})"));
        match chart.kind {
            Kind::Heat => heat(&mut group, chart),
            Kind::Lines | Kind::Bars => plot(&mut group, chart),
        }
        out.push(&group);
    }
    out.render() + "\n"
}

fn legend_lines(chart: &Chart) -> usize {
    if chart.kind == Kind::Heat { 0 } else { chart.series.len().div_ceil(2) }
}

fn number(v: f64) -> String {
    let rounded = format!("{v:.4}");
    let short = rounded.trim_end_matches('0').trim_end_matches('.');
    if v != 0.0 && (v.abs() < 1e-3 || v.abs() >= 1e6) {
        format!("{v:e}")
    } else if short == "-0" {
        "0".into()
    } else {
        short.into()
    }
}

/// Words that start, end or have their middle at a place.
fn text(place: (f64, f64), anchor: &str, words: &str) -> Element {
    Element::words(place, words).attr("text-anchor", anchor)
}

/// The name of the vertical axis.
fn upright(out: &mut Element, words: &str) {
    let middle = f64::midpoint(MARGIN[1], HEIGHT - MARGIN[3]);
    let turned = format!("rotate(-90 14 {middle})");
    out.push(&text((14.0, middle), "middle", words).attr("transform", &turned));
}

fn frame(out: &mut Element, chart: &Chart) {
    let [left, top, right, bottom] = MARGIN;
    out.push(&text((WIDTH / 2.0, 20.0), "middle", &chart.title).attr("font-weight", "bold"));
    upright(out, &chart.y);
    let below = (f64::midpoint(left, WIDTH - right), HEIGHT - 11.0);
    out.push(&text(below, "middle", &chart.x));
    let (w, h) = (WIDTH - left - right, HEIGHT - top - bottom);
    out.push(&Element::rect((left, top), w, h).attr("fill", "none").attr("stroke", "#888"));
}

fn group_names(out: &mut Element, chart: &Chart, place: impl Fn(f64) -> f64) {
    let longest = chart.groups.iter().map(String::len).max().unwrap_or(0);
    let crowded = longest * chart.groups.len() > 48;
    for (k, name) in chart.groups.iter().enumerate() {
        let (x, y) = (place(k as f64), HEIGHT - MARGIN[3] + 14.0);
        if crowded {
            let turned = format!("rotate(-35 {x:.1} {y:.1})");
            let name = text((x + 4.0, y - 4.0), "end", name).attr("font-size", "8");
            out.push(&name.attr("transform", &turned));
        } else {
            out.push(&text((x, y), "middle", name));
        }
    }
}

/// The bars of the series with the number `k`, side by side with those of the others.
fn bars_of(out: &mut Element, chart: &Chart, k: usize, (x, y): (&Scale, &Scale)) {
    let [left, _, right, _] = MARGIN;
    let count = chart.series.len() as f64;
    let room = (WIDTH - left - right) / chart.groups.len().max(1) as f64;
    let slot = room * 0.8 / count;
    for (at, value) in chart.series[k].known() {
        let corner = x.place(at) - 0.5 * slot * count + slot * k as f64;
        let base = y.place(if chart.log { y.low() } else { 0.0 });
        let (high, low) = (y.place(value).min(base), y.place(value).max(base));
        let bar = Element::rect((corner, high), slot, (low - high).max(0.5));
        out.push(&bar.attr("fill", COLOURS[k % COLOURS.len()]));
    }
}

fn plot(out: &mut Element, chart: &Chart) {
    let [left, top, right, bottom] = MARGIN;
    frame(out, chart);
    let points = || chart.series.iter().flat_map(crate::chart::Series::known);
    let bars = chart.kind == Kind::Bars;
    let zero = bars.then_some(0.0).filter(|_| !chart.log);
    let values = points().map(|p| p.1).chain(zero);
    let y = if chart.log { Scale::logarithmic(values) } else { Scale::padded(values, 0.06) };
    let y = y.drawn(HEIGHT - bottom, top);
    let groups = chart.groups.len();
    let x = if groups > 0 {
        let ends = [-0.5, groups as f64 - 0.5];
        Scale::padded(ends.into_iter(), 0.0)
    } else {
        Scale::padded(points().map(|p| p.0), 0.04)
    };
    let x = x.drawn(left, WIDTH - right);
    for mark in y.ticks() {
        let at = y.place(mark);
        out.push(&Element::line((left, at), (WIDTH - right, at)).attr("stroke", "#e4e4e4"));
        out.push(&text((left - 5.0, at + 4.0), "end", &number(mark)));
    }
    if groups > 0 {
        group_names(out, chart, |v| x.place(v));
    } else {
        for mark in x.ticks() {
            out.push(&text((x.place(mark), HEIGHT - bottom + 14.0), "middle", &number(mark)));
        }
    }
    for (k, series) in chart.series.iter().enumerate() {
        let colour = COLOURS[k % COLOURS.len()];
        if bars {
            bars_of(out, chart, k, (&x, &y));
        } else {
            let places = series.known().map(|(a, b)| (x.place(a), y.place(b))).collect();
            line(out, places, colour);
        }
    }
    legend(out, chart);
}

fn line(out: &mut Element, points: Vec<(f64, f64)>, colour: &str) {
    let through: Vec<Option<(f64, f64)>> = points.iter().copied().map(Some).collect();
    let curve = Element::new("path").attr("d", &path(&through)).attr("fill", "none");
    out.push(&curve.attr("stroke", colour).at("stroke-width", 1.6));
    if points.len() <= 30 {
        for (x, y) in points {
            let dot = Element::new("circle").at("cx", x).at("cy", y).at("r", 2.4);
            out.push(&dot.attr("fill", colour));
        }
    }
}

fn legend(out: &mut Element, chart: &Chart) {
    for (k, series) in chart.series.iter().enumerate() {
        let column = (WIDTH - MARGIN[0]) / 2.0;
        let x = MARGIN[0] + (k % 2) as f64 * column;
        let y = HEIGHT + (k / 2) as f64 * LEGEND + 4.0;
        let colour = COLOURS[k % COLOURS.len()];
        out.push(&Element::rect((x, y - 8.0), 10.0, 8.0).attr("fill", colour));
        out.push(&text((x + 14.0, y), "start", &series.name));
    }
}

fn heat(out: &mut Element, chart: &Chart) {
    let [left, top, right, bottom] = MARGIN;
    frame(out, chart);
    let scale = Scale::padded(chart.series.iter().flat_map(|s| s.known().map(|p| p.1)), 0.0);
    let columns = chart.groups.len().max(1) as f64;
    let rows = chart.series.len().max(1) as f64;
    let (w, h) = ((WIDTH - left - right) / columns, (HEIGHT - top - bottom) / rows);
    for (r, series) in chart.series.iter().enumerate() {
        let y = HEIGHT - bottom - (r as f64 + 1.0) * h;
        out.push(&text((left - 5.0, y + h / 2.0 + 4.0), "end", &series.name));
        for (c, value) in series.known() {
            let share = scale.place(value);
            // From dark blue to light yellow.
            let mix = |a: f64, b: f64| a + share * (b - a);
            let (red, green, blue) = (mix(40.0, 255.0), mix(50.0, 240.0), mix(120.0, 160.0));
            let x = left + c * w;
            let fill = format!("rgb({red:.0},{green:.0},{blue:.0})");
            out.push(&Element::rect((x, y), w, h).attr("fill", &fill));
            let ink = if share < 0.45 { "white" } else { "black" };
            let middle = (x + w / 2.0, y + h / 2.0 + 3.0);
            let shown = text(middle, "middle", &format!("{value:.2}"));
            out.push(&shown.attr("font-size", "9").attr("fill", ink));
        }
    }
    group_names(out, chart, |k| left + (k + 0.5) * w);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Series;

    #[test]
    fn every_kind_is_drawn_and_names_are_escaped() {
        let series = || vec![Series::new("a < b", [(0.0, 0.1), (1.0, f64::NAN), (2.0, 10.0)])];
        let names = || vec!["x".to_owned(), "y".into(), "z".into()];
        let charts = vec![
            Chart::lines("lines", "n", "loss", series()).log(),
            Chart::bars("bars", "wins", names(), series()),
            Chart::lines("heat", "xi", "alpha", series()).over(names()).heat(),
            Chart::lines("nothing", "n", "loss", Vec::new()),
        ];
        let found = render("a & b", &charts);
        assert!(found.starts_with("<svg") && found.ends_with("</svg>\n"));
        assert!(found.contains("a &lt; b") && found.contains("a &amp; b"));
        assert!(!found.contains("NaN") && !found.contains("inf"));
        assert_eq!(found.matches("<g ").count(), 4);
    }

    #[test]
    fn the_published_figures_are_those_of_the_published_results() {
        use std::collections::BTreeMap;
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers");
        let text = std::fs::read_to_string(folder.join("results.json")).unwrap();
        let records: BTreeMap<String, crate::run::Record> = serde_json::from_str(&text).unwrap();
        for record in records.values().filter(|r| !r.outcome.charts.is_empty()) {
            let published = std::fs::read_to_string(folder.join(format!("{}.svg", record.id)));
            let drawn = render(&record.title, &record.outcome.charts);
            assert!(published.unwrap() == drawn, "{} is drawn differently", record.id);
        }
    }
}
