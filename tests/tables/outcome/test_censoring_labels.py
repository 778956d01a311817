"""Who is censored: decided by the words, by the user, or asked."""

import warnings

import pytest

from survtrace import DataError, DataWarning
from survtrace.tables.outcome.censoring_labels import (
    Followed,
    LabelCounts,
    Meaning,
    label_numbers,
    read_meaning,
    shown,
)


def counts(**n):
    """Labels by name with their numbers of subjects, all followed alike; _1 is the number 1."""
    return LabelCounts(
        {
            int(label[1:]) if label.startswith("_") else label.replace("_", " "): Followed(
                size, 2.0 * size, 1.0, 3.0
            )
            for label, size in n.items()
        }
    )


def test_several_words_may_mean_censored():
    found = read_meaning(counts(_0=4, Alive=5, lost=2, relapse=3, death=6))
    assert found == Meaning(("death", "relapse"), (0, "Alive", "lost"))


def test_named_labels_alone_are_censored():
    assert read_meaning(counts(well=4, ill=3), "WELL ") == Meaning(("ill",), ("well",))
    assert read_meaning(counts(_1=4, _2=3), 1) == Meaning((2,), (1,))
    assert read_meaning(counts(_1=4, _2=3), "1") == Meaning((2,), (1,))
    assert read_meaning(counts(a=4, b=3, c=1), ["a", "c"]) == Meaning(("b",), ("a", "c"))
    for nobody in ([], "nobody", ["nobody"]):
        assert read_meaning(counts(_1=4, _2=3), nobody) == Meaning((1, 2), ())


def test_a_usual_word_that_is_not_named_is_a_cause_with_a_warning():
    with pytest.warns(DataWarning, match=r"0 \(4 subjects\) usually means censored; here it is a"):
        assert read_meaning(counts(_0=4, _1=3), 1) == Meaning((0,), (1,))


@pytest.mark.parametrize("censored", [None, 0, "00"])
def test_a_code_with_leading_zeros_beside_the_number_is_refused(censored):
    """Of two exports put together; 00 would have been a cause."""
    labels = {0: 5, "00": 4, 1: 3, "01": 2}
    both = LabelCounts({label: Followed(n, 2.0 * n, 1.0, 3.0) for label, n in labels.items()})
    words = r"has '00' \(4 subjects\), '01' \(2\) beside 0 \(5 subjects\), 1 \(3\)\. Write all as"
    with pytest.raises(DataError, match=words):
        read_meaning(both, censored)


def test_a_label_of_more_digits_than_a_number_has_is_a_text():
    """Python reads whole numbers of 4,300 digits at most."""
    assert read_meaning(counts(_0=5, **{"9" * 5000: 4})).causes == ("9" * 5000,)


def test_a_named_label_must_occur():
    words = r"'alive' does not. The event column has 1 \(5 subjects\), 0 \(2\)\..*censored=\[\]"
    with pytest.raises(DataError, match=words) as caught:
        read_meaning(counts(_0=2, _1=5), "alive")
    assert "--censored nobody" in caught.value.in_command
    assert read_meaning(counts(_0=2, _1=5), ["alive", 0], part=True) == Meaning((1,), (0,))


@pytest.mark.parametrize(
    ("labels", "question", "in_python", "in_command"),
    [
        (
            counts(alive=4, alive_with_disease=2, dead=3),
            r"'alive with disease' may mean censored",
            "censored=['alive', 'alive with disease'] if 'alive with disease' means censored, or "
            "censored='alive' if 'alive with disease' is a cause",
            "--censored alive --censored \"alive with disease\" if 'alive with disease' means "
            "censored, or --censored alive if",
        ),
        (
            counts(not_dead=4, dead=3),
            r"'not dead' may mean censored",
            "censored='not dead' if 'not dead' means censored, or censored=[] if",
            "--censored \"not dead\" if 'not dead' means censored, or --censored nobody if",
        ),
        (
            counts(_1=4, _2=3),
            r"has 1 \(4 subjects\), 2 \(3\), and nobody has 0. R codes 1 for censored",
            "censored=1 if 1 means censored, or censored=[] if both are causes",
            "--censored 1 if 1 means censored, or --censored nobody if both are causes",
        ),
        (
            LabelCounts({"x": Followed(4, 40, 9, 11), "y": Followed(5, 5, 1, 1)}),
            r"nobody is censored, though there are several.*Those with 'x' were followed longest",
            "censored='x' if 'x' means censored, or censored=[] if every label is a cause",
            "--censored x if 'x' means censored, or --censored nobody if",
        ),
        (
            LabelCounts(
                {0: Followed(9, 18, 1, 3), "c": Followed(7, 70, 10, 10), "a": Followed(5, 9, 1, 9)}
            ),
            r"'c' may mean censored: those who have it were followed longer than all with another",
            "censored=[0, 'c'] if 'c' means censored, or censored=0 if 'c' is a cause",
            "--censored 0 --censored c if 'c' means censored, or --censored 0 if",
        ),
    ],
    ids=["looks like it", "nobody else", "R's codes", "several labels", "the longest-followed"],
)
def test_what_is_not_clear_is_asked_with_two_answers(labels, question, in_python, in_command):
    with pytest.raises(DataError, match=question) as caught:
        read_meaning(labels)
    assert in_python in str(caught.value)
    assert in_command in caught.value.in_command
    assert "censored=" not in caught.value.in_command


