# SPDX-License-Identifier: BSD-2-Clause
"""Expressions in the rows of faults, and the C that they become.

An expression is written as in Python: comparisons (chained too), and, or, not, + - * & | ~, min and
max. All values are 64-bit integers; a 'text' is its address. Names are the call's arguments, fields
behind them (`srq_attr.max_recv_dtos`), facts about the call's object, fields of the event, and DAT
constants.
"""

from __future__ import annotations

import ast
from typing import Any

from faults.rows import Fault, RowError

SRQ_GUARD = "call->facts.srq_known"

# Facts about the object: which ones the provider is asked for, and what must hold for a value.
FACTS = {
    "max_recv_dtos": ("ASKS_SRQ", SRQ_GUARD),
    "low_watermark": ("ASKS_SRQ", SRQ_GUARD),
    "available": ("ASKS_SRQ", SRQ_GUARD),
    "outstanding": ("ASKS_SRQ", SRQ_GUARD),
    "eps": ("ASKS_NEIGHBOURS", ""),
    "connected_eps": ("ASKS_NEIGHBOURS", ""),
    "disconnected_eps": ("ASKS_NEIGHBOURS", ""),
    "recv_evds": ("ASKS_NEIGHBOURS", ""),
    "plain_outstanding": ("ASKS_NEIGHBOURS", ""),
    "others_outstanding": ("ASKS_NEIGHBOURS", ""),
    "ep_state": ("ASKS_EP", "call->facts.ep_known"),
}

DTO = "call->event->event_data.dto_completion_event_data"
CONNECTION = "call->event->event_data.connect_event_data"
REQUEST = "call->event->event_data.cr_arrival_event_data"
ASYNC = "call->event->event_data.asynch_error_event_data"
RMR = "call->event->event_data.rmr_completion_event_data"

# Fields of the event by their word in the rows: where they are, and whether they are pointers.
EVENT_FIELDS = {
    "number": ("call->event->event_number", False),
    "evd": ("call->event->evd_handle", True),
    "ep": (f"{DTO}.ep_handle", True),
    "cookie": (f"{DTO}.user_cookie.as_64", False),
    "status": (f"{DTO}.status", False),
    "length": (f"{DTO}.transfered_length", False),
    "rmr": (f"{RMR}.rmr_handle", True),
    "rmr_cookie": (f"{RMR}.user_cookie.as_64", False),
    "rmr_status": (f"{RMR}.status", False),
    "connect_ep": (f"{CONNECTION}.ep_handle", True),
    "private_data_size": (f"{CONNECTION}.private_data_size", False),
    "private_data": (f"{CONNECTION}.private_data", True),
    "first_private_byte": (f"((unsigned char *){CONNECTION}.private_data)[0]", False),
    "sp": (f"{REQUEST}.sp_handle.psp_handle", True),
    "conn_qual": (f"{REQUEST}.conn_qual", False),
    "cr": (f"{REQUEST}.cr_handle", True),
    "local_address": (f"{REQUEST}.local_ia_address_ptr", True),
    "object": (f"{ASYNC}.dat_handle", True),
    "reason": (f"{ASYNC}.reason", False),
    "pointer": ("call->event->event_data.software_event_data.pointer", True),
}

# The structures that stand in another one, by their member: of DAT_EP_PARAM and DAT_CNO_PARAM.
INNER = {
    "ep_attr": "DAT_EP_ATTR",
    "agent": "DAT_OS_WAIT_PROXY_AGENT",
    "lmr_triplet": "DAT_LMR_TRIPLET",
    "region_desc": "DAT_REGION_DESCRIPTION",
    "for_shared_memory": "DAT_SHARED_MEMORY",
}
POINTERS = ("_HANDLE", "*", "_PTR", "_PVOID", "_FUNC", "_LMR_COOKIE")

