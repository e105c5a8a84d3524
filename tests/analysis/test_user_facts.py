"""Facts the user states: names, values, and what a wrong one is answered."""

from __future__ import annotations

import pytest

from analysis.errors import UsageError
from analysis.user_facts import parse_facts


@pytest.mark.parametrize(
    ("item", "value"),
    [
        ("stack=TorchAir", "TorchAir"),
        ("stack=torchair", "TorchAir"),
        ("stack=atc, acl", "ATC,ACL"),
        ("stack=ATC,ATC", "ATC"),
        ("mode=Eager", "eager"),
        ("chip=Ascend910B2", "Ascend910B2"),
        ("cann=8.5.0", "8.5.0"),
        ("cann=8.2.RC1", "8.2.RC1"),
        ("torch=2.9.0+cpu", "2.9.0+cpu"),
        ("host_arch=ARM64", "aarch64"),
        ("host_cpu_cores=192", "192"),
        ("duplicate_feature_inputs=True", "true"),
        ("lazy_fusion=false", "false"),
        (" chip = a=b ", "a=b"),
    ],
)
def test_value_in_its_canonical_spelling(item, value):
    assert list(parse_facts([item]).values()) == [value]


def test_several_facts_keep_their_order():
    assert parse_facts(["torch=2.9", "mode=ge"]) == {"torch": "2.9", "mode": "ge"}


@pytest.mark.parametrize("item", ["chp=x", "chip", "=x", ""])
def test_unknown_name_is_answered_with_the_names(item):
    with pytest.raises(UsageError, match=r"stack, mode, chip, cann, torch, host_arch, host_cpu_cores"):
        parse_facts([item])


@pytest.mark.parametrize(
    ("item", "answer"),
    [
        ("mode=graph", "ge_autofuse, ge, inductor_ascendc"),
        ("mode=unknown", "ge_autofuse"),
        ("stack=ATC,Caffe", "Eager, Inductor, TorchAir"),
        ("stack=", "Eager"),
        ("host_arch=mips", "aarch64, x86_64"),
        ("lazy_fusion=yes", "true, false"),
        ("host_cpu_cores=0", "whole number"),
        ("host_cpu_cores=1.5", "whole number"),
        ("cann=latest", "such as 8.5.0"),
        ("chip=", "such as Ascend910B2"),
    ],
)
def test_bad_value_is_answered_with_the_values(item, answer):
    with pytest.raises(UsageError, match=answer):
        parse_facts([item])


def test_a_name_given_twice_must_have_one_value():
    assert parse_facts(["mode=ge", "mode=GE"]) == {"mode": "ge"}
    with pytest.raises(UsageError, match="twice: ge and eager"):
        parse_facts(["mode=ge", "mode=eager"])
