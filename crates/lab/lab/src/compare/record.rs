//! A comparison as one line of the record; see docs/formats/lab-record.md.

use serde_json::{Map, Value, json};

use crate::{
    compare::{
        judge::{self, Contrast},
        session::{Compared, QuantileRatio},
    },
    record::RunContext,
    statistics::order::median,
};

impl Compared {
    /// The line for the record.
    pub fn record(&self, context: &RunContext) -> Value {
        let arm = |subject: &super::arm::Subject, nanos: &[f64]| {
            json!({
                "label": subject.label,
                "revision": subject.revision,
                "median_ns": median(nanos),
                "replicate_ns": nanos,
            })
        };
        let fields = json!({
            "base": arm(&self.pair.base, &self.base_ns),
            "candidate": arm(&self.pair.candidate, &self.candidate_ns),
            "change": self.contrast.as_ref().map(change),
            "p_wilcoxon": self.contrast.map(|contrast| contrast.p_wilcoxon),
            "p_sign": self.contrast.map(|contrast| contrast.p_sign),
            "p_verdict": self.contrast.map(|contrast| contrast.p_verdict),
            "p_holm": self.p_holm,
            "verdict": self.verdict.to_string(),
            "reason": self.reason,
            "smallest_effect": self.rules.smallest_effect,
            "alpha": self.rules.alpha,
            "power": self.rules.power,
            "detectable": self.contrast.map(|contrast| contrast.detectable),
            "replicates": self.base_ns.len(),
            "looks": self.looks,
            "runs_per_sample": self.cut.map(|cut| cut.runs_per_sample),
            "samples_per_epoch": self.cut.map(|cut| cut.samples_per_epoch),
            "control": self.control.as_ref().map(|control| self.control_record(control)),
            "quantiles": quantiles(&self.quantiles),
        });
        context.line("compare", &self.pair.name, fields)
    }

    fn control_record(&self, control: &Contrast) -> Value {
        let mut record = change(control);
        record["p_wilcoxon"] = json!(control.p_wilcoxon);
        record["rejected"] = json!(judge::rejects(control, &self.rules));
        record
    }
}

fn change(contrast: &Contrast) -> Value {
    let estimate = contrast.ln_ratio;
    json!({
        "ratio": estimate.value.exp(),
        "low": estimate.interval.low.exp(),
        "high": estimate.interval.high.exp(),
        "confidence": estimate.interval.confidence,
    })
}

fn quantiles(ratios: &[QuantileRatio]) -> Value {
    let named = ratios.iter().map(|ratio| {
        let record = json!({
            "base_ns": ratio.base_ns,
            "candidate_ns": ratio.candidate_ns,
            "ratio": ratio.ratio.value,
            "low": ratio.ratio.interval.low,
            "high": ratio.ratio.interval.high,
        });
        (ratio.name.to_owned(), record)
    });
    Value::Object(named.collect::<Map<_, _>>())
}