# What else a name may be.
WORDS = {
    "remembered": "call->mutant->state[{step}].remembered",
    "own": "fault_own(call, {step})",
    "subject": "(long long)(uintptr_t)call->mutant->state[{step}].subject",
    "async_evd": "(long long)(uintptr_t)call->provider->async_evd",
    "named_attributes": "(long long)(uintptr_t)call_named_attributes",
    "max_recv_per_srq": "call->provider->max_recv_per_srq",
    "max_private_data": "call->provider->max_private_data",
    "received": "(long long)call->is_received",
    "waited": "(long long)(call->slot == &call_slots[SLOT_EVD_WAIT])",
    "overlaps": "(long long)call->overlaps",
}
# And what libdat's rows have of these; there the overlaps are of calls of the same kind.
LIBDAT_WORDS = {word: WORDS[word] for word in ("remembered", "overlaps")}

FUNCTIONS = {"kind": "fault_handle_kind", "destroyed": "fault_handle_destroyed"}
TEXT_FUNCTIONS = {"equal": "fault_text_equal", "matches": "fault_text_matches"}
MEMORY_FUNCTIONS = {"mapped": "fault_memory_mapped", "padded": "fault_memory_padded"}

COMPARE = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|",
          ast.BitXor: "^"}  # fmt: skip
UNARY = {ast.USub: "-", ast.Invert: "~", ast.Not: "!"}


