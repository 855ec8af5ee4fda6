"""Packages of the tour: a module for each, whose rows() say what makes them small."""

import importlib
import logging
import warnings

NAMES = ("torch_nn", "hugging", "timm_models", "vision")


def modules():
    return [importlib.import_module(f"families.{name}") for name in NAMES]


def preload():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    from families import extension

    extension.declare()
    for module in modules():
        if hasattr(module, "preload"):
            module.preload()
