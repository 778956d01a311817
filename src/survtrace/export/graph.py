"""Write formulas as a graph of ONNX operators: values with the signs of arithmetic."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from survtrace.errors import require

# Operators of 2022, which onnxruntime has known since 1.12, and the file format of that time: a
# file must be read by runtimes that nobody has upgraded for years.
OPSET, IR_VERSION = 17, 8
Shape = tuple[str | int, ...]


@dataclass
class Graph:
    """Nodes and constants in the order in which they were asked for, then a model of them."""

    nodes: list[Any] = field(default_factory=list)
    constants: dict[tuple[str, tuple[int, ...], bytes], Any] = field(default_factory=dict)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.onnx = require("onnx", "onnx", "ONNX files need")

    def input(self, name: str, dtype: DTypeLike, shape: Shape, doc: str) -> Value:
        """Declare an input."""
        self.inputs.append(self._described(name, dtype, shape, doc))
        return Value(self, name, np.dtype(dtype))

    def output(self, name: str, value: Value, shape: Shape, doc: str) -> None:
        """Declare a value to be an output."""
        self.nodes.append(self.onnx.helper.make_node("Identity", [value.name], [name]))
        self.outputs.append(self._described(name, value.dtype, shape, doc))

    def constant(self, array: Any, dtype: DTypeLike) -> Value:
        """Give a constant as a value; equal ones are stored once."""
        content = np.ascontiguousarray(array, dtype=dtype).reshape(np.shape(array))
        key = (content.dtype.str, content.shape, content.tobytes())
        if key not in self.constants:
            name = f"constant_{len(self.constants)}"
            self.constants[key] = self.onnx.numpy_helper.from_array(content, name)
        return Value(self, self.constants[key].name, content.dtype)

    def apply(
        self, operator: str, *inputs: Value, dtype: DTypeLike | None = None, **attributes: Any
    ) -> Value:
        """Apply an operator; what comes out has the type of the first input, or ``dtype``."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        names = [value.name for value in inputs]
        self.nodes.append(self.onnx.helper.make_node(operator, names, [name], name, **attributes))
        return Value(self, name, inputs[0].dtype if dtype is None else np.dtype(dtype))

    def model(self, name: str, doc: str, producer_version: str, metadata: dict[str, str]) -> Any:
        """Make the model of all that was declared."""
        helper = self.onnx.helper
        constants = list(self.constants.values())
        graph = helper.make_graph(self.nodes, name, self.inputs, self.outputs, constants)
        model = helper.make_model(
            graph,
            producer_name="survtrace",
            producer_version=producer_version,
            doc_string=doc,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=IR_VERSION,
        )
        helper.set_model_props(model, metadata)
        return model

    def _described(self, name: str, dtype: DTypeLike, shape: Shape, doc: str) -> Any:
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.onnx.helper.make_tensor_value_info(name, kind, shape, doc)


