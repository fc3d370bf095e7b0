//! Many simulations, as commands start them: how many at a time, and a bar for who waits.

use indicatif::{ProgressBar, ProgressStyle};

use crate::study::{Event, Options};

/// How many simulations go on at a time.
#[derive(Debug, clap::Args)]
pub(super) struct Jobs {
    /// Simulations at a time [1..=1024]; all cores without it.
    #[arg(
        long,
        short,
        value_name = "N",
        allow_negative_numbers = true,
        value_parser = clap::value_parser!(u32).range(1..=1024)
    )]
    jobs: Option<u32>,
}

impl Jobs {
    /// The number that the command line states.
    pub fn stated(&self) -> Option<u32> {
        self.jobs
    }

    /// Does `work`, which simulates `runs` times, behind a bar that counts them; none when `quiet`.
    pub fn simulate<T>(
        &self,
        runs: usize,
        quiet: bool,
        work: impl FnOnce(&Options, &(dyn Fn(Event) + Sync)) -> T,
    ) -> T {
        let bar = if quiet { ProgressBar::hidden() } else { ProgressBar::new(runs as u64) };
        let style = "{pos} of {len} runs {wide_bar} {elapsed}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("the template is right"));
        bar.tick();
        let jobs = self.jobs.map_or(0, |jobs| jobs as usize);
        let options = Options { jobs, ..Options::default() };
        let done = work(&options, &|event| {
            if event == Event::Simulated {
                bar.inc(1);
            }
        });
        bar.finish_and_clear();
        done
    }
}
