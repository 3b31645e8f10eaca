//! `anymetal audit verify`: whether an audit log is as it was written.

use std::path::PathBuf;

use anymetal_audit::{Digest, Report, verify};
use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::output;

/// Check an audit log.
///
/// A log is a folder of JSON lines in which each record holds a hash of the one before it.
#[derive(Args, Debug)]
pub(crate) struct AuditArgs {
    #[command(subcommand)]
    command: AuditCommand,
}

#[derive(Subcommand, Debug)]
enum AuditCommand {
    /// Say what holds, and the first record that does not; exit code 1 if one does not
    Verify(VerifyArgs),
}

/// Options of `anymetal audit verify`.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  anymetal audit verify /var/log/service/audit\n  anymetal audit verify audit-000003.jsonl --json"
)]
struct VerifyArgs {
    /// The log's folder, or one of its files
    #[arg(value_name = "FILE|DIR")]
    path: PathBuf,
    /// The digest of a record, noted elsewhere, that must be in the log
    #[arg(long, value_name = "DIGEST", value_parser = parse_digest)]
    expect: Option<Digest>,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

fn parse_digest(text: &str) -> Result<Digest, String> {
    Digest::parse(text).ok_or_else(|| "a digest has 64 digits from 0 to 9 and a to f".to_owned())
}

/// Does it.
pub(crate) fn audit(args: &AuditArgs) -> Result<(), Failure> {
    let AuditCommand::Verify(args) = &args.command;
    let report = verify(&args.path);
    let expected = args.expect.map(|digest| (digest, report.find(digest)));
    let missing = matches!(expected, Some((_, None)));
    if args.json {
        output::json(&to_json(&report, expected))?
    } else {
        text(&report, expected)?
    }
    if report.holds() && !missing { Ok(()) } else { Err(Failure::Told(1)) }
}

type Expected = Option<(Digest, Option<u64>)>;

fn text(report: &Report, expected: Expected) -> Result<(), Failure> {
    for file in report.files() {
        let span = match (file.first, file.last) {
            (Some(first), Some(last)) => format!("records {first} to {last} hold"),
            _ => "no record holds".to_owned(),
        };
        output::line(&format!("{}: {span}", file.name))?;
    }
    for note in report.notes() {
        output::line(&format!("note: {note}"))?;
    }
    match expected {
        Some((_, Some(seq))) => output::line(&format!("the expected digest is that of record {seq}"))?,
        Some((digest, None)) => output::line(&format!("no record has the digest {digest}"))?,
        None => {}
    }
    match report.broken() {
        Some(broken) => output::line(&format!("broken: {broken}")),
        None => {
            let head = report.last().map(|head| format!("; the last has the digest {}", head.digest));
            output::line(&format!("{} records hold{}", report.records(), head.unwrap_or_default()))
        }
    }
}

fn to_json(report: &Report, expected: Expected) -> Value {
    let files = report.files().iter().map(
        |file| json!({ "name": file.name, "records": file.records, "first": file.first, "last": file.last }),
    );
    let broken = report.broken().map(|broken| {
        json!({
            "file": broken.file,
            "line": broken.line,
            "reason": broken.reason.to_string(),
            "truncated": broken.reason.is_truncation(),
        })
    });
    let mut object = json!({
        "holds": report.holds(),
        "records": report.records(),
        "digest": report.last().map(|head| head.digest.to_string()),
        "files": files.collect::<Vec<_>>(),
        "notes": report.notes().iter().map(ToString::to_string).collect::<Vec<_>>(),
        "broken": broken,
    });
    if let Some((_, seq)) = expected {
        object["expected_record"] = json!(seq);
    }
    object
}