class Scope:
    """The names that are known at one trigger, and what the expressions there have asked for."""

    def __init__(
        self,
        facts: dict[str, Any],
        fault: Fault,
        step: int,
        params: list[list[str]],
        is_event: bool,
    ) -> None:
        self.words = LIBDAT_WORDS if fault.in_libdat else WORDS
        self.facts = facts
        self.fault = fault
        self.step = step
        self.params = {param[2]: (i, param[1]) for i, param in enumerate(params)}
        self.inputs = {param[2] for param in params if param[0] == "IN"}
        self.is_event = is_event
        self.uses_return = False
        self.asks: set[str] = set()
        self.guards: list[str] = []

    def fail(self, reason: str) -> RowError:
        """The error of this row."""
        return RowError(self.fault.path, self.fault.id, reason)

    def guard(self, condition: str) -> None:
        """Without this the expressions have no value, and a condition does not hold."""
        if condition not in self.guards:
            self.guards.append(condition)

    def guarded(self, value: str) -> str:
        """A condition, after what must hold for it to have a value."""
        return " && ".join([*self.guards, f"({value})"])

    def is_constant(self, name: str) -> bool:
        """Whether the DAT headers have it."""
        enums = self.facts["enums"].values()
        return name in self.facts["macros"] or any(name in enum["members"] for enum in enums)

    def lvalue(self, node: ast.expr) -> tuple[str, bool]:
        """The C object that a name or a field means, and whether it is a pointer."""
        if isinstance(node, ast.Name) and node.id == "remembered_byte":
            return self.remembered_byte()
        if isinstance(node, ast.Name):
            return self.argument(node.id)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute):
            return self.inner_field(node.value, node.attr)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Subscript):
            return self.element_field(node.value, node.attr)
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            raise self.fail(f"{ast.unparse(node)} is neither a name nor a field")
        base, member = node.value.id, node.attr
        if base == "event" and (self.is_event or base not in self.params):
            return self.event_field(member)
        if base == "argument":
            return self.argument(member)
        return self.struct_field(base, member)

    def remembered_byte(self) -> tuple[str, bool]:
        """The byte at the address that was remembered."""
        at = self.words["remembered"].format(step=self.step)
        self.guard(f"{at} != 0")
        return f"*(unsigned char *)(uintptr_t){at}", False

    def argument(self, name: str) -> tuple[str, bool]:
        """An argument; one that points at a number means that number."""
        if name not in self.params:
            raise self.fail(f"unknown name {name}")
        index, c_type = self.params[name]
        pointee = c_type.removeprefix("const ").removesuffix(" *")
        if c_type.endswith("**"):
            self.guard(f"call->arg[{index}]")
            return f"*({c_type})(uintptr_t)call->arg[{index}]", True
        opaque = {*self.facts["structs"], "char", "DAT_PROVIDER"}
        if c_type.endswith(" *") and pointee not in opaque:
            self.guard(f"call->arg[{index}]")
            return f"*({c_type})(uintptr_t)call->arg[{index}]", pointee.endswith("_HANDLE")
        return f"call->arg[{index}]", False

    def struct_field(self, base: str, member: str) -> tuple[str, bool]:
        """A field of the structure that an argument points at."""
        if base not in self.params:
            raise self.fail(f"unknown name {base}")
        index, c_type = self.params[base]
        struct = c_type.removeprefix("const ").removesuffix(" *")
        if struct not in self.facts["structs"]:
            raise self.fail(f"{base} points at no structure")
        is_pointer = self.member_type(struct, member).endswith(POINTERS)
        self.guard(f"call->arg[{index}]")
        return f"(({struct} *)(uintptr_t)call->arg[{index}])->{member}", is_pointer

    def element_field(self, node: ast.Subscript, member: str) -> tuple[str, bool]:
        """A field of one of the structures of an array, or that an array of pointers leads to."""
        name = node.value.id if isinstance(node.value, ast.Name) else ""
        index, c_type = self.params.get(name, (0, ""))
        struct = c_type.removesuffix("[]").removesuffix(" *").removeprefix("const ")
        if struct == c_type or struct not in self.facts["structs"]:
            raise self.fail(f"{ast.unparse(node)} is no element of an array")
        is_pointer = self.member_type(struct, member).endswith(POINTERS)
        self.guard(f"call->arg[{index}]")
        at = _value(self, node.slice)
        if not c_type.endswith("[]"):
            return f"(({struct} *)(uintptr_t)call->arg[{index}])[{at}].{member}", is_pointer
        return f"(({struct} **)(uintptr_t)call->arg[{index}])[{at}]->{member}", is_pointer

    def element(self, node: ast.expr) -> str:
        """The type of the elements of an array in a structure."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return ""
        struct = self.params.get(node.value.id, (0, ""))[1].removesuffix(" *")
        if node.value.id == "event" or struct not in self.facts["structs"]:
            return ""
        element, bracket, _ = self.member_type(struct, node.attr).partition("[")
        return element.removeprefix("const ") if bracket else ""

    def inner_field(self, outer: ast.Attribute, member: str) -> tuple[str, bool]:
        """A field of a structure in another structure."""
        if outer.attr not in INNER:
            raise self.fail(f"{ast.unparse(outer)} is no structure")
        target, _ = self.lvalue(outer)
        is_pointer = self.member_type(INNER[outer.attr], member).endswith(POINTERS)
        return f"{target}.{member}", is_pointer

    def member_type(self, struct: str, member: str) -> str:
        """The type of a structure's member."""
        for field in self.facts["structs"][struct]["fields"]:
            if field["name"] == member:
                return str(field["type"])
        raise self.fail(f"{struct} has no member {member}")

    def event_field(self, member: str) -> tuple[str, bool]:
        """A field of the event."""
        if not self.is_event:
            raise self.fail(f"event.{member} outside of an event")
        if member not in EVENT_FIELDS:
            raise self.fail(f"event.{member} is none of {', '.join(EVENT_FIELDS)}")
        return EVENT_FIELDS[member]

    def name(self, name: str) -> str:
        """The value of a name."""
        if name in FACTS and not self.fault.in_libdat:
            asks, guard = FACTS[name]
            self.asks.add(asks)
            if guard:
                self.guard(guard)
            return f"call->facts.{name}"
        if name == "other_srq" and not self.fault.in_libdat:
            self.asks.add("ASKS_NEIGHBOURS")
            self.guard("call->facts.other_srq")
            return "(long long)(uintptr_t)call->facts.other_srq"
        if name == "returned":
            self.uses_return = True
            return "(long long)DAT_GET_TYPE(call->ret)"
        if name in self.words:
            return self.words[name].format(step=self.step)
        if self.is_constant(name):
            return f"(long long){name}"
        return self.read(ast.Name(name))

    def read(self, node: ast.Name | ast.Attribute) -> str:
        """The value of an argument or field."""
        target, is_pointer = self.lvalue(node)
        if is_pointer:
            return f"(long long)(uintptr_t){target}"
        if target.startswith("call->arg"):
            c_type = self.params[node.id if isinstance(node, ast.Name) else node.attr][1]
            integer = self.facts["typedefs"].get(c_type, {}).get("type") or c_type
            if c_type in self.facts["enums"] or integer in ("int", "unsigned int"):
                return f"(long long)({c_type}){target}"
        return f"(long long){target}"


