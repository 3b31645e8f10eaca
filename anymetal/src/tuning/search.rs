//! The search: candidates are measured in turns, and what is slow is left early.
//!
//! In each round every candidate that is still in is measured once, so that noise of the machine strikes
//! all alike. From the second round on a candidate whose best time is too far behind the best of all is
//! out. The first
//! candidate is the default; it stays in to the end, and another size wins only by [`SearchOptions::gain`].

use std::time::Duration;

use anymetal_types::setters;

use super::database::Entry;

/// How long and how closely to look.
#[derive(Clone, Copy, PartialEq, Debug)]
#[non_exhaustive]
pub struct SearchOptions {
    /// The sum of measured times after which no new round begins.
    pub budget: Duration,
    /// The most rounds.
    pub rounds: u32,
    /// A candidate is out after two rounds if its best time is more than this many times the best of all.
    pub first_cut: f64,
    /// The same after each later round.
    pub cut: f64,
    /// The share of the default's time that another size must save, 0.02 for 2 %.
    pub gain: f64,
}

setters!(SearchOptions { budget: Duration, rounds: u32, first_cut: f64, cut: f64, gain: f64 });

impl Default for SearchOptions {
    fn default() -> Self {
        Self { budget: Duration::from_secs(10), rounds: 15, first_cut: 1.5, cut: 1.15, gain: 0.02 }
    }
}

/// The times of one candidate.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Samples(Vec<Duration>);

impl Samples {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The least; zero if there is none.
    pub fn best(&self) -> Duration {
        self.0.iter().min().copied().unwrap_or_default()
    }

    /// The median, which decides; zero if there is none.
    pub fn median(&self) -> Duration {
        let mut sorted = self.0.clone();
        sorted.sort_unstable();
        sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }
}

/// What became of a candidate.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Verdict {
    /// It was measured to the end.
    Finished,
    /// It was too slow to go on.
    TooSlow,
    /// It could not be measured, or gave another result, and why.
    Refused(String),
    /// The budget was used up before its turn.
    NotTried,
}

impl Verdict {
    /// One word for reports and `--json`.
    pub fn word(&self) -> &'static str {
        match self {
            Verdict::Finished => "finished",
            Verdict::TooSlow => "too_slow",
            Verdict::NotTried => "not_tried",
            Verdict::Refused(_) => "refused",
        }
    }
}

/// A candidate with its times.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Trial {
    /// The threadgroup size.
    pub size: [u32; 3],
    /// Its times.
    pub samples: Samples,
    /// What became of it.
    pub verdict: Verdict,
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Outcome {
    /// All candidates in their order; the first one is the default.
    pub trials: Vec<Trial>,
    /// The place of the best one.
    pub best: usize,
}

impl Outcome {
    /// The best trial.
    pub fn best(&self) -> &Trial {
        &self.trials[self.best]
    }

    /// The default's trial.
    pub fn default(&self) -> &Trial {
        &self.trials[0]
    }

    /// What a database keeps of it.
    pub fn entry(&self) -> Entry {
        let (best, default) = (self.best(), self.default());
        Entry {
            size: best.size,
            time: best.samples.median(),
            default_size: default.size,
            default_time: default.samples.median(),
        }
    }

    /// The default's time over the best one's.
    pub fn speedup(&self) -> f64 {
        let best = self.best().samples.median().as_secs_f64();
        if best > 0.0 { self.default().samples.median().as_secs_f64() / best } else { 1.0 }
    }
}

/// Measures the candidates, of which the first is the default. `measure` gives the time of one launch with
/// that size, or why the size will not do.
///
/// # Errors
/// The reason that `measure` gives for the default; `None` if there is no candidate.
pub fn search(
    candidates: &[[u32; 3]],
    options: &SearchOptions,
    mut measure: impl FnMut([u32; 3]) -> Result<Duration, String>,
) -> Result<Outcome, Option<String>> {
    let trial = |&size: &[u32; 3]| Trial { size, samples: Samples::default(), verdict: Verdict::NotTried };
    let mut trials: Vec<Trial> = candidates.iter().map(trial).collect();
    let mut spent = Duration::ZERO;
    for round in 0..options.rounds.max(1) {
        for (place, trial) in trials.iter_mut().enumerate() {
            let is_in = matches!(trial.verdict, Verdict::NotTried | Verdict::Finished);
            if !is_in || (place > 0 && spent >= options.budget) {
                continue;
            }
            match measure(trial.size) {
                Ok(time) => {
                    spent += time;
                    trial.samples.0.push(time);
                    trial.verdict = Verdict::Finished;
                }
                Err(reason) if place == 0 => return Err(Some(reason)),
                Err(reason) => trial.verdict = Verdict::Refused(reason),
            }
        }
        // One time may be the machine's, not the size's.
        if round > 0 {
            leave_the_slow(&mut trials, if round == 1 { options.first_cut } else { options.cut });
        }
        let others = trials.iter().skip(1).any(|trial| trial.verdict == Verdict::Finished);
        if spent >= options.budget || !others {
            break;
        }
    }
    let best = best_of(&trials, options.gain).ok_or(None)?;
    Ok(Outcome { trials, best })
}

