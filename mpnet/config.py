"""A run's configuration: read, bound to the signatures of what it names, all faults at once."""

import inspect
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from mpnet.benchmarks import BENCHMARKS, EvaluationSplit, Source, TaskStream
from mpnet.errors import ConfigError
from mpnet.layers import FAMILIES
from mpnet.methods import METHODS, Method
from mpnet.networks import NETWORKS, Network, build_network, import_faults, is_import_path
from mpnet.plugins import load_plugins
from mpnet.reading import read_composed, set_value, shown, with_plugins
from mpnet.registry import Registry, did_you_mean
from mpnet.training import TrainingSettings

Block = dict[str, Any]


class RunConfig(BaseModel):
    """One run: a benchmark, a network of some layers, a method, and how to train.

    Each block is bound to the keyword-only arguments of what its `name` stands for; `layers` has
    no name, since the method decides on the family. `plugins` are modules that are imported first.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    benchmark: Block = {"name": "digits"}
    network: Block = {"name": "mlp"}
    layers: Block = {}
    method: Block = {"name": "ft"}
    training: TrainingSettings = TrainingSettings()
    split: EvaluationSplit = "validation"
    seed: int = Field(default=0, ge=0, lt=2**63)  # PyTorch's generators end at 2**64
    data_root: str | None = None
    plugins: tuple[str, ...] = ()
    device: str = Field(default="auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$")

    def identity(self) -> str:
        """What makes two runs the same: everything but where and how it runs, and where data lie.

        What nobody asked for of the keys that came later is left out, so that checkpoints and run
        folders from before there were any still belong to their runs.
        """
        unasked: dict[str, Any] = {"device": True, "data_root": True}
        unasked["benchmark"] = {"partial_data"}  # the data tell by themselves
        if self.benchmark.get("class_order") is None:
            unasked["benchmark"] |= {"class_order"}
        if not self.plugins:
            unasked["plugins"] = True
        unasked["training"] = self._idle_settings()
        if self.training.precision == "float32":
            unasked["training"] |= {"precision"}
        return self.model_dump_json(exclude=unasked)

    def first_task_identity(self) -> str | None:
        """What makes the first tasks of two runs the same; None if the method shares none.

        Everything in the run but its device and place, and but the method's name and those of its
        options that act only later; methods of one kind have the same options otherwise.
        """
        name, options = _named(self.method)
        own = vars(METHODS[name])  # not inherited: a subclass may train differently
        kind, later = own.get("first_task"), own.get("later_options", frozenset())
        if kind is None:
            return None
        unread: dict[str, Any] = {
            "device": True,
            "data_root": True,
            "method": True,
            "benchmark": {"partial_data"},
            "training": self._idle_settings(),
            **({} if self.plugins else {"plugins": True}),
        }
        rest = self.model_dump(mode="json", exclude=unread)
        read = {key: value for key, value in options.items() if key not in later}
        return json.dumps({**rest, "first_task": {"kind": kind, **read}}, sort_keys=True)

    def _idle_settings(self) -> set[str]:
        """The settings of the training that change no bit of this run."""
        return {"cuda_graph"} | (set() if self.training.decay == "plateau" else {"plateau_epochs"})

    def torch_device(self) -> torch.device:
        """The device of this run; "auto" is the first GPU that it can see.

        Raises:
            ConfigError: there is no such device.
        """
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        device = torch.device(self.device)
        if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
            raise ConfigError(
                f"run.device: the device must be there, but got {self.device!r} with "
                f"{torch.cuda.device_count()} CUDA devices; use auto or cpu."
            )
        return device

    def build_stream(self) -> TaskStream:
        """The benchmark's tasks, with the evaluation split that this run may see."""
        name, options = _named(self.benchmark)
        shared = {key: options.pop(key) for key in _SOURCE_KEYS & options.keys()}
        source = Source(self.split, self.data_root, **shared)
        return BENCHMARKS[name](source, **options)

    def build_network(self, stream: TaskStream) -> Network:
        """A fresh network of the method's layers for the stream."""
        name, options = _named(self.network)
        layers = FAMILIES[METHODS[self.method["name"]].family](**self.layers)
        return build_network(name, layers, stream.input_shape, stream.n_classes, **options)

    def build_method(self, stream: TaskStream) -> Method:
        """The method on a fresh network for the stream."""
        name, options = _named(self.method)
        return METHODS[name](self.build_network(stream), **options)


def load_run(path: Path, overrides: Sequence[str] = ()) -> RunConfig:
    """Read the `run:` block of a YAML file, apply dotted `key=value` overrides, check everything.

    Raises:
        ConfigError: with one line per fault.
    """
    raw, faults = _read_block(path), []
    for override in overrides:
        try:
            _apply(raw, override)
        except ConfigError as error:
            faults.append(str(error))
    try:
        run = parse_run(raw, where=f"{path.name}: run")
    except ConfigError as error:
        faults.append(str(error))
    if faults:
        raise ConfigError("\n".join(faults))
    return run


