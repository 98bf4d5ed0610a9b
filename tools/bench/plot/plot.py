#!/usr/bin/env python3
"""Figures of a result of `holdfast bench`: plot.py RESULT.json|DIR OUT (called by `holdfast plot`)."""
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
    # Needs matplotlib, so not before the result is known to be good.
    import figures_cost
    import figures_load
    import figures_sale
    import figures_time
    import style

    sheet = style.Sheet(sys.argv[2])
    for module in (figures_load, figures_sale, figures_cost, figures_time):
        module.all_figures(sheet, points)
    for name in sheet.written:
        print(os.path.join(sys.argv[2], name + ".png"))
    if not sheet.written:
        data.complain(f"{sys.argv[1]}: nothing in it that could be drawn (too few measurements)")
        return 64
    return 0


if __name__ == "__main__":
    sys.exit(main())
