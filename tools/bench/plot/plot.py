#!/usr/bin/env python3
"""Figures of results of `holdfast bench`: plot.py RESULT.json|DIR OUT (called by `holdfast plot`).

Exit: 0; 64: no result, or nothing in it to draw; 69: no matplotlib; 70: internal error, or no memory; 74: OUT or standard
output cannot be written. Problems are one line.
"""
import errno
import os
import sys
import traceback

import data


def main():
    if len(sys.argv) != 3:
        data.complain("usage: plot.py RESULT.json|DIR OUT")
        return 64
    try:
        _, points = data.load(sys.argv[1])
    except data.BadResult as error:
        data.complain(error)
        return 64
    try:  # not before the result is known to be good: a bad one is told without it
        import style
    except ImportError:
        data.complain("no python3 with matplotlib on this machine; install it with: apt-get install python3-matplotlib")
        return 69
    import figures_cost
    import figures_load
    import figures_sale
    import figures_time

    try:
        sheet = style.Sheet(sys.argv[2])
        for module in (figures_load, figures_sale, figures_cost, figures_time):
            module.all_figures(sheet, points)
        if sheet.written:
            data.write_file(os.path.join(sys.argv[2], "made_from.txt"), data.made_from(sys.argv[1], sheet.written).encode())
    except OSError as error:
        data.complain(f"{sys.argv[2]}: cannot be written ({why_not(sys.argv[2], error)}); name another folder with --out")
        return 74
    try:
        sys.stdout.flush()
        for name in sheet.written:
            print(os.path.join(sys.argv[2], name + ".png"))
        sys.stdout.flush()
    except OSError as error:
        data.complain(f"standard output: cannot be written ({error.strerror})")
        return 74
    except AttributeError:  # it is closed: Python has none then
        data.complain("standard output: cannot be written (it is closed)")
        return 74
    if not sheet.written:
        data.complain(f"{sys.argv[1]}: has nothing that can be drawn (too few measurements); measure more than one lock")
        return 64
    return 0


def why_not(folder, error):
    """The system's words, and for a place that takes no files "read-only": /proc says that the file does not exist."""
    if error.errno not in (errno.EACCES, errno.EPERM, errno.ENOENT):
        return error.strerror
    while folder and not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    return f"{folder or '.'} is read-only" + ("" if os.geteuid() == 0 else " for this user")


def told():
    try:
        return main()
    except MemoryError:
        data.complain("no memory left; raise the limit (ulimit -v), or plot fewer results at once")
    except Exception as error:  # a mistake of these scripts; where it is stands in the last frame
        at = traceback.extract_tb(error.__traceback__)[-1]
        data.complain(f"internal error: {type(error).__name__}: {error} ({os.path.basename(at.filename)}:{at.lineno})"[:500])
    return 70


def leave(code):
    """What standard output holds back is told of already; the interpreter must not try again and say it in its own way."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    leave(told())