fn leave_the_slow(trials: &mut [Trial], cut: f64) {
    let finished = trials.iter().filter(|trial| trial.verdict == Verdict::Finished);
    let Some(best) = finished.map(|trial| trial.samples.best()).min() else { return };
    for trial in trials.iter_mut().skip(1).filter(|trial| trial.verdict == Verdict::Finished) {
        if trial.samples.best().as_secs_f64() > best.as_secs_f64() * cut {
            trial.verdict = Verdict::TooSlow;
        }
    }
}

/// The place of the least median, if it is far enough below the default's.
fn best_of(trials: &[Trial], gain: f64) -> Option<usize> {
    let default = trials.first()?.samples.median();
    let finished = |place: &usize| trials[*place].verdict == Verdict::Finished;
    let best = (0..trials.len()).filter(finished).min_by_key(|&place| trials[place].samples.median())?;
    let median = trials[best].samples.median();
    Some(if median.as_secs_f64() <= default.as_secs_f64() * (1.0 - gain) { best } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [[u32; 3]; 4] = [[256, 1, 1], [32, 1, 1], [64, 1, 1], [128, 1, 1]];

    fn micros(time: u64) -> Duration {
        Duration::from_micros(time)
    }

    fn found(options: &SearchOptions, time: impl Fn(u32, usize) -> Result<u64, String>) -> Outcome {
        let mut calls = 0;
        let measure = |size: [u32; 3]| {
            calls += 1;
            time(size[0], calls).map(micros)
        };
        search(&SIZES, options, measure).unwrap()
    }

    #[test]
    fn the_fastest_wins_and_the_slow_leave_early() {
        let outcome = found(&SearchOptions::default(), |x, _| {
            Ok(match x {
                256 => 100,
                32 => 300,
                64 => 90,
                _ => 110,
            })
        });
        assert_eq!((outcome.best().size, outcome.trials[1].samples.count()), ([64, 1, 1], 2));
        assert_eq!(outcome.trials[1].verdict, Verdict::TooSlow);
        assert_eq!(outcome.trials[3].verdict, Verdict::TooSlow, "1.22 times the best");
        assert_eq!(outcome.trials[3].samples.count(), 3);
        assert!((outcome.speedup() - 100.0 / 90.0).abs() < 1e-9);
    }

    #[test]
    fn a_gain_within_the_noise_leaves_the_default() {
        let outcome = found(&SearchOptions::default(), |x, _| Ok(if x == 64 { 99 } else { 100 }));
        assert_eq!(outcome.best().size, [256, 1, 1]);
        assert_eq!(outcome.default().samples.count(), 15);
    }

    #[test]
    fn one_outlier_does_not_decide() {
        let outcome = found(&SearchOptions::default(), |x, call| match (x, call) {
            (64, 3) => Ok(10),
            (256, _) => Ok(12),
            _ => Ok(13),
        });
        assert_eq!(outcome.best().size, [256, 1, 1]);
    }

    #[test]
    fn the_budget_ends_the_search_and_says_what_was_not_tried() {
        let options = SearchOptions { budget: micros(150), ..SearchOptions::default() };
        let outcome = found(&options, |_, _| Ok(100));
        assert_eq!(outcome.trials[2].verdict, Verdict::NotTried);
        assert_eq!(outcome.best, 0);
    }

    #[test]
    fn a_size_that_fails_is_out_and_the_default_must_not() {
        let outcome = found(&SearchOptions::default(), |x, _| {
            if x == 64 { Err("another result".to_owned()) } else { Ok(u64::from(x)) }
        });
        assert_eq!(outcome.trials[2].verdict, Verdict::Refused("another result".to_owned()));
        assert_eq!(outcome.best().size, [32, 1, 1]);
        let failed = search(&SIZES, &SearchOptions::default(), |_| Err("no".to_owned()));
        assert_eq!(failed, Err(Some("no".to_owned())));
        assert_eq!(search(&[], &SearchOptions::default(), |_| Ok(micros(1))), Err(None));
    }
}
