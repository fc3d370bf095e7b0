//! Stereo matching by min-sum belief propagation, after Felzenszwalb and Huttenlocher, "Efficient Belief
//! Propagation for Early Vision", 2006, with sweeps over whole rows and columns.
//!
//! The stereo pair is made here, with a disparity that is known. Costs and messages lie in a signed char for
//! every input: a data cost is truncated at [`DATA_MOST`], and a message, which is normalised to start at
//! zero, cannot exceed the truncation of the smoothness cost. So all element types compute the same.

use super::{Arg, Buffer, DeviceMemory, Launch, Own, Verdict, Workload, bundled, elements};
use crate::config::{ElementType, LabelLayout, StereoSpec};
use crate::error::Result;

/// Labels of a pixel: disparities 0 to 15. Fixed in the kernel.
const LABELS: usize = 16;
/// Boxes of a pixel: its data costs, and the message that came last from each side.
const BOXES: usize = 5;
const DATA: usize = 0;
const FROM_LEFT: usize = 1;
const FROM_RIGHT: usize = 2;
const FROM_BELOW: usize = 3;
const FROM_ABOVE: usize = 4;

/// Truncation of the data cost. The three constants are in the ratios 1 : 14/15 : 25/15 of the paper's
/// 15 x 0.07 : 1 : 1.7, in whole numbers.
const DATA_MOST: i32 = 15;
/// Cost of neighbours whose labels differ by one.
const SLOPE: i32 = 14;
/// The most that neighbours cost.
const TRUNCATION: i32 = 25;

/// What a pixel has heard.
type Pixel = Boxes<i8>;
/// Numbers of a pixel: `[box][label]`.
type Boxes<T> = [[T; LABELS]; BOXES];

/// Fills the buffers and lists the launches.
pub(super) fn build(spec: &StereoSpec, seed: u64) -> Workload {
    let spec = spec.clone();
    let element = spec.element;
    let scene = Scene::new(&spec, seed);
    let pixels = scene.pixels.len();
    let strides = Strides::new(spec.layout, pixels);
    let mut memory = DeviceMemory::default();
    let bytes = element.bytes() as u64;
    let values = memory.allocate("values", (pixels * BOXES * LABELS) as u64 * bytes);
    let labels = memory.allocate("labels", pixels as u64 * bytes);
    let costs = strides.scatter(&scene.pixels).into_iter().map(i32::from);
    elements::fill(memory.of_mut(values), element, costs);
    let launches = launches(&spec, &strides, values, labels);
    Workload {
        name: format!("stereo_{}", element.name()),
        memory,
        launches: launches.into_iter().collect(),
        check: Box::new(move |memory| {
            let mut scene = Scene::new(&spec, seed);
            scene.propagate(spec.iterations.get());
            check(memory, [values, labels], element, &strides, &scene)
        }),
        own: Own::default(),
    }
}

fn launches(spec: &StereoSpec, strides: &Strides, values: Buffer, labels: Buffer) -> Vec<Launch> {
    let ptx = bundled::kernel("stereo").ptx_source();
    let [width, height] = [spec.width.get(), spec.height.get()];
    let int = |value: usize| Arg::I32(i32::try_from(value).expect("the ranges of the image"));
    let launch = |what: &str, threads: u32, buffers: &[Buffer], sizes: &[u32]| Launch {
        ptx: ptx.clone(),
        entry: format!("stereo_{what}_{}", spec.element.name()),
        grid: [threads.div_ceil(spec.block.get()), 1, 1],
        block: [spec.block.get(), 1, 1],
        dynamic_shared: 0,
        args: buffers
            .iter()
            .map(|buffer| Arg::Buffer(*buffer))
            .chain([int(strides.per_box), int(strides.per_pixel), int(strides.per_label)])
            .chain(sizes.iter().map(|&size| int(size as usize)))
            .collect(),
    };
    let image = [width, height];
    let sweeps = [("right", height), ("left", height), ("up", width), ("down", width)]
        .map(|(direction, lines)| launch(direction, lines, &[values], &image));
    let iterations = (0..spec.iterations.get()).flat_map(|_| sweeps.iter().cloned());
    let pixels = width * height;
    iterations.chain([launch("best", pixels, &[values, labels], &[pixels])]).collect()
}