@pytest.mark.parametrize(
    "name", ["alive", "isAlive", "DiseaseFree", "diseasefree", "Censored", "cens", "lebt", "CNSR"]
)
def test_a_column_that_says_who_is_alive_is_asked_about(name):
    with pytest.raises(DataError, match=rf"called '{name}'.*censored=1 if.*or censored=0 if"):
        read_meaning(counts(_0=3, _1=4), name=name)
    assert read_meaning(counts(_0=3, _1=4), 0, name=name).causes == (1,)
    assert read_meaning(counts(_0=3, _1=4), 1, name=name).causes == (0,)  # without a warning
    assert read_meaning(counts(censored=3, dead=4), name=name).causes == ("dead",)
    assert read_meaning(counts(_0=3, _1=4), name="status").causes == (1,)


@pytest.mark.parametrize(
    "name",
    [
        "status_last_contact",
        "vital status at follow-up",
        "disease_free_survival_event",
        "diseasefree survival status",
    ],
)
def test_a_column_named_by_when_the_status_was_asked_is_not_questioned(name):
    assert read_meaning(counts(_0=3, _1=4), name=name).causes == (1,)
    with pytest.raises(DataError, match="it may say 1 of those who are censored"):
        read_meaning(counts(_0=3, _1=4), name=f"lost {name}")


@pytest.mark.parametrize("name", ["vital_status", "VitalStatus", "Vital Status Recode"])
def test_a_vital_status_of_which_1_lived_longer_is_asked_about(name):
    longer, shorter = Followed(4, 60, 5, 20), Followed(3, 12, 2, 6)
    words = r"0 for dead and 1 for alive.*censored=1 if 1 means alive, or censored=0 if 1 means"
    with pytest.raises(DataError, match=words):
        read_meaning(LabelCounts({0: shorter, 1: longer}), name=name)
    assert read_meaning(LabelCounts({0: shorter, 1: longer}), 1, name=name).causes == (0,)
    assert read_meaning(LabelCounts({0: longer, 1: shorter}), name=name).causes == (1,)
    assert read_meaning(LabelCounts({0: shorter, 1: longer}), name="status").causes == (1,)
    assert read_meaning(LabelCounts({0: shorter, 1: longer}), name=name, ask=False).causes == (1,)
    assert read_meaning(
        LabelCounts({0: shorter, 1: longer}), name=name, late_entry=True
    ).causes == (1,)


def test_reasons_for_censoring_are_asked_about_together():
    """SAS's CNSR is 0 for an event, and 1, 2, .. for the reasons; they would have been causes."""
    words = r"say 1, 2 of those.*censored=\[1, 2\] if 1, 2 mean censored, or censored=0 if"
    with pytest.raises(DataError, match=words):
        read_meaning(counts(_0=9, _1=4, _2=3), name="CNSR")
    with pytest.raises(DataError, match="R codes 1 for censored"):
        read_meaning(counts(_1=4, _2=3), name="alive")


def test_an_unknown_beside_the_living_does_not_make_the_dead_censored():
    words = r"censored=\['Yes', 'Unknown'\] if 'Yes' means.*censored=\['No', 'Unknown'\] if 'Yes'"
    with pytest.raises(DataError, match=words):
        read_meaning(counts(Yes=9, No=4, Unknown=3), name="alive")


def test_where_nobody_is_surely_censored_the_second_answer_says_so_of_every_label():
    """By its first half alone, one would make a cause of those still in hospital."""
    labels = counts(in_hospital=9, discharged_alive=5, died=3)
    words = r"censored=\[\] if 'discharged alive' is a cause, and so is every other label"
    with pytest.raises(DataError, match=words):
        read_meaning(labels)


def test_of_several_doubtful_labels_some_may_be_causes():
    labels = counts(still_in_hospital=9, discharged_alive=5, died=3)
    words = "each of 'still in hospital', 'discharged alive' may mean.* Name those that mean cens"
    with pytest.raises(DataError, match=words):
        read_meaning(labels)


def test_one_label_and_a_fold_are_not_questioned():
    assert read_meaning(counts(_1=4)) == Meaning((1,), ())
    assert read_meaning(counts(_1=4, _2=3), ask=False) == Meaning((1, 2), ())


