//! Random patterns are as random as they say.

use super::*;

/// Every lane's offset, of all warps.
fn all(source: &mut SyntheticSource, ctas: u64, warps: usize) -> Vec<u64> {
    (0..ctas)
        .flat_map(|cta| (0..warps).map(move |warp| (cta, warp)))
        .flat_map(|(cta, warp)| offsets(source, cta, warp).concat())
        .collect()
}

/// The chi-square statistic of values below `end` that fall into `classes` equal classes.
fn chi2(values: &[u64], end: u64, classes: usize) -> f64 {
    let mut counts = vec![0u32; classes];
    for value in values {
        counts[(u128::from(*value) * classes as u128 / u128::from(end)) as usize] += 1;
    }
    let want = values.len() as f64 / classes as f64;
    counts.iter().map(|&count| (f64::from(count) - want).powi(2) / want).sum()
}

#[test]
fn random_elements_are_uniform() {
    for footprint in [0x1_0000u64, 0x10_0000_0000] {
        let access = format!("pattern: Random(), footprint: {footprint}");
        let values = all(&mut one(8, 4, 64, &access), 8, 4);
        assert_eq!(values.len(), 65_536);
        // 63 degrees of freedom: outside 28 to 117 less than once in 10,000 tries, on either side.
        let statistic = chi2(&values, footprint, 64);
        assert!((28.0..117.0).contains(&statistic), "{footprint}: {statistic}");
    }
}

#[test]
fn lanes_warps_ctas_accesses_and_seeds_draw_apart() {
    let mut source = one(2, 2, 2, "pattern: Random(), footprint: 0x100_0000_0000");
    let mut values = all(&mut source, 2, 2);
    values.extend(all(
        &mut SyntheticSource::new(&SyntheticLaunch {
            spec: Arc::new(spec(
                2,
                2,
                "phases: [(accesses: 2, mix: [(pattern: Random(), footprint: 0x100_0000_0000)])]",
            )),
            seed: 2,
        }),
        2,
        2,
    ));
    let drawn = values.len();
    values.sort_unstable();
    values.dedup();
    // 512 of 2^38: equal ones would be no accident.
    assert_eq!((drawn, values.len()), (512, 512));
}

#[test]
fn the_hot_share_is_hot_and_uniform_inside() {
    let access = "pattern: Hot(fraction: 0.7, bytes: 1024, run: 1), footprint: 0x10_0000";
    let values = all(&mut one(4, 4, 64, access), 4, 4);
    let (hot, cold): (Vec<u64>, Vec<u64>) = values.iter().partition(|&&offset| offset < 1024);
    let share = hot.len() as f64 / values.len() as f64;
    // 32,768 draws: a standard deviation is 0.0025.
    assert!((0.69..0.71).contains(&share), "{share}");
    assert!(chi2(&hot, 1024, 16) < 44.3);
    let cold: Vec<u64> = cold.iter().map(|offset| offset - 1024).collect();
    assert!(chi2(&cold, 0x10_0000 - 1024, 16) < 44.3);
}

#[test]
fn the_local_share_of_a_gather_stays_near() {
    let access = "pattern: Gather(locality: 0.6, window: 256, run: 1), footprint: 0x1000_0000";
    let rounds = offsets(&mut one(1, 1, 1000, access), 0, 0);
    let pairs = rounds.windows(2).flat_map(|pair| pair[0].iter().zip(&pair[1]));
    let near = pairs.filter(|(last, next)| last.abs_diff(**next) < 256).count();
    let share = near as f64 / (999.0 * 32.0);
    // A jump lands near by chance once in half a million; a standard deviation is 0.0027.
    assert!((0.589..0.611).contains(&share), "{share}");
}

#[test]
fn popular_elements_are_spread_over_the_footprint() {
    let access = "pattern: Zipf(exponent: 1), footprint: 0x40_0000, width: 4";
    let values = all(&mut one(4, 4, 64, access), 4, 4);
    let mut counts = std::collections::HashMap::new();
    for value in &values {
        *counts.entry(*value).or_insert(0u64) += 1;
    }
    let mut popular: Vec<(u64, u64)> = counts.iter().map(|(&at, &count)| (count, at)).collect();
    popular.sort_unstable();
    popular.reverse();
    // The harmonic number of 2^20 is 14.44: the first rank gets 32768 / 14.44 = 2269, the second half.
    assert!((2100..2440).contains(&popular[0].0), "{popular:?}");
    assert!((1020..1250).contains(&popular[1].0));
    let lines: std::collections::HashSet<u64> =
        popular[..16].iter().map(|(_, at)| at / 128).collect();
    assert!(lines.len() >= 15, "{lines:?}");
}
