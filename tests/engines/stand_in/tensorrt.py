"""Stands in for TensorRT in tests: reads the model's name, and does what it says (refuse, crash, hang, fail)."""

import os
import time
from enum import IntEnum
from pathlib import Path

__version__ = "10.9.0.34"


class _Anything:
    """Has every attribute, takes every call; what Polygraphy sets on it stays."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything()

    def __call__(self, *arguments, **options):
        return _Anything()

    def __iter__(self):
        return iter(())


class Severity(IntEnum):
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = range(5)


class ILogger:
    INTERNAL_ERROR, ERROR, WARNING, INFO, VERBOSE = Severity


class Logger(ILogger):
    pass


class MemoryPoolType(IntEnum):
    WORKSPACE = 0


class BuilderFlag(IntEnum):
    FP16 = 0
    TF32 = 1
    INT8 = 2
    REFIT = 3
    STRIP_PLAN = 4
    VERSION_COMPATIBLE = 5


class HardwareCompatibilityLevel(IntEnum):
    NONE, AMPERE_PLUS = range(2)


class TimingCache:
    def __init__(self, data):
        self.data = data

    def combine(self, other, ignore_mismatch):
        self.data = bytes(other.data) + bytes(self.data)
        return True

    def serialize(self):
        return memoryview(bytes(self.data) + b"t")


class NetworkDefinitionCreationFlag(IntEnum):
    STRONGLY_TYPED = 1


class DeviceType(IntEnum):
    GPU = 0
    DLA = 1


class DataType(IntEnum):
    FLOAT, HALF, INT8, INT32, BOOL = range(5)


float32, float16, int8, int32, bool = DataType


class Tensor:
    dtype = DataType.FLOAT
    is_shape_tensor = False

    def __init__(self, name, shape):
        self.name, self.shape = name, shape


class Network:
    num_layers = 3

    def __init__(self):
        self.model = ""

    @property
    def num_inputs(self):
        return 1

    num_outputs = num_inputs

    def get_input(self, _index):
        return Tensor("x", (-1 if "dynamic" in self.model else 1, 4))

    def get_output(self, _index):
        return Tensor("y", (1, 4))

    def __iter__(self):
        return iter(())


class Config:
    DLA_core = -1
    default_device_type = None
    num_optimization_profiles = 1
    limit = (None, None)
    builder_optimization_level = 3

    def __init__(self):
        self.flags = set()
        self.cache = None

    def get_flag(self, flag):
        return flag in self.flags

    def set_flag(self, flag):
        self.flags.add(flag)

    def create_timing_cache(self, data):
        return TimingCache(data)

    def set_timing_cache(self, cache, ignore_mismatch):
        self.cache = cache

    def get_timing_cache(self):
        return self.cache

    def set_memory_pool_limit(self, pool, size):
        self.limit = (pool, size)

    def get_memory_pool_limit(self, _pool):
        return self.limit[1] or 0

    def add_optimization_profile(self, _profile):
        return 0


class Builder:
    def __init__(self, logger):
        if os.environ.get("STAND_IN_BROKEN_DRIVER"):
            raise TypeError("factory function returned nullptr")
        self.logger = logger

    def create_network(self, flags=0):
        return Network()

    def create_builder_config(self):
        return Config()

    def create_optimization_profile(self):
        return _Anything()

    def build_serialized_network(self, network, config):
        if "no-kernel" in network.model:
            self.logger.log(ILogger.ERROR, "Error Code 10: no implementation for node y")
            return None
        if "build-crash" in network.model:
            os.abort()
        if "build-hang" in network.model:
            Path(os.environ["STAND_IN_PID"]).write_text(str(os.getpid()))
            time.sleep(60)
        return f"engine of {network.model} with {config.limit[1]}".encode()


class ParserError:
    def __init__(self, **answers):
        self._answers = answers

    def __getattr__(self, name):
        if name.startswith("__") or name not in self._answers:
            raise AttributeError(name)
        return lambda: self._answers[name]


class OnnxParser:
    def __init__(self, network, logger):
        self.network, self.errors = network, []

    @property
    def num_errors(self):
        return len(self.errors)

    def get_error(self, index):
        return self.errors[index]

    def parse_from_file(self, path):
        self.network.model = Path(path).stem
        if "parse-crash" in path:
            os.write(2, b"double free or corruption\n")
            os.abort()
        if path.endswith("/hang.onnx"):
            time.sleep(60)
        if "refused" in path:
            # An old release: no node name, no operator.
            self.errors = [ParserError(node=2, code="ErrorCode.UNSUPPORTED_NODE", desc="no importer", func="parseGraph")]
            return False
        return True


class Registry:
    def load_library(self, path):
        return None if "broken" in path else path


def get_plugin_registry():
    return Registry()


def init_libnvinfer_plugins(logger, namespace):
    return True
