"""How the figures look: colours that colour-blind readers can tell apart (Okabe and Ito), little ink, PNG and SVG."""
import io
import math
import os

import data
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker as ticker  # noqa: E402

ORANGE, SKY, GREEN, BLUE, RED, PINK, INK, GREY = (
    "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7", "#333333", "#999999")
CYCLE = [BLUE, RED, GREEN, ORANGE, PINK, SKY, INK]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
DASHES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]

plt.rcParams.update({
    "figure.dpi": 110, "savefig.dpi": 130, "font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": GREY, "axes.linewidth": 0.7, "xtick.color": INK, "ytick.color": INK, "axes.labelcolor": INK,
    "text.color": INK, "xtick.major.width": 0.7, "ytick.major.width": 0.7, "axes.grid": True, "grid.color": "#e6e6e6",
    "grid.linewidth": 0.6, "axes.axisbelow": True, "legend.frameon": False, "svg.hashsalt": "holdfast",
    "figure.constrained_layout.use": True, "text.parse_math": False,
})


class Sheet:
    """Saves figures into a folder and remembers their names."""

    def __init__(self, folder):
        self.folder, self.written = folder, []
        os.makedirs(folder, exist_ok=True)

    def save(self, figure, name):
        for ending in ("png", "svg"):
            path = os.path.join(self.folder, f"{name}.{ending}")
            picture = io.BytesIO()
            figure.savefig(picture, format=ending, metadata={"Date": None} if ending == "svg" else {"Software": None})
            data.write_file(path, picture.getvalue())
        plt.close(figure)
        self.written.append(name)


def title(figure, message, detail, legend=((), ())):
    """What the data says over the whole figure, a legend (handles, labels) below it; at the foot how it was measured."""
    height = figure.get_figheight()
    top = 0.3 + 0.19 * message.count("\n")
    figure.text(0.01, 1 - 0.08 / height, message, fontsize=11.5, fontweight="bold", ha="left", va="top")
    handles, labels = legend
    if handles:
        shown = figure.legend(handles, labels, loc="upper left", bbox_to_anchor=(0.004, 1 - top / height), ncols=len(labels),
                              fontsize=8, borderaxespad=0, handletextpad=0.4, columnspacing=1.4)
        shown.set_in_layout(False)
        top += 0.24
    figure.text(0.01, 0.05 / height, detail, fontsize=8, color="#666666", ha="left", va="bottom")
    foot = 0.24 + 0.14 * detail.count("\n")
    figure.get_layout_engine().set(rect=(0, foot / height, 1, 1 - (foot + top) / height))


def plain(value):
    return f"{value:,.0f}" if value == int(value) else f"{value:g}"


def log_axis(axis, low, high):
    """A logarithmic axis from `low` to `high` with plain numbers, and at least two of them."""
    low, high = low / 1.15, high * 1.15
    setter = axis.axes.set_xlim if axis.axis_name == "x" else axis.axes.set_ylim
    (axis.axes.set_xscale if axis.axis_name == "x" else axis.axes.set_yscale)("log")
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for steps in ((1,), (1, 3), (1, 2, 5), (1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9)):
        ticks = [s * 10.0 ** d for d in decades for s in steps if low <= s * 10.0 ** d <= high]
        if len(ticks) >= 3:
            break
    if len(ticks) < 2:
        ticks = [low, high]
    axis.set_major_locator(ticker.FixedLocator(ticks))
    axis.set_major_formatter(ticker.FuncFormatter(lambda x, _: plain(x)))
    axis.set_minor_locator(ticker.NullLocator())
    setter(low, high)


def line(axes, i, xs, ys, label, low=None, high=None):
    axes.plot(xs, ys, color=CYCLE[i % 7], marker=MARKERS[i % 7], linestyle=DASHES[i % 7], label=label, markersize=4.5,
              linewidth=1.3)
    if low is not None:
        axes.fill_between(xs, low, high, color=CYCLE[i % 7], alpha=0.13, linewidth=0)
