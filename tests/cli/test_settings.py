"""Settings come from a file and from the command line, each typed by its rule."""

import json

import pytest

from survtrace import SettingError
from survtrace.cli.settings import gather_settings, read_config, read_value


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("n_members", "4", 4),
        ("lr", "1e-3", 0.001),
        ("batch_size", "auto", "auto"),
        ("batch_size", "64", 64),
        ("anneal", "none", None),
        ("token_bias", "False", False),
        ("recalibrate", "auto", "auto"),
        ("ips", "none", "none"),
        ("time_grid", "0,12,60", (0, 12, 60)),
        ("device", "cpu", "cpu"),
    ],
)
def test_a_value_is_typed_by_the_rule_of_its_setting(name, text, value):
    assert read_value(name, text) == value
    assert type(read_value(name, text)) is type(value)


@pytest.mark.parametrize(
    ("name", "content"),
    [("s.json", '{"width": 8, "lr": 0.01}'), ("s.toml", "width = 8\nlr = 0.01")],
)
def test_pairs_stand_above_the_file_and_the_seed_above_all(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    found = gather_settings(tmp_path / name, ["width=16", "random_state=3"], seed=5)
    assert found == {"width": 16, "lr": 0.01, "random_state": 5}


def test_without_a_seed_it_is_0():
    assert gather_settings(None, []) == {"random_state": 0}


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("n_member=3", r"no setting 'n_member'; did you mean 'n_members'\?"),
        ("LR=0.1", r"no setting 'LR'; did you mean 'lr'\?"),
        ("zzz=3", r"no setting 'zzz'; they are \['about'"),
        ("n_members", "takes name=value"),
        ("n_members=0", "a whole number of at least 1 and at most 10000; got 0"),
        ("width=2.5", "a whole number of at least 1 and at most 16384; got 2.5"),
        ("ips=magic", "ips must be one of"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_way_out(pair, words):
    with pytest.raises(SettingError, match=words):
        gather_settings(None, [pair])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("s.yaml", "", r"must end in \.json or \.toml"),
        ("s.json", "{", "could not be read as settings"),
        ("s.toml", "= 3", "could not be read as settings"),
        ("s.json", "[3]", "must map names of settings to values"),
        ("s.json", json.dumps({"widht": 8}), "did you mean 'width'"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(SettingError, match=words):
        gather_settings(tmp_path / name, [])


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SettingError, match=r"none\.json does not exist"):
        read_config(tmp_path / "none.json")
