"""The stubs name what there is, and nothing else."""

import ast
import pathlib

import anymetal
from anymetal import _native

STUB = ast.parse((pathlib.Path(anymetal.__file__).parent / "_native.pyi").read_text())


def members(body):
    names = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


def public(names):
    return {name for name in names if not name.startswith("_")}


def test_the_module_and_its_stub_have_the_same_names():
    assert public(members(STUB.body)) == public(dir(_native))


def test_classes_and_their_stubs_have_the_same_names():
    for node in STUB.body:
        if isinstance(node, ast.ClassDef):
            assert public(members(node.body)) == public(dir(getattr(_native, node.name))), node.name


def test_the_package_is_typed():
    assert (pathlib.Path(anymetal.__file__).parent / "py.typed").exists()
