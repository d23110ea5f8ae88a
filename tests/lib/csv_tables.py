#!/usr/bin/env python3
"""csv_tables.py FOLDER... - check the CSV tables of reports. They are strict and rectangular, heads are unique, and a column of
numbers holds only numbers of the one unit that its head names. Prints the faults; exits with 1 if there are any, or no table."""
import csv
import pathlib
import re
import sys

NUMBER = re.compile(r'-?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?')
AMOUNT = re.compile(r'[-+<>~ ]*\d[\d.,]*\s*(%|x|/s|ns|us|ms|s|bytes|[kMGT]i?B(/s)?|steps?)|n/a|none|-|\d{1,3}(,\d{3})+')
UNIT = re.compile(r'\((ns|s|ms|ratio|bytes|steps|samples/s)\)$')
failed = 0


def fail(*what):
    global failed
    failed = 1
    print(*what, sep=': ')


def is_number(text):
    return NUMBER.fullmatch(text) is not None


def check(path):
    with open(path, newline='', encoding='utf-8') as file:
        rows = list(csv.reader(file, strict=True))
    head = rows[0]
    if len(set(head)) < len(head):
        fail(path, 'a head twice', head)
    for row in rows:
        if len(row) != len(head):
            fail(path, 'not rectangular', row)
            return
    for i, name in enumerate(head):
        cells = [row[i] for row in rows[1:] if row[i]]
        others = [cell for cell in cells if not is_number(cell)]
        is_note = name.endswith(', note')
        if UNIT.search(name) and others:
            fail(path, name, 'no numbers', others[:3])
        if i and others and len(others) < len(cells) and not is_note and name not in ('Value', 'Kernel', 'Parameters'):
            fail(path, name, 'numbers and others', others[:3])
        if i and not is_note and path.name != 'environment.csv':
            for cell in cells:
                if AMOUNT.fullmatch(cell) and not is_number(cell) and (cell != 'n/a' or others != cells):
                    fail(path, name, 'an amount in words', cell)


paths = [path for folder in sys.argv[1:] for path in sorted(pathlib.Path(folder).rglob('*.csv'))]
for path in paths:
    try:
        check(path)
    except csv.Error as error:
        fail(path, error)
if not paths:
    fail('no table')
sys.exit(failed)
