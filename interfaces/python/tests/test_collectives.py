"""Collectives where there is no GPU: refusals with their reason."""

import pytest

import anymetal
from anymetal.collectives import Collectives, new_group


def test_a_device_without_collectives_is_refused_by_name():
    with pytest.raises(anymetal.LaunchError, match="cpu.*collectives"):
        Collectives(anymetal.Device("cpu"), bytes(128), 0, 2)


def test_a_group_has_128_bytes():
    with pytest.raises(ValueError, match="128 bytes, these are 5"):
        Collectives(anymetal.Device("cpu"), b"group", 0, 2)


def test_a_group_needs_the_library():
    try:
        assert len(new_group()) == 128
    except anymetal.AnymetalError as error:
        assert "NCCL" in str(error)