/// Compares the labels, and every value behind them.
fn check(
    memory: &DeviceMemory,
    [values, labels]: [Buffer; 2],
    element: ElementType,
    strides: &Strides,
    scene: &Scene,
) -> Result<Verdict> {
    let messages = strides.scatter(&scene.pixels).into_iter().map(i32::from);
    let compared = elements::compare(memory, values, "the messages", element, messages)?;
    let best = scene.pixels.iter().map(best);
    let elements = compared + elements::compare(memory, labels, "the labels", element, best)?;
    Ok(Verdict { elements })
}

/// Where a value lies: `box * per_box + pixel * per_pixel + label * per_label` `[elements]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Strides {
    per_box: usize,
    per_pixel: usize,
    per_label: usize,
}

impl Strides {
    fn new(layout: LabelLayout, pixels: usize) -> Self {
        match layout {
            LabelLayout::PixelMajor => {
                Strides { per_pixel: BOXES * LABELS, per_box: LABELS, per_label: 1 }
            }
            LabelLayout::BoxMajor => {
                Strides { per_box: pixels * LABELS, per_pixel: LABELS, per_label: 1 }
            }
            LabelLayout::LabelMajor => {
                Strides { per_box: pixels * LABELS, per_label: pixels, per_pixel: 1 }
            }
        }
    }

    /// The values in their places.
    fn scatter<T: Copy + Default>(&self, pixels: &[Boxes<T>]) -> Vec<T> {
        /// Pixels whose values of one box and label are written one after the other, as they may lie so.
        const BLOCK: usize = 64;
        let mut values = vec![T::default(); pixels.len() * BOXES * LABELS];
        for (block, pixels) in pixels.chunks(BLOCK).enumerate() {
            let first = block * BLOCK * self.per_pixel;
            for (number, label) in (0..BOXES * LABELS).map(|at| (at / LABELS, at % LABELS)) {
                let first = first + self.per_box * number + self.per_label * label;
                for (at, pixel) in pixels.iter().enumerate() {
                    values[first + at * self.per_pixel] = pixel[number][label];
                }
            }
        }
        values
    }
}

/// The image on the host, row by row.
struct Scene {
    width: usize,
    pixels: Vec<Pixel>,
}

impl Scene {
    /// Data costs of a seeded stereo pair; no message has come yet.
    ///
    /// Texture is random. A pixel of the left image is the pixel of the right image that lies
    /// [`disparity`] to the left of it, up to a little noise; past the border it is the first of its row.
    fn new(spec: &StereoSpec, seed: u64) -> Self {
        let (width, height) = (spec.width.size(), spec.height.size());
        let mut numbers = elements::random(seed, 0..=255);
        let right: Vec<i32> = numbers.by_ref().take(width * height).collect();
        let mut pixels = Vec::with_capacity(width * height);
        for (y, row) in right.chunks_exact(width).enumerate() {
            for x in 0..width {
                let noise = numbers.next().expect("there is no end") % 5;
                let left = row[x.saturating_sub(disparity(x, y, width, height))] + noise;
                let data = std::array::from_fn(|label| match x.checked_sub(label) {
                    Some(matching) => (left - row[matching]).abs().min(DATA_MOST) as i8,
                    None => DATA_MOST as i8,
                });
                let mut pixel = [[0; LABELS]; BOXES];
                pixel[DATA] = data;
                pixels.push(pixel);
            }
        }
        Scene { width, pixels }
    }

    /// Sends messages right, left, up and down, so many times.
    fn propagate(&mut self, iterations: u32) {
        let (width, height) = (self.width, self.pixels.len() / self.width);
        for _ in 0..iterations {
            for start in (0..height).map(|y| y * width) {
                self.sweep(start..start + width, FROM_LEFT, FROM_RIGHT);
                self.sweep((start..start + width).rev(), FROM_RIGHT, FROM_LEFT);
            }
            for x in 0..width {
                let column = || (x..width * height).step_by(width);
                self.sweep(column().rev(), FROM_BELOW, FROM_ABOVE);
                self.sweep(column(), FROM_ABOVE, FROM_BELOW);
            }
        }
    }

