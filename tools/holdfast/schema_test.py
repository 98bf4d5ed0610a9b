#!/usr/bin/env python3
"""Holds scenario files against a JSON schema: schema_test.py SCHEMA FILE..., one line for each that does not fit.

Each line is `FILE: PATH: what`. Exit: 0 all fit, 1 one does not, 77 python3-jsonschema is not on this machine.
"""
import json
import sys
import tomllib

try:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match
except ImportError:
    print("python3-jsonschema is missing", file=sys.stderr)
    sys.exit(77)


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    bad = 0
    for path in sys.argv[2:]:
        with open(path, "rb") as file:
            document = tomllib.load(file)
        error = best_match(validator.iter_errors(document))
        if error is not None:
            bad += 1
            print(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