def parse_run(raw: Mapping[str, Any], where: str = "run") -> RunConfig:
    """Bind a mapping to `RunConfig` and its blocks to the signatures they name.

    Settings of the training may stand in the run itself: `epochs` is short for `training.epochs`,
    and wins over it.

    Raises:
        ConfigError: with one line per fault; those of plug-ins alone, where there are any.
    """
    faults: list[str] = []
    raw = _with_training(raw)
    config = RunConfig()
    try:
        config = RunConfig.model_validate(raw)
    except ValidationError as error:
        faults += _explained(error, where, RunConfig, "a run")
    load_plugins(config.plugins)
    blocks = {**config.model_dump(include={"benchmark", "network", "layers", "method"}), **raw}
    bound: dict[str, Block] = {}
    for key, registry in (("benchmark", BENCHMARKS), ("network", NETWORKS), ("method", METHODS)):
        bound[key] = _bind_named(registry, blocks[key], f"{where}.{key}", faults)
    name = str(bound["method"].get("name"))
    if name in METHODS:
        family = METHODS[name].family
        title = f"layers '{family}'"
        bound["layers"] = _bind(
            FAMILIES[family], blocks["layers"], f"{where}.layers", title, faults
        )
    if faults:
        raise ConfigError("\n".join(faults))
    return config.model_copy(update=bound)


def _with_training(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The run with what belongs to its training moved there."""
    short = {key: value for key, value in raw.items() if key in _TRAINING_KEYS}
    training = raw.get("training", {})
    if not short or not isinstance(training, Mapping):
        return dict(raw)
    rest = {key: value for key, value in raw.items() if key not in short}
    return {**rest, "training": {**training, **short}}


def _read_block(path: Path) -> dict[str, Any]:
    content = read_composed(path)
    block = content.get("run") if isinstance(content, dict) else None
    if not isinstance(block, dict):
        raise ConfigError(f"{path}: a block `run:` must be there, with keys and values below it.")
    return with_plugins(content, block)


def _apply(raw: dict[str, Any], override: str) -> None:
    path, equals, value = override.partition("=")
    if not equals:
        raise ConfigError(
            f"{override[:200]}: an override must read key=value, such as training.epochs=5."
        )
    set_value(raw, path.removeprefix("run.").split("."), value, override[:200])


def _bind_named(registry: Registry[Any], block: Any, where: str, faults: list[str]) -> Block:
    if not isinstance(block, dict) or not isinstance(block.get("name"), str):
        faults.append(
            f"{where}: must have a name, one of {', '.join(registry)}; got {shown(block)}."
        )
        return {}
    name, options = _named(block)
    if registry.kind == NETWORKS.kind and is_import_path(name):
        faults += [f"{where}.name: {text}" for text in import_faults(name, options)]
        return block
    if name not in registry:
        faults.append(f"{where}.name: no {registry.kind} '{name}'; {did_you_mean(name, registry)}")
        return {}
    title = f"{registry.kind} '{name}'"
    return {"name": name, **_bind(registry[name], options, where, title, faults)}


def _bind(
    member: Callable[..., object], options: Any, where: str, title: str, faults: list[str]
) -> Block:
    """The options, as the member's keyword-only arguments type them, every default filled in."""
    schema = _schema(member)
    try:
        bound = schema.model_validate(options)
        return bound.model_dump(mode="json")  # a tuple is a list, as when it is read back
    except ValidationError as error:
        faults += _explained(error, where, schema, title)
    return {}


def bound_options(member: Callable[..., object], options: Block, where: str) -> Block:
    """Options, converted to the types of the keyword-only arguments of `member`.

    Raises:
        ConfigError: with one line per fault.
    """
    faults: list[str] = []
    bound = _bind(member, options, where, where, faults)
    if faults:
        raise ConfigError("\n".join(faults))
    return bound


def options_of(member: Callable[..., object]) -> list[str]:
    """The keys that a run may set for a registered member, or for the training."""
    return list(getattr(member, "__dataclass_fields__", None) or _schema(member).model_fields)


@cache
def _schema(member: Callable[..., object]) -> type[BaseModel]:
    """A benchmark takes the keys of its source besides its own."""
    function = member.__init__ if inspect.isclass(member) else member
    types = typing.get_type_hints(function, include_extras=True)
    fields: dict[str, Any] = {
        p.name: (types[p.name], ... if p.default is p.empty else p.default)
        for p in inspect.signature(member).parameters.values()
        if p.kind is p.KEYWORD_ONLY
    }
    if Source in types.values():
        shared = typing.get_type_hints(Source, include_extras=True)
        fields |= {key: (shared[key], getattr(Source, key)) for key in sorted(_SOURCE_KEYS)}
    rules = ConfigDict(extra="forbid", allow_inf_nan=False)
    return create_model("Options", __config__=rules, **fields)


def _explained(
    error: ValidationError, where: str, schema: type[BaseModel], title: str
) -> list[str]:
    lines = []
    for fault in error.errors():
        at = ".".join([where, *(str(part) for part in fault["loc"])])
        key = str(fault["loc"][0]) if fault["loc"] else ""
        if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            is_nested = len(fault["loc"]) > 1
            known = _TRAINING_KEYS if is_nested else schema.model_fields
            hint = did_you_mean(str(fault["loc"][-1]), known)
            owner = key if is_nested else title
            lines.append(f"{at}: {owner} has no parameter '{fault['loc'][-1]}'; {hint}")
        elif fault["type"] == "missing":
            lines.append(f"{at}: {title} needs a value for '{key}'.")
        else:
            must = (fault["msg"][0].lower() + fault["msg"][1:]).replace("tuple", "list")
            lines.append(f"{at}: {must}, but got {shown(fault['input'])}.")
    return lines


_TRAINING_KEYS = TrainingSettings.__dataclass_fields__
_SOURCE_KEYS = Source.__dataclass_fields__.keys() - {"split", "data_root"}  # those are the run's


def _named(block: Block) -> tuple[str, Block]:
    return block["name"], {key: value for key, value in block.items() if key != "name"}