def test_an_identifier_is_no_event():
    with pytest.raises(DataError, match="40 different ones among 40 subjects look like an ident"):
        read_meaning(counts(**{f"p{i}": 1 for i in range(40)}))
    with pytest.raises(DataError, match="101 different ones among 1019 subjects"):
        read_meaning(counts(_0=9, **{f"p{i}": 10 for i in range(101)}))
    with pytest.raises(DataError, match="10 different ones among 11 subjects look like an ident"):
        read_meaning(counts(_0=1, **{f"p{i}": 1 for i in range(10)}))
    few = {f"p{i}": 1 for i in range(9)}
    assert len(read_meaning(counts(_0=1, **few)).causes) == 9


def test_spellings_of_a_cause_are_one_with_a_warning():
    with pytest.warns(DataWarning, match=r"same cause: \{'died': 'Died', 'DIED': 'Died'\}"):
        found = read_meaning(counts(_0=4, Died=5, died=2, DIED=1))
    assert found.causes == ("Died",)
    assert label_numbers(["Died", "DIED", "died"], found) == [1, 1, 1]


def test_a_number_far_above_the_others_is_a_cause_with_a_warning():
    with pytest.warns(DataWarning, match=r"9 \(2 subjects\) is a cause, but such a number often"):
        read_meaning(counts(_0=4, _1=5, _9=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_meaning(counts(_0=4, _1=5, _3=2))
        read_meaning(counts(_0=4, _5=5, _7=1, _9=2))
        read_meaning(counts(_0=4, _9=2))  # nothing to be far above


def test_the_labels_of_a_fit_are_found_again():
    meaning = Meaning((0, "dead"), (1, "well"))
    assert label_numbers([0, 1, "Well", "DEAD", "alive", "x"], meaning) == [1, 0, 0, 2, 0, None]


def test_counts_of_parts_add_up():
    both = LabelCounts({0: Followed(1, 5.0, 5.0, 5.0)}) | LabelCounts(
        {0: Followed(2, 4.0, 1.0, 3.0), "a": Followed(1, 1.0, 1.0, 1.0)}
    )
    assert both == {0: Followed(3, 9.0, 1.0, 5.0), "a": Followed(1, 1.0, 1.0, 1.0)}


@pytest.mark.parametrize("code", [9, 88, 99, 888, 999, 9999])
def test_a_number_far_above_other_causes_may_mean_not_known(code):
    labels = counts(_0=5, _1=4, _2=3) | counts(**{f"_{code}": 2})
    with pytest.warns(DataWarning, match=rf"{code} \(2 subjects\) is a cause, but such a number"):
        assert read_meaning(labels) == Meaning((1, 2, code), (0,))
    read_meaning(counts(_0=5, _1=4, _2=3) | counts(**{f"_{code - 2}": 2}))


@pytest.mark.parametrize("censored", [{"alive": 0}, [["alive"]], ["alive", {0}]], ids=repr)
def test_a_label_is_a_number_or_a_text(censored):
    with pytest.raises(DataError, match=r"censored must be a label of .*censored=\['alive'\]"):
        read_meaning(counts(alive=4, ill=3), censored)


@pytest.mark.parametrize(("code", "near"), [(9, 5), (88, 44), (99, 50), (888, 444)])
def test_a_number_is_far_above_one_that_is_less_than_its_half(code, near):
    read_meaning(counts(_0=5, _1=4) | counts(**{f"_{near}": 3, f"_{code}": 2}))
    with pytest.warns(DataWarning, match=rf"{code} \(2 subjects\) is a cause, but"):
        read_meaning(counts(_0=5, _1=4) | counts(**{f"_{near - 1}": 3, f"_{code}": 2}))


@pytest.mark.parametrize(
    ("late", "others"),
    [
        (Followed(4, 40.0, 10.0, 10.0), Followed(5, 9.0, 1.0, 9.0)),
        (Followed(5, 50.0, 9.0, 11.0), Followed(5, 9.0, 1.0, 9.0)),
    ],
    ids=["of four subjects", "from the last of the others on"],
)
def test_a_label_of_few_or_not_of_the_longest_followed_alone_is_a_cause(late, others):
    labels = LabelCounts({0: Followed(9, 18.0, 1.0, 3.0), "c": late, "a": others})
    assert read_meaning(labels) == Meaning(("a", "c"), (0,))


def test_a_late_death_and_a_single_cause_are_not_doubted():
    late, early = Followed(7, 70.0, 10.0, 10.0), Followed(5, 9.0, 1.0, 9.0)
    labels = LabelCounts({0: Followed(9, 18.0, 1.0, 3.0), "died": late, "a": early})
    assert read_meaning(labels).causes == ("a", "died")
    assert read_meaning(LabelCounts({0: early, "c": late})).causes == ("c",)


def test_twelve_labels_are_shown_and_the_rarest_are_counted():
    labels = counts(**{f"_{k}": 20 - k for k in range(12)})
    assert shown(labels).endswith("10 (10), 11 (9)")
    assert shown(labels | counts(_12=8)).endswith("10 (10), 11 (9) and 1 more")
    assert shown(labels | counts(_12=8, _13=7)).endswith("11 (9) and 2 more")
