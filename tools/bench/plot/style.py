"""How the figures look: colours that colour-blind readers can tell apart (Okabe and Ito), print well, PNG and SVG."""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
import matplotlib.ticker  # noqa: E402

ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK, BLACK, GREY = (
    "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#000000", "#999999")
CYCLE = [BLUE, RED, GREEN, ORANGE, PINK, SKY, BLACK]
MARKERS = ["o", "s", "^", "D", "v", "P", "X"]
DASHES = ["-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1))]

plt.rcParams.update({
    "figure.dpi": 110, "savefig.dpi": 150, "font.size": 10, "axes.titlesize": 11.5, "axes.titleweight": "bold",
    "axes.titlelocation": "left", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True,
    "grid.color": "#dddddd", "grid.linewidth": 0.7, "axes.axisbelow": True, "legend.frameon": False,
    "svg.hashsalt": "holdfast", "figure.constrained_layout.use": True,
})


def colour(kind):
    """Of a bar: ours, historic designs, peers, limits."""
    return {"hardened": BLUE, "historic": ORANGE, "peer": PINK, "limit": GREY}[kind]


class Sheet:
    """Saves figures into a folder and remembers their names."""

    def __init__(self, folder):
        self.folder, self.written = folder, []
        os.makedirs(folder, exist_ok=True)

    def save(self, figure, name):
        for ending in ("png", "svg"):
            path = os.path.join(self.folder, f"{name}.{ending}")
            metadata = {"Date": None} if ending == "svg" else {"Software": None}
            figure.savefig(path, metadata=metadata)
        plt.close(figure)
        self.written.append(name)


def title(axes, message, detail=""):
    """The message over the whole figure, how it was measured below it."""
    axes.figure.suptitle(message, x=0.01, ha="left", fontsize=12, fontweight="bold")
    axes.set_title(detail, fontsize=8.5, color="#444444", fontweight="normal")


def plain_log(axis, between=()):
    """Numbers, not powers, on a logarithmic axis; `between`: where it is labelled inside a decade."""
    axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}"))
    if between:
        axis.set_minor_locator(matplotlib.ticker.LogLocator(subs=between))
        axis.set_minor_formatter(axis.get_major_formatter())
    else:
        axis.set_minor_formatter(matplotlib.ticker.NullFormatter())


def line(axes, i, xs, ys, label, low=None, high=None):
    axes.plot(xs, ys, color=CYCLE[i % 7], marker=MARKERS[i % 7], linestyle=DASHES[i % 7], label=label, markersize=4.5)
    if low is not None:
        axes.fill_between(xs, low, high, color=CYCLE[i % 7], alpha=0.15, linewidth=0)