@dataclass(frozen=True, eq=False)
class Value:
    """A tensor of the graph; arithmetic with it, or with a constant, adds a node.

    Examples
    --------
    >>> graph = Graph()
    >>> x = graph.input("x", np.float64, ("n",), "numbers")
    >>> (2.0 - x * x).name, [node.op_type for node in graph.nodes]
    ('sub_1', ['Mul', 'Sub'])
    """

    graph: Graph
    name: str
    dtype: np.dtype[Any]
    __array_ufunc__: ClassVar[None] = None  # so that numpy leaves `array - value` to us

    def __add__(self, other: Any) -> Value:
        return self._with("Add", other)

    def __sub__(self, other: Any) -> Value:
        return self._with("Sub", other)

    def __rsub__(self, other: Any) -> Value:
        return self._value(other) - self

    def __mul__(self, other: Any) -> Value:
        return self._with("Mul", other)

    def __truediv__(self, other: Any) -> Value:
        return self._with("Div", other)

    def __pow__(self, other: Any) -> Value:
        return self._with("Pow", other)

    def __matmul__(self, other: Any) -> Value:
        return self._with("MatMul", other)

    def __neg__(self) -> Value:
        return self.apply("Neg")

    def __and__(self, other: Value) -> Value:
        return self._with("And", other)

    def __or__(self, other: Value) -> Value:
        return self._with("Or", other)

    def __invert__(self) -> Value:
        return self.apply("Not")

    def __gt__(self, other: Any) -> Value:
        return self._with("Greater", other, dtype=np.bool_)

    def __ge__(self, other: Any) -> Value:
        return self._with("GreaterOrEqual", other, dtype=np.bool_)

    def __le__(self, other: Any) -> Value:
        return self._with("LessOrEqual", other, dtype=np.bool_)

    def __lt__(self, other: Any) -> Value:
        return self._with("Less", other, dtype=np.bool_)

    def equals(self, other: Any) -> Value:
        """Compare element by element."""
        return self._with("Equal", other, dtype=np.bool_)

    def apply(self, operator: str, *others: Any, **attributes: Any) -> Value:
        """Apply an operator whose other inputs have the type of this one."""
        values = (self._value(other) for other in others)
        return self.graph.apply(operator, self, *values, **attributes)

    def cast(self, dtype: DTypeLike) -> Value:
        """Convert to another type."""
        kind = self.graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.graph.apply("Cast", self, dtype=dtype, to=kind)

    def where(self, true: Any, false: Any) -> Value:
        """Take ``true`` where this is true, else ``false``; at least one of them is a value."""
        first = true if isinstance(true, Value) else false
        return self.graph.apply(
            "Where", self, first._value(true), first._value(false), dtype=first.dtype
        )

    def reshape(self, *shape: int) -> Value:
        """Change the shape: 0 keeps an axis, -1 is what is left."""
        return self.graph.apply("Reshape", self, self._integers(shape))

    def transpose(self, *axes: int) -> Value:
        """Put the axes into another order."""
        return self.apply("Transpose", perm=axes)

    def unsqueeze(self, *axes: int) -> Value:
        """Add axes of length 1."""
        return self.graph.apply("Unsqueeze", self, self._integers(axes))

    def squeeze(self, *axes: int) -> Value:
        """Remove axes of length 1."""
        return self.graph.apply("Squeeze", self, self._integers(axes))

    def gather(self, index: Value, axis: int) -> Value:
        """Take elements of an axis by an index of any shape."""
        return self.graph.apply("Gather", self, index, axis=axis)

    def slice(self, axis: int, first: int, end: int) -> Value:
        """Take a range of an axis."""
        bounds = (self._integers([number]) for number in (first, end, axis))
        return self.graph.apply("Slice", self, *bounds)

    def sum(self, *axes: int, keep: bool = True) -> Value:
        """Add up along axes."""
        return self.graph.apply("ReduceSum", self, self._integers(axes), keepdims=int(keep))

    def mean(self, axis: int, *, keep: bool = True) -> Value:
        """Average along an axis."""
        return self.apply("ReduceMean", axes=[axis], keepdims=int(keep))

    def max(self, axis: int, *, keep: bool = True) -> Value:
        """Take the largest along an axis."""
        return self.apply("ReduceMax", axes=[axis], keepdims=int(keep))

    def all(self, axis: int) -> Value:
        """Check whether all are true along an axis, which goes."""
        return self.cast(np.float32).apply("ReduceMin", axes=[axis], keepdims=0) > 0.5

    def any(self, axis: int) -> Value:
        """Check whether any is true along an axis, which goes."""
        return self.cast(np.float32).max(axis, keep=False) > 0.5

    def _with(self, operator: str, other: Any, **how: Any) -> Value:
        return self.graph.apply(operator, self, self._value(other), **how)

    def _value(self, other: Any) -> Value:
        return other if isinstance(other, Value) else self.graph.constant(other, self.dtype)

    def _integers(self, numbers: Any) -> Value:
        values: NDArray[np.int64] = np.array(numbers, dtype=np.int64)
        return self.graph.constant(values, np.int64)


def concatenate(values: list[Value], axis: int) -> Value:
    """Put values behind each other along an axis."""
    first, *others = values
    return first.graph.apply("Concat", first, *others, axis=axis) if others else first
