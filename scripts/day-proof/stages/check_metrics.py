"""Reads metrics with the parsers of Prometheus' Python client: check_metrics.py FILE.prom FILE.om

Both files must have the same samples, in base units."""

import math
import sys

from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics

# The types of the older format.
TYPES = {"counter", "gauge", "histogram", "unknown"}


def samples(families):
    found = {}
    for family in families:
        for sample in family.samples:
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found, key
            # Other processes write to the disk of the journal.
            if sample.name != "nanotape_recorder_journal_free_bytes":
                found[key] = sample.value
    return found


with open(sys.argv[1]) as file:
    text = file.read()
older = list(parser.text_string_to_metric_families(text))
with open(sys.argv[2]) as file:
    newer = list(openmetrics.text_string_to_metric_families(file.read()))

assert "# EOF" not in text and "# UNIT" not in text
assert {family.type for family in older} <= TYPES, {family.type for family in older}
assert all(family.documentation for family in older + newer)
for family in newer:
    assert not family.name.endswith(("_nanoseconds", "_milliseconds", "_percent")), family.name
# A clock may step between the two files, but a plant that has stopped changes nothing.
assert samples(older) == samples(newer)
assert all(math.isfinite(value) for value in samples(older).values())
kinds = {}
for family in older:
    kinds[family.type] = kinds.get(family.type, 0) + 1
print(f"{len(older)} families ({kinds}), {len(samples(older))} samples")
