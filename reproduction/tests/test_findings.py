"""The findings: a reason, trace or flaw is reported if and only if the records have its evidence.

The paper prints for WINE, Ratio Cut: KM 0.0154 with accuracy 0.7135 and NMI 0.4195, KM-norm 0.0402
with 0.7303 and 0.4214, first order 0.0154 with 0.7303 and 0.4214, SR 0.0419 with 0.6910 and 0.4016.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.data import printed
from reproduction.report import reasons as why
from reproduction.report.contents import ORDER, all_flaws, contents
from reproduction.report.evidence import (
    NOT_FOUND,
    OTHER_METHOD,
    OTHER_VALUE,
    PAIR_ALONE,
    SAME_METHOD,
    evidence,
    traces,
)
from reproduction.report.findings import checks, claims, iterations_needed, stable_datasets
from reproduction.report.flaws import FLAWS, flaws_of_the_theory
from reproduction.report.flaws_measured import flaws_measured
from reproduction.report.reasons import reasons
from reproduction.report.summary import UNEXPLAINED, summary, tallies
from reproduction.report.table import places
from reproduction.report.tables import NOT_PRINTED, TABLES
from reproduction.runs.experiments import EVIDENCE
from reproduction.runs.methods import (
    DIRECT,
    FIRST_ORDER,
    IMPROVED,
    KMEANS,
    KMEANS_NORM,
    PARTITION,
    ROTATION,
    identity_starts,
    many_seeds,
    searched_starts,
    sign_choices,
    single_starts,
)
from reproduction.tests.helpers import measured_on_wine

KM = (0.0154, 0.7135, 0.4195)
KM_NORM = (0.0402, 0.7303, 0.4214)


def one(column, value, accuracy=0.5, nmi=0.5, *, labels="0" * 12, dataset="wine", cut="ratio"):
    """Return a record of a table."""
    return {
        "experiment": "objective",
        "dataset": dataset,
        "cut": cut,
        "method": column.method,
        "parameters": dict(column.parameters),
        "seed": 0,
        "value": value,
        "accuracy": accuracy,
        "nmi": nmi,
        "labels": labels,
    }


def many(columns, column, runs, *, dataset="wine", cut="ratio", **more):
    """Return a record of many runs, each (value, accuracy, nmi)."""
    (shared,) = (one for one in columns if one.method == column.method)
    values, accuracies, nmis = zip(*runs, strict=True)
    return {
        **one(column, values[0], dataset=dataset, cut=cut),
        "experiment": EVIDENCE,
        "parameters": dict(shared.parameters),
        "values": list(values),
        "accuracies": list(accuracies),
        "nmis": list(nmis),
        "partitions": [f"{column.method}{run}" for run in runs],
        **more,
    }


def reason_of(records, table="objective"):
    """Return the reason of the only difference in a table, and its evidence."""
    (reason,) = [(r.text, d.detail) for r in reasons(records) for d in r.places if d.table == table]
    return reason


MISS = (0.03, 0.6, 0.3)
HIT = (0.0154, 0.6, 0.3)


@pytest.mark.parametrize(
    ("columns", "column", "text", "noun"),
    [
        (many_seeds(), KMEANS, why.OTHER_SEEDS, "seeds"),
        (single_starts(), KMEANS, why.FEWER_STARTS, "single starts"),
        (
            identity_starts(),
            IMPROVED,
            why.IDENTITY_FIRST,
            "starts from the identity",
        ),
    ],
)
@given(hits=st.integers(0, 4))
def test_a_reason_is_given_iff_runs_have_the_printed_value(columns, column, text, noun, hits):
    records = [one(column, 0.02, 0.6, 0.3)]
    records.append(many(columns, column, [MISS] * 3 + [HIT] * hits))
    reason, detail = reason_of(records)
    assert (reason == text) == (hits > 0)
    if hits:
        assert detail == f"{hits} of {hits + 3} {noun}, none with the printed accuracy and NMI"


def test_signs_are_a_reason_only_for_sr_and_only_if_they_give_the_number():
    table = one(ROTATION, 0.03, 0.6, 0.3)
    miss = many([sign_choices()], ROTATION, [MISS] * 4, choices=8, tried=4)
    hit = many([sign_choices()], ROTATION, [MISS, (0.0419, 0.6, 0.3)], choices=8, tried=2)
    assert reason_of([table, miss])[0] == why.ALL_BETTER
    text, detail = reason_of([table, hit])
    assert text == why.OTHER_SIGNS
    assert detail.startswith("1 of 2 choices of signs")
    assert reason_of([one(KMEANS, 0.03, 0.6, 0.3), hit])[0] == why.ALL_WORSE


def test_a_search_over_many_starts_explains_a_cell_only_if_all_three_numbers_match():
    table = one(KMEANS, 0.03, 0.6, 0.3)
    nothing = many(searched_starts(), KMEANS, [MISS], tried=4096)
    assert reason_of([table, nothing])[0] == why.ALL_WORSE
    chance = many(searched_starts(), KMEANS, [MISS, (0.0154, 0.6, 0.3)], tried=4096)
    assert reason_of([table, chance]) == (why.BY_CHANCE, "1 of 4,096 single starts")
    match = many(searched_starts(), KMEANS, [MISS, (0.0154, 0.7135, 0.4195)], tried=4096)
    assert reason_of([table, match]) == (why.FOUND_BY_SEARCH, "1 of 4,096 single starts")
    assert reason_of([table, match], "nmi") == (why.SAME_RUN, "1 of 4,096 single starts")


def test_a_run_with_all_three_numbers_is_not_reported_as_possible_chance():
    table = one(ROTATION, 0.03, 0.6, 0.3)
    runs = [(0.0419, 0.6910, 0.4016), MISS]
    record = many([sign_choices()], ROTATION, runs, choices=8, tried=2)
    assert (
        reason_of([table, record])[1]
        == "1 of 2 choices of signs, with the printed accuracy and NMI"
    )
    assert reason_of([table, record], "nmi")[0] == why.SAME_RUN


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ((0.02, 0.03), why.ALL_WORSE),
        ((0.01, 0.012), why.ALL_BETTER),
        ((0.01, 0.03), why.AMONG),
    ],
)
def test_a_number_that_no_run_has_is_compared_with_the_range_of_all_runs(values, expected):
    runs = [(value, 0.6, 0.3) for value in values]
    record = many(many_seeds(), KMEANS, runs)
    text, detail = reason_of([one(KMEANS, values[0], 0.6, 0.3), record])
    assert text == expected
    # the run of the table is one of them
    assert detail == f"{values[0]:.4f} to {values[1]:.4f} in 3 runs"
    assert text in UNEXPLAINED


def test_an_accuracy_without_the_other_two_numbers_is_reported_as_possible_chance():
    table = one(KMEANS, 0.02, 0.6, 0.4195)
    alone = many(many_seeds(), KMEANS, [(0.03, 0.7135, 0.3), MISS])
    assert reason_of([table, alone], "accuracy") == (why.ALONE, "1 of 2 seeds")
    match = many(many_seeds(), KMEANS, [KM, MISS])
    assert reason_of([table, match], "accuracy") == (why.SAME_RUN, "1 of 3 runs")


def test_a_larger_accuracy_is_better():
    records = [one(KMEANS, 0.02, 0.9, 0.4195)]
    assert reason_of(records, "accuracy")[0] == why.ALL_BETTER
    assert reason_of([one(KMEANS, 0.02, 0.6, 0.4195)], "accuracy")[0] == why.ALL_WORSE


def test_several_partitions_are_a_reason_iff_another_recorded_one_has_the_number():
    """The cut values agree, but the accuracy is not 0.7135 as printed."""
    table = one(KMEANS, 0.0154, 0.6, 0.4195, labels="a")
    assert reason_of([table], "accuracy") == (why.NO_PARTITION, "0.6000")
    again = many(many_seeds(), KMEANS, [(0.0154, 0.6, 0.4195)], partitions=["a"])
    assert reason_of([table, again], "accuracy") == (why.NO_PARTITION, "0.6000")
    other = many(many_seeds(), KMEANS, [(0.01541, 0.65, 0.3)])
    assert reason_of([table, other], "accuracy") == (why.NO_PARTITION, "0.6000 to 0.6500")
    printed_one = many(many_seeds(), KMEANS, [(0.01541, 0.7135, 0.3)])
    assert reason_of([table, printed_one], "accuracy") == (why.SEVERAL, "1 of 2 partitions")
    misprint = one(KMEANS, 0.0154, 0.7335, 0.4195)
    assert reason_of([misprint], "accuracy") == (why.NO_PARTITION, "0.7335, differs in one digit")


def kinds(records, column, cut="ratio"):
    return {t.kind for t in traces(evidence(records)) if (t.column, t.cut) == (column.label, cut)}


def test_a_printed_cell_is_traced_to_the_runs_with_its_numbers():
    assert traces(evidence([])) == []
    assert kinds([one(KMEANS, *KM)], KMEANS) == {SAME_METHOD}
    assert kinds([one(IMPROVED, *KM)], KMEANS) == {OTHER_METHOD}
    assert kinds([one(IMPROVED, *MISS)], KMEANS) == {NOT_FOUND}
    # first order is printed with the cut value of KM and the accuracy and NMI of KM-norm
    value, pair = one(FIRST_ORDER, 0.0154, 0.7135, 0.4195), one(KMEANS_NORM, *KM_NORM)
    assert kinds([value, pair], FIRST_ORDER) == {OTHER_VALUE}
    assert kinds([pair], FIRST_ORDER) == {PAIR_ALONE}
    assert kinds([value], FIRST_ORDER) == {NOT_FOUND}


def test_inconsistent_numbers_are_reported_with_the_partition_they_belong_to():
    records = [one(FIRST_ORDER, 0.0154, 0.7135, 0.4195), one(KMEANS_NORM, *KM_NORM)]
    text, detail = reason_of(records, "accuracy")
    assert text == why.CROSSED
    assert detail == "KM-norm at 0.0402; 1 partition at 0.0154"
    (flaw,) = [flaw for flaw in flaws_measured(records) if flaw.name == "crossed"]
    assert flaw.text.endswith(": WINE first order (ratio).")
    (cell,) = flaw.cells
    assert cell.startswith("WINE, Ratio Cut, first order: 0.7303 and 0.4214 at 0.0154; ours by ")
    alone = [flaw.name for flaw in flaws_measured(records[:1])]
    assert "crossed" not in alone
    # a partition under the other cut is named as such
    crossed = [records[0], one(KMEANS_NORM, *KM_NORM, cut="normalized")]
    assert reason_of(crossed, "accuracy")[1].startswith("KM-norm under the normalized cut")


def copied(records):
    """Return the cells of the flaw about copied NMIs."""
    flaws = [flaw for flaw in flaws_measured(records) if flaw.name == "copied"]
    assert all("GLASS SR (ratio)" in flaw.text for flaw in flaws)
    return [cell for flaw in flaws for cell in flaw.cells]


def test_a_copied_nmi_is_reported_iff_its_source_is_confirmed_and_its_own_cell_is_not():
    """The paper prints the NMI of KM for SR on GLASS, whose cut value and accuracy differ."""
    table = one(ROTATION, 0.2785, 0.4065, 0.3344, dataset="glass")
    source = one(KMEANS, 0.2876, 0.4019, 0.2978, dataset="glass")
    (text,) = copied([table, source])
    assert "GLASS, Ratio Cut, SR (0.2785): 0.2978 as KM (0.2876)" in text
    assert "(ours with its cut value and accuracy: 0.3344)" in text
    assert copied([table]) == []
    match = one(ROTATION, 0.2785, 0.4065, 0.2978, dataset="glass")
    assert copied([match, source]) == []


def test_starts_are_counted_if_the_median_misses_the_printed_value():
    seeds = [one(KMEANS, 0.7, dataset="umist"), one(KMEANS, 0.8, dataset="umist") | {"seed": 1}]
    runs = [(0.7406, 0.5, 0.5), (0.6, 0.5, 0.5)]
    single = many(single_starts(), KMEANS, runs, dataset="umist")
    (text,) = [flaw.text for flaw in flaws_measured([*seeds, single]) if flaw.name == "few starts"]
    assert "On UMIST, " in text
    assert "above it in 1." in text
    assert text.endswith("KM 1 / 0 of 1.")
    ten = many(many_seeds(), KMEANS, runs, dataset="umist")
    (text,) = [flaw.text for flaw in flaws_measured([*seeds, ten]) if flaw.name == "few starts"]
    assert text.endswith("KM 0 / 1 of 1.")


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(0.0154, "same"), (0.0156, "near"), (0.01, "better"), (0.02, "worse")],
)
def test_a_tally_counts_every_printed_number_once(value, verdict):
    records = [one(KMEANS, value, 0.7135, 0.5)]
    by_table = {tally.table: tally for tally in tallies(records)}
    assert {tally.of for tally in by_table.values()} == {1}
    assert getattr(by_table["objective"], verdict) == 1
    assert by_table["accuracy"].same == by_table["nmi"].better == 1


def test_differences_and_tallies_count_the_same_cells():
    records = [one(KMEANS, 0.02, 0.9, 0.4), one(IMPROVED, 0.0154, 0.7, 0.4)]
    listed = sum(len(reason.places) for reason in reasons(records))
    assert listed == sum(tally.better + tally.worse for tally in tallies(records))
    sentences = summary(records, tallies(records), reasons(records))
    assert sentences[0].startswith("Of the 6 values")
    assert sentences[1].startswith(f"The other {listed} differ by more")
    assert summary([], [], []) == []


def test_our_search_is_compared_with_the_smallest_printed_value():
    better, same = one(PARTITION, 0.0113), one(PARTITION, 0.09707, dataset="jaffe")
    (sentence,) = summary([better, same], [], [])
    assert "in 1 of 2 cells, by a median of 27%" in sentence


def test_a_method_of_the_paper_without_printed_values_is_marked():
    records = [one(c, 0.1, cut=cut) for c in (KMEANS, DIRECT) for cut in printed.CUT_TITLES]
    ratio, normalized = TABLES["objective"](records).sections
    assert ratio.heads == ("KM", "DNC" + NOT_PRINTED)
    assert normalized.heads == ("KM", "DNC")
    # a dataset that is not in the paper does not mark the columns
    other = [{**record, "dataset": "iris"} for record in records]
    assert TABLES["objective"](other).sections[0].heads == ("KM", "DNC")


def test_a_dataset_is_stable_if_all_seeds_of_k_means_agree():
    steady = [one(KMEANS, 0.2), {**one(KMEANS, 0.201), "seed": 1}]
    assert stable_datasets(steady) == ["WINE"]
    assert stable_datasets([*steady, {**one(KMEANS, 0.3), "seed": 2}]) == []


def shown(table, records, row, section=0):
    """Return the texts of a row of a table by column."""
    block = TABLES[table](records).sections[section]
    return {
        head: entry.text
        for label, entries in block.rows
        if label == row
        for head, entry in zip(block.heads, entries, strict=True)
    }


def test_seeds_that_reach_a_printed_value_are_counted():
    record = many(many_seeds(), KMEANS, [HIT, MISS, (0.01545, 0.6, 0.3)])
    row = shown("seeds", [record], "WINE")
    assert (row["KM, printed"], row["KM, reached"]) == ("0.0154", "2 of 3")
    assert row["ISR, reached"] is None


def test_random_labels_and_the_identity_are_counted_separately():
    """The printed value of ISR is 0.0154: reached from random labels, or from the identity."""
    hit, miss = [HIT, MISS], [MISS, MISS]
    for random, identity, expected in (
        (hit, miss, ["1", "1", "0", "1", "0", "1"]),
        (miss, hit, ["1", "0", "1", "0", "1", "0"]),
        (hit, hit, ["1", "1", "1", "0", "0", "0"]),
        (miss, miss, ["1", "0", "0", "0", "0", "1"]),
    ):
        records = [
            many(single_starts(), IMPROVED, random),
            many(identity_starts(), IMPROVED, identity),
        ]
        assert list(shown("identity", records, "ISR", section=1).values()) == expected


def test_signs_are_counted_with_the_number_of_all_choices():
    runs = [(0.0419, 0.6, 0.3), (0.0419, 0.6, 0.3), (0.05, 0.5, 0.3), MISS]
    row = shown("signs", [many([sign_choices()], ROTATION, runs, choices=8, tried=4)], "WINE")
    assert row["choices tried"] == "4 of 8"
    assert (row["partitions"], row["at the printed value"]) == ("3", "2")


def theorem(method, **more):
    return {
        **one(KMEANS, 1.5),
        "experiment": "theorems",
        "method": method,
        "parameters": {},
        **more,
    }


def outcome(records, beginning):
    (claim,) = [c for c in claims(records) if c.text.startswith(beginning)]
    return claim.met, claim.of


def test_claims_of_the_theory_are_counted():
    second = theorem("theorem 2", rho2_best=1.0, limit=7.0, trivial=6.0)
    assert outcome([second], "Theorem 2 is stronger") == (0, 1)
    assert outcome([{**second, "limit": 5.0}], "Theorem 2 is stronger") == (1, 1)
    assert [f.name for f in flaws_of_the_theory([second])] == ["theorem two"]
    assert flaws_of_the_theory([{**second, "limit": 5.0}]) == []
    first = theorem("theorem 1", limit=3.0, our_limit=1.6, sigma=1.0)
    assert outcome([first], "Theorem 1 holds") == (1, 1)
    assert outcome([{**first, "our_limit": 1.4}], "Theorem 1 holds") == (0, 1)
    pairs = theorem("corollary 1", different=3, pairs=6, met=1, met_ours=2, broken=0, swapped=0)
    assert outcome([pairs], "Corollary 1") == (1, 1)
    assert outcome([{**pairs, "broken": 1}], "Corollary 1") == (0, 1)


def converging(history):
    return {**one(FIRST_ORDER, 0.1), "experiment": "convergence", "history": history}


def test_iterations_are_counted_until_the_loss_stops_decreasing():
    assert iterations_needed(converging([3.0, 2.0, 2.0])) == 2
    assert iterations_needed(converging([2.0])) == 1
    late = converging([float(20 - i) for i in range(11)])
    soon = converging([float(20 - i) for i in range(10)] + [11.0])
    assert (iterations_needed(late), iterations_needed(soon)) == (11, 10)
    records = [late, {**soon, "seed": 1}]
    (claim,) = [c for c in claims(records) if "converges" in c.text]
    assert (claim.met, claim.of) == (1, 2)
    (flaw,) = [f for f in flaws_measured(records) if f.name == "ten iterations"]
    assert flaw.text.endswith("WINE, Ratio Cut: 1 of 2.")
    assert not [f for f in flaws_measured([soon]) if f.name == "ten iterations"]


@pytest.fixture
def measured():
    return measured_on_wine()


def test_every_flaw_is_described_once_and_linked_elsewhere(measured):
    page = contents(measured)
    described = [flaw.name for item in page.items for flaw in item.flaws]
    assert len(described) == len(set(described))
    for item in page.items:
        assert {flaw.name for flaw in item.see} <= set(described)
        for flaw in (*item.flaws, *item.see):
            assert item.content.name in flaw.where
    for flaw in all_flaws(measured):
        assert set(flaw.where) <= set(ORDER)
        assert flaw.text.endswith(".")
    assert {flaw.name for flaw in FLAWS} >= {"two clusters", "smallest"}


def test_the_evidence_includes_records_with_fewer_runs_than_usual(measured):
    """A quick run has other numbers of runs."""
    runs = evidence(measured)
    assert {run.kind for run in runs.of("wine", "ratio", "KM")} == {
        "table",
        "single start",
        "seeds",
        "searched",
    }
    assert len([run for run in runs.of("wine", "ratio", "SR") if run.kind == "signs"]) == 4


def test_claims_and_differences_are_counted_on_real_runs(measured):
    for theorem in ("Theorem 1 holds", "Corollary 1 holds", "Theorem 2 holds"):
        met, of = outcome(measured, theorem)
        assert met == of > 0
    assert outcome(measured, "The gradient term") == (2, 2)
    assert outcome(measured, "Theorem 2 is stronger") == (0, 2)
    assert all(0 <= check.met <= check.of for check in [*checks(measured), *claims(measured)])
    assert claims([]) == []
    page = contents(measured)
    assert len(page.summary) == 3
    assert all(sentence.endswith(".") for sentence in page.summary)
    listed = {(d.table, d.row, d.cut, d.column) for r in page.reasons for d in r.places}
    over = {
        (name, row, cut, head)
        for name in ("objective", "accuracy", "nmi")
        for cut, row, head, e in places(TABLES[name](measured))
        if e.verdict(larger_is_better=name != "objective") in ("better", "worse")
    }
    assert listed == over