def c_string(text: str) -> str:
    """A text as C writes it."""
    plain = {byte: chr(byte) for byte in range(0x20, 0x7F)} | {0x22: '\\"', 0x5C: "\\\\"}
    return '"' + "".join(plain.get(byte, f"\\{byte:03o}") for byte in text.encode()) + '"'


def _parse(scope: Scope, text: str) -> ast.expr:
    try:
        return ast.parse(str(text), mode="eval").body
    except SyntaxError as error:
        raise scope.fail(f"{text!r} is no expression: {error.msg}") from error


def _compare(scope: Scope, node: ast.Compare) -> str:
    sides = [_value(scope, side) for side in (node.left, *node.comparators)]
    parts = []
    for i, operator in enumerate(node.ops):
        if type(operator) not in COMPARE:
            raise scope.fail(f"unknown comparison in {ast.unparse(node)}")
        parts.append(f"({sides[i]} {COMPARE[type(operator)]} {sides[i + 1]})")
    return "(" + " && ".join(parts) + ")"


def _function(scope: Scope, node: ast.Call) -> str:
    name = node.func.id if isinstance(node.func, ast.Name) else "?"
    args = [_value(scope, arg) for arg in node.args]
    if name in FUNCTIONS and len(args) == 1:
        return f"(long long){FUNCTIONS[name]}({args[0]})"
    if name in TEXT_FUNCTIONS and len(args) == 2:
        return f"(long long){TEXT_FUNCTIONS[name]}({args[0]}, {args[1]})"
    if name in MEMORY_FUNCTIONS and len(args) == 2 and not scope.fault.in_libdat:
        return f"{MEMORY_FUNCTIONS[name]}({args[0]}, {args[1]})"
    if name in ("min", "max") and len(args) == 2:
        sign = "<" if name == "min" else ">"
        return f"(({args[0]}) {sign} ({args[1]}) ? ({args[0]}) : ({args[1]}))"
    raise scope.fail(f"unknown function in {ast.unparse(node)}")


def _value(scope: Scope, node: ast.expr) -> str:
    match node:
        case ast.Constant(value=int() as value):
            return f"{int(value)}LL"
        case ast.Constant(value=str() as text):
            return f"(long long)(uintptr_t){c_string(text)}"
        case ast.Name():
            return scope.name(node.id)
        case ast.Attribute():
            return scope.read(node)
        case ast.Compare():
            return _compare(scope, node)
        case ast.BoolOp():
            sign = " && " if isinstance(node.op, ast.And) else " || "
            return "(" + sign.join(_value(scope, value) for value in node.values) + ")"
        case ast.BinOp() if type(node.op) in BINARY:
            left, right = _value(scope, node.left), _value(scope, node.right)
            return f"({left} {BINARY[type(node.op)]} {right})"
        case ast.UnaryOp() if type(node.op) in UNARY:
            return f"({UNARY[type(node.op)]}{_value(scope, node.operand)})"
        case ast.Call():
            return _function(scope, node)
        case _:
            raise scope.fail(f"{ast.unparse(node)} is not understood")


def compile_value(scope: Scope, text: str) -> str:
    """The C expression of a row's expression, a long long."""
    return _value(scope, _parse(scope, text))


