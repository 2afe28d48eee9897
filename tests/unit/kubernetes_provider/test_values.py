from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlcluster.kubernetes_provider.secrecy import censor, seal, seal_secret_object
from mlcluster.kubernetes_provider.values import (
    SIGNATURE,
    UNKNOWN,
    Secret,
    decode,
    encode,
    has_unknown,
    plain,
    secret_paths,
)

pytestmark = pytest.mark.unit

keys = st.text(max_size=8).filter(lambda key: key != SIGNATURE)
residue = (
    st.none() | st.booleans() | st.integers(-(2**52), 2**52) | st.floats(allow_nan=False) | st.text() | st.just(UNKNOWN)
)
values: st.SearchStrategy[Any] = st.recursive(
    residue,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4) | inner.map(Secret),
    max_leaves=20,
)


@given(st.dictionaries(keys, values, max_size=5))
def test_decode_is_the_inverse_of_encode(mapping: dict[str, Any]) -> None:
    found = decode(encode(mapping))
    assert found == mapping
    assert decode(encode(found)) == found


@given(st.dictionaries(keys, values, max_size=5))
def test_plain_removes_only_secret_marks(mapping: dict[str, Any]) -> None:
    assert list(secret_paths(plain(mapping))) == []
    assert has_unknown(mapping) == has_unknown(plain(mapping))


@given(st.dictionaries(keys, values, max_size=5))
def test_sealing_like_itself_keeps_every_secret(mapping: dict[str, Any]) -> None:
    sealed = seal(plain(mapping), mapping)
    assert plain(sealed) == plain(mapping)
    for path in secret_paths(mapping):
        at: Any = sealed
        for key in path:
            if isinstance(at, Secret):
                break
            at = at[key]
        assert isinstance(at, Secret)


def test_integers_round_trip_as_int() -> None:
    found = decode(encode({"port": 80, "share": 0.5, "flag": True}))
    assert {key: type(value) for key, value in found.items()} == {"port": int, "share": float, "flag": bool}


def test_the_repr_of_a_secret_is_masked() -> None:
    assert "hunter2" not in repr(Secret("hunter2"))


def test_a_moved_list_is_sealed_whole_and_copies_are_found() -> None:
    inputs = {"env": [{"name": "A", "value": Secret("swordfish")}]}
    live = {"env": [{"name": "B"}, {"name": "A", "value": "swordfish"}], "status": {"echo": "saw swordfish"}}
    sealed = seal(live, inputs)
    assert isinstance(sealed["env"], Secret)
    assert sealed["status"]["echo"] == Secret("saw swordfish")


def test_a_secret_object_is_sealed_whatever_the_program_said() -> None:
    note = "kubectl.kubernetes.io/last-applied-configuration"
    live = {"kind": "Secret", "metadata": {"annotations": {note: "{...}", "x": "y"}}, "data": {"a": "YQ=="}}
    sealed = seal_secret_object(live)
    assert sealed["data"] == Secret({"a": "YQ=="})
    assert sealed["metadata"]["annotations"] == {note: Secret("{...}"), "x": "y"}
    other = {"kind": "ConfigMap", "data": {"a": "b"}}
    assert seal_secret_object(other) == other


def test_messages_are_censored_in_plain_text_and_base64() -> None:
    data = {"data": Secret({"p": "c3dvcmRmaXNo"})}
    assert censor("bad value c3dvcmRmaXNo, that is swordfish", data) == "bad value [secret], that is [secret]"
    assert censor("nothing here", data) == "nothing here"
