# SPDX-License-Identifier: Apache-2.0
"""Types and routes of the API, made from its OpenAPI file.

Knows the part of JSON Schema that docs/openapi.json uses, and refuses the
rest, so that nothing is left out without a word.
"""

import keyword
import re
from typing import Any

Schema = dict[str, Any]

HEAD = '''# SPDX-License-Identifier: Apache-2.0
"""{what} of the API. Made by tools/make.py: do not edit."""

from typing import {words}

'''

KNOWN = {
    "type",
    "description",
    "minimum",
    "maximum",
    "additionalProperties",
    "properties",
    "items",
    "required",
    "enum",
    "maxItems",
    "$ref",
    "pattern",
    "anyOf",
    "maxLength",
    "format",
    "const",
}
PLAIN = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
}
METHODS = ("get", "put", "post", "delete", "patch")


def camel(word: str) -> str:
    return "".join(
        p[:1].upper() + p[1:] for p in re.split(r"[^A-Za-z0-9]", word)
    )


class Types:
    """The definitions so far; an inner object becomes a type of its own."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def of(self, schema: Schema, name: str) -> str:
        """Returns the expression for a schema; @name is for inner objects."""
        unknown = set(schema) - KNOWN
        if unknown:
            raise SystemExit(f"{name}: unknown words {sorted(unknown)}")
        if "$ref" in schema:
            return '"' + str(schema["$ref"]).rsplit("/", 1)[-1] + '"'
        if "enum" in schema or "const" in schema:
            values = schema.get("enum", [schema.get("const")])
            return "Literal[" + ", ".join(map(repr, values)) + "]"
        if "anyOf" in schema:
            return self.union([self.of(s, name) for s in schema["anyOf"]])
        kinds = schema.get("type", [])
        kinds = kinds if isinstance(kinds, list) else [kinds]
        if not kinds:
            return "Any"
        return self.union([self.one(kind, schema, name) for kind in kinds])

    @staticmethod
    def union(words: list[str]) -> str:
        if len(words) == 1:
            return words[0]
        # A name in quotes does not take part in "|" when it is evaluated.
        return '"' + " | ".join(w.replace('"', "") for w in words) + '"'

    def one(self, kind: str, schema: Schema, name: str) -> str:
        if kind in PLAIN:
            return PLAIN[kind]
        if kind == "array":
            return f"list[{self.of(schema.get('items', {}), name + 'Item')}]"
        if kind != "object":
            raise SystemExit(f"{name}: unknown type {kind}")
        if "properties" in schema:
            self.define(name, schema)
            return f'"{name}"'
        more = schema.get("additionalProperties", {})
        return f"dict[str, {self.of(more if isinstance(more, dict) else {}, name)}]"

    def define(self, name: str, schema: Schema) -> None:
        """Adds the TypedDict @name."""
        required = set(schema.get("required", ()))
        lines = []
        for key, sub in schema["properties"].items():
            kind = self.of(sub, name + camel(key))
            if key not in required:
                kind = f"NotRequired[{kind}]"
            lines.append((key, kind))
        if any(keyword.iskeyword(key) for key, _ in lines):
            body = "".join(f'        "{k}": {v},\n' for k, v in lines)
            text = f'{name} = TypedDict(\n    "{name}",\n    {{\n{body}    }},\n)\n'
        else:
            text = f"class {name}(TypedDict):\n"
            text += "".join(f"    {k}: {v}\n" for k, v in lines) or "    pass\n"
        self.parts.append(text)

    def alias(self, name: str, schema: Schema) -> None:
        kind = self.of(schema, name)
        self.parts.append(f"{name}: TypeAlias = {kind}\n")


def bodies(api: Schema) -> list[tuple[str, Schema]]:
    """Returns the objects that calls take and have no name in the file."""
    found = []
    for path in api["paths"].values():
        for method in METHODS:
            call = path.get(method, {})
            content = call.get("requestBody", {}).get("content", {})
            schema = content.get("application/json", {}).get("schema", {})
            if "properties" in schema:
                found.append((camel(call["operationId"]) + "Body", schema))
    return found


def types_from(api: Schema) -> str:
    """Returns the text of the module of types."""
    types = Types()
    for name, schema in [*api["components"]["schemas"].items(), *bodies(api)]:
        if "properties" in schema:
            types.define(name, schema)
        else:
            types.alias(name, schema)
    words = "Any, Literal, NotRequired, TypeAlias, TypedDict"
    return HEAD.format(what="Types", words=words) + "\n".join(types.parts)


def routes_from(api: Schema) -> str:
    """Returns the text of the module of routes: the method and the path of each
    call, by its operationId."""
    names, lines = "", ""
    for path, calls in api["paths"].items():
        for method in METHODS:
            if method in calls:
                name = calls[method]["operationId"]
                names += f'    "{name}",\n'
                lines += f'    "{name}": ("{method.upper()}", "{path}"),\n'
    return (
        HEAD.format(what="Routes", words="Final, Literal, TypeAlias")
        + f"Operation: TypeAlias = Literal[\n{names}]\n\n"
        + "ROUTES: Final[dict[Operation, tuple[str, str]]] = {\n"
        + f"{lines}}}\n"
    )