    /// Sends messages along a line of pixels. They arrive in the box `into`; what a pixel has heard from
    /// where its message goes, in the box `but`, does not count.
    fn sweep(&mut self, line: impl Iterator<Item = usize>, into: usize, but: usize) {
        let mut previous = None;
        for pixel in line {
            if let Some(from) = previous {
                self.pixels[pixel][into] = message(&self.pixels[from], but);
            }
            previous = Some(pixel);
        }
    }
}

/// Disparity of a pixel of the made-up scene: a near square in front of a far wall `[pixels]`.
fn disparity(x: usize, y: usize, width: usize, height: usize) -> usize {
    let within = |at: usize, size: usize| (size / 4..size * 3 / 4).contains(&at);
    if within(x, width) && within(y, height) { 10 } else { 3 }
}

/// What a pixel tells a neighbour, by the definition: for each label of the neighbour, the least cost over
/// all labels of the pixel. From all of them their least is taken away.
fn message(pixel: &Pixel, but: usize) -> [i8; LABELS] {
    let costs = belief(pixel, but);
    let least = |costs: &[i32]| costs.iter().copied().min().expect("there are labels");
    // From most labels the smoothness cost is the truncation.
    let mut message = [least(&costs) + TRUNCATION; LABELS];
    for distance in 0..LABELS {
        let smoothness = SLOPE * distance as i32;
        if smoothness >= TRUNCATION {
            break;
        }
        for to in 0..LABELS - distance {
            let from = to + distance;
            message[to] = message[to].min(costs[from] + smoothness);
            message[from] = message[from].min(costs[to] + smoothness);
        }
    }
    let least = least(&message);
    message.map(|cost| (cost - least) as i8)
}

/// Costs of each label summed over the boxes, without one of them.
fn belief(pixel: &Pixel, but: usize) -> [i32; LABELS] {
    let mut sums = [0; LABELS];
    for (_, costs) in pixel.iter().enumerate().filter(|&(number, _)| number != but) {
        sums.iter_mut().zip(costs).for_each(|(sum, &cost)| *sum += i32::from(cost));
    }
    sums
}