def _own(scope: Scope, target: ast.expr) -> str:
    """Where a structure is the consumer's, and the call only reads it, the line that copies it."""
    if not isinstance(target, ast.Attribute) or not isinstance(target.value, ast.Name):
        return ""
    index, c_type = scope.params.get(target.value.id, (0, ""))
    if target.value.id not in scope.inputs or not c_type.endswith(" *"):
        return ""
    struct = c_type.removeprefix("const ").removesuffix(" *")
    return f"        call_own(call, {index}, sizeof({struct}));\n"


def compile_argument(scope: Scope, target: str, text: str) -> str:
    """The C lines that have the call made with another argument; the consumer keeps its own."""
    return _own(scope, _parse(scope, target)) + compile_result(scope, target, text)


def compile_result(scope: Scope, target: str, text: str) -> str:
    """The C lines that store an expression's value in a result, in the event, or in what the
    consumer gave, const or not.
    """
    node = _parse(scope, target)
    value = compile_value(scope, text)
    lvalue, is_pointer = scope.lvalue(node)
    cast = "(void *)(uintptr_t)" if is_pointer else f"(__typeof__({lvalue}))"
    guards = " && ".join(scope.guards)
    element = scope.element(node)
    if element:
        array = f"(({element} *)(uintptr_t){lvalue})"
        each = f"for (size_t i = 0; i < sizeof({lvalue}) / sizeof({element}); i++)"
        store = f"{each}\n                        {array}[i] = ({element})({value});\n"
        return f"        if ({guards})\n                {store}"
    store = f"{lvalue} = {cast}({value});\n"
    return f"        if ({guards})\n                {store}" if guards else f"        {store}"


def compile_kept(scope: Scope, target: str) -> str:
    """The C lines that take a copy of a result, or put it back."""
    lvalue, _ = scope.lvalue(_parse(scope, target))
    guards = " && ".join(scope.guards) or "true"
    kept = f"call_keep(call, &used, (void *)&{lvalue}, sizeof({lvalue}), back);\n"
    return f"        if ({guards})\n                {kept}"


def compile_call(scope: Scope, text: str) -> str:
    """The C lines of another call on the wrapped provider: `dat_srq_set_lw(srq_handle, 0)`."""
    node = _parse(scope, text)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise scope.fail(f"{text!r} is no call")
    function = scope.facts["functions"].get(node.func.id)
    if function is None or len(function["params"]) != len(node.args):
        raise scope.fail(f"{text!r} is no call of DAT with so many arguments")
    args = []
    if scope.fault.in_libdat:
        return _compile_whole_call(scope, node.func.id, node.args)
    for (direction, c_type, name), arg in zip(function["params"], node.args, strict=True):
        if direction != "IN" or (c_type.endswith("*") or c_type in scope.facts["structs"]):
            raise scope.fail(f"{node.func.id}: {name} cannot be given here")
        value = _value(scope, arg)
        if c_type.endswith("_HANDLE"):
            args.append(f"handle_inward((DAT_HANDLE)(uintptr_t)({value}))")
        else:
            args.append(f"({c_type})({value})")
    guards = " && ".join(scope.guards) or "true"
    return f"        if ({guards})\n                {node.func.id}({', '.join(args)});\n"


def _compile_whole_call(scope: Scope, name: str, arguments: list[ast.expr]) -> str:
    """The same in libdat, whose own call is unbroken."""
    types = [param[1].replace("[]", "*") for param in scope.facts["functions"][name]["params"]]
    args = []
    for c_type, arg in zip(types, arguments, strict=True):
        pointer = "(uintptr_t)" if c_type.endswith(("*", "_HANDLE")) else ""
        args.append(f"({c_type}){pointer}({_value(scope, arg)})")
    guards = " && ".join(scope.guards) or "true"
    return f"        if ({guards})\n                whole_{name}({', '.join(args)});\n"
