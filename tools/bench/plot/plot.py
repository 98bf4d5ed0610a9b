#!/usr/bin/env python3
"""Figures of results of `holdfast bench`: plot.py RESULT.json|DIR OUT (called by `holdfast plot`).

Exit: 0; 64: no result, or nothing in it to draw; 69: no matplotlib; 74: OUT cannot be written. Problems are one line.
"""
import os
import sys

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
            with open(os.path.join(sys.argv[2], "made_from.txt"), "w", encoding="utf-8") as out:
                out.write(data.made_from(sys.argv[1], sheet.written))
    except OSError as error:
        data.complain(f"{sys.argv[2]}: cannot be written ({error.strerror}); name another folder with --out")
        return 74
    for name in sheet.written:
        print(os.path.join(sys.argv[2], name + ".png"))
    if not sheet.written:
        data.complain(f"{sys.argv[1]}: has nothing that can be drawn (too few measurements); measure more than one lock")
        return 64
    return 0


if __name__ == "__main__":
    sys.exit(main())