/// The label of least cost, the smallest of several.
fn best(pixel: &Pixel) -> i32 {
    let costs = belief(pixel, BOXES);
    let best = (0..LABELS).min_by_key(|&label| costs[label]).expect("there are labels");
    best as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(text: &str) -> StereoSpec {
        crate::config::parse::stated(text)
    }

    #[test]
    fn the_disparity_of_the_scene_is_found() {
        let spec = spec("(element: Char, width: 96, height: 64, iterations: 2)");
        let mut scene = Scene::new(&spec, 1);
        let right = |scene: &Scene| {
            let truth = |at: usize| disparity(at % 96, at / 96, 96, 64) as i32;
            let known = (0..96 * 64).filter(|at| at % 96 >= LABELS);
            let (mut right, mut all) = (0, 0);
            for at in known {
                right += u32::from(best(&scene.pixels[at]) == truth(at));
                all += 1;
            }
            f64::from(right) / f64::from(all)
        };
        let alone = right(&scene);
        scene.propagate(2);
        let together = right(&scene);
        assert!(alone < 0.85 && together > 0.97, "{alone} {together}");
    }

    #[test]
    fn every_value_lies_in_a_signed_char_and_messages_within_the_truncation() {
        let spec = spec("(element: Char, width: 40, height: 30, iterations: 3)");
        let mut scene = Scene::new(&spec, 3);
        scene.propagate(3);
        for pixel in &scene.pixels {
            assert!(pixel[DATA].iter().all(|&cost| (0..=DATA_MOST).contains(&cost.into())));
            for message in &pixel[FROM_LEFT..] {
                assert!(message.iter().all(|&cost| (0..=TRUNCATION).contains(&cost.into())));
                assert!(message.contains(&0));
            }
        }
        let largest = scene.pixels.iter().flatten().flatten().max();
        assert_eq!(largest, Some(&(TRUNCATION as i8)));
    }

    #[test]
    fn a_message_is_a_cone_around_the_cheapest_label_up_to_the_truncation() {
        let mut pixel = [[0; LABELS]; BOXES];
        pixel[DATA] = [15; LABELS];
        pixel[DATA][5] = 0;
        pixel[FROM_ABOVE][5] = 3;
        // 12 cheaper than its neighbours: the slope of 14 does not bind.
        let mut want = [12; LABELS];
        want[5] = 0;
        assert_eq!(message(&pixel, FROM_RIGHT), want);
        pixel[FROM_LEFT] = [25; LABELS];
        pixel[FROM_LEFT][5] = 0;
        let mut want = [25; LABELS];
        want[4..=6].copy_from_slice(&[14, 0, 14]);
        assert_eq!(message(&pixel, FROM_RIGHT), want);
        // What came from where the message goes does not count.
        assert_eq!(message(&pixel, FROM_LEFT)[4], 12);
    }

    #[test]
    fn a_layout_puts_every_value_in_a_place_of_its_own() {
        let pixels: Vec<Boxes<i32>> = (0..6)
            .map(|at| {
                std::array::from_fn(|b| {
                    std::array::from_fn(|l| at * 100 + 20 * b as i32 + l as i32)
                })
            })
            .collect();
        let first = |layout| {
            let values = Strides::new(layout, 6).scatter(&pixels);
            let mut sorted = values.clone();
            sorted.sort_unstable();
            let mut all: Vec<i32> = pixels.iter().flatten().flatten().copied().collect();
            all.sort_unstable();
            assert_eq!(sorted, all);
            [values[0], values[1], values[6], values[16], values[80], values[96]]
        };
        assert_eq!(first(LabelLayout::PixelMajor), [0, 1, 6, 20, 100, 120]);
        assert_eq!(first(LabelLayout::BoxMajor), [0, 1, 6, 100, 500, 20]);
        assert_eq!(first(LabelLayout::LabelMajor), [0, 100, 1, 402, 213, 20]);
    }

    #[test]
    fn an_iteration_is_four_sweeps_and_the_labels_come_last() {
        let text = "(element: Short, width: 70, height: 33, iterations: 2, layout: LabelMajor)";
        let workload = build(&spec(text), 1);
        let launches: Vec<&Launch> = workload.launches.ptx().collect();
        let entries: Vec<&str> = launches.iter().map(|launch| &launch.entry[7..]).collect();
        let sweeps = ["right_short", "left_short", "up_short", "down_short"];
        assert_eq!(entries, [&sweeps[..], &sweeps[..], &["best_short"]].concat());
        let grids: Vec<u32> = launches[..4].iter().map(|launch| launch.grid[0]).collect();
        assert_eq!(grids, [2, 2, 3, 3]);
        let [(_, values), (_, labels)] = workload.memory.buffers() else { panic!("two buffers") };
        let ints = |values: &[i32]| values.iter().map(|&value| Arg::I32(value)).collect::<Vec<_>>();
        let sweep = [&[Arg::Buffer(*values)], &ints(&[36960, 1, 2310, 70, 33])[..]].concat();
        assert_eq!(launches[3].args, sweep);
        let best =
            [&[Arg::Buffer(*values), Arg::Buffer(*labels)], &ints(&[36960, 1, 2310, 2310])[..]];
        assert_eq!(launches[8].args, best.concat());
        assert_eq!(launches[8].grid, [73, 1, 1]);
    }

    #[test]
    fn the_check_looks_at_labels_and_messages() {
        let spec = spec("(element: Char, width: 7, height: 5)");
        let mut workload = build(&spec, 1);
        let mut scene = Scene::new(&spec, 1);
        scene.propagate(1);
        let buffers = workload.memory.buffers().to_vec();
        let [(_, values), (_, labels)] = buffers[..] else { panic!("two buffers") };
        let strides = Strides::new(spec.layout, 35);
        let right = strides.scatter(&scene.pixels).into_iter().map(i32::from);
        elements::fill(workload.memory.of_mut(values), ElementType::Char, right);
        let right = scene.pixels.iter().map(best);
        elements::fill(workload.memory.of_mut(labels), ElementType::Char, right);
        assert_eq!((workload.check)(&workload.memory), Ok(Verdict { elements: 81 * 35 }));
        for (buffer, at, name) in [(values, 500, "messages"), (labels, 9, "labels")] {
            workload.memory.of_mut(buffer)[at] ^= 1;
            let error = (workload.check)(&workload.memory).unwrap_err().message;
            let start = format!("wrong result: element {at} of the {name} is ");
            assert!(error.starts_with(&start), "{error}");
            workload.memory.of_mut(buffer)[at] ^= 1;
        }
    }
}
