"""Draws a failover as three locks live through it, of what survivor_failovers.py --pictures has recorded."""
import json
import os
import sys

STEP = 0.1  # s


def counts(picture, begin, end):
    """(moments, grants beside nobody's claim, grants beside somebody's) of each 100 ms."""
    twice = {first for first, _ in picture["double"]}
    slots = round((end - begin) / STEP)
    alone, beside = [0] * slots, [0] * slots
    for at in picture["grants"]:
        slot = int((at / 1000 - begin) // STEP)
        if 0 <= slot < slots:
            (beside if at in twice else alone)[slot] += 1
    return [begin + (slot + 0.5) * STEP for slot in range(slots)], alone, beside


def gap_of(picture):
    """From the last grant before the fault to the first one after it, in s; None: there is none above half a second."""
    grants = sorted(at / 1000 for at in picture["grants"])
    before, after = max(at for at in grants if at <= 0.2), min((at for at in grants if at > 0.2), default=None)
    return (before, after) if after is not None and after - before > 0.5 else None


def heading(picture):
    double = len(picture["double"])
    gap = gap_of(picture)
    said = f"no grant for {gap[1] - gap[0]:.1f} s" if gap else "no gap"
    return f"{said}, {double if double else 'no'} double grant{'s' if double != 1 else ''}"


def draw(source, target, quarantine):
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench", "plot"))
    import matplotlib.pyplot as plt
    import style
    from matplotlib.patches import Patch

    with open(source, encoding="utf-8") as handle:
        pictures = json.load(handle)["pictures"]
    begin = -2.0
    end = max(picture["granted"] or 0 for picture in pictures) + 3.5
    figure, rows = plt.subplots(len(pictures), 1, sharex=True, sharey=True, figsize=(9, 6.6))
    top = 0
    for axes, picture in zip(rows, pictures):
        moments, alone, beside = counts(picture, begin, end)
        top = max(top, *(a + b for a, b in zip(alone, beside)))
        axes.bar(moments, alone, width=STEP * 0.86, color=style.BLUE, linewidth=0)
        axes.bar(moments, beside, width=STEP * 0.86, bottom=alone, color=style.RED, linewidth=0)
        axes.axvline(0, color=style.INK, linewidth=1.1)
    high = top * 1.55
    for axes, picture in zip(rows, pictures):
        survives = picture["lock"].startswith("survivor")
        dies = "primary dies" if picture["story"] != "restart" else "1 of 3 servers restarts empty"
        axes.text(0.06, high * 0.97, dies, fontsize=8, va="top")
        if picture["story"] != "restart":
            axes.axvspan(0, picture["new"], color=style.GREY, alpha=0.22, linewidth=0)
            axes.text(picture["new"] / 2, high * 0.5, "Sentinels", fontsize=8, ha="center", va="center", color="#555555")
            axes.axvline(picture["new"], color=style.INK, linewidth=1.1, linestyle="--")
            axes.text(picture["new"] + 0.06, high * 0.97, "a replica is promoted", fontsize=8, va="top")
        if survives:
            over = picture["ask"] + quarantine
            axes.axvspan(picture["ask"], over, color=style.ORANGE, alpha=0.34, linewidth=0)
            axes.text((picture["ask"] + over) / 2, high * 0.5, f"quarantine\n{quarantine:.2f} s", fontsize=8.5, ha="center", va="center")
            axes.axvspan(over, picture["granted"], color=style.ORANGE, alpha=0.13, linewidth=0)
            axes.text((over + picture["granted"]) / 2, high * 0.5, "the other replica turns to it late,\nand is not counted at first", fontsize=8.5, ha="center",
                      va="center")
        if picture["double"]:
            first, last = picture["double"][0][0] / 1000, max(to for _, to in picture["double"]) / 1000
            axes.plot([first, last], [high * 0.78] * 2, color=style.RED, linewidth=2.5, solid_capstyle="butt")
            axes.text(last + 0.12, high * 0.78, f"two owners: {len(picture['double'])} grants beside a valid claim", fontsize=8.5, va="center",
                      color=style.RED, fontweight="bold")
        last_grant = max(picture["grants"]) / 1000
        if last_grant < end - 0.5:
            axes.text(last_grant + 0.15, high * 0.08, "sold out", fontsize=8, color="#666666")
        gap = gap_of(picture)
        if gap and picture["story"] == "restart":
            axes.text(sum(gap) / 2, high * 0.5, "all wait for the one\nthat stands still", fontsize=8, ha="center", va="center", color="#555555")
        axes.set_title(f"{picture['lock']}: {heading(picture)}", loc="left", fontsize=10, fontweight="bold")
        axes.set_xlim(begin, end)
        axes.set_ylim(0, high)
        axes.set_yticks(range(0, int(top) + 1, 2))
        axes.grid(axis="x", visible=False)
    rows[1].set_ylabel("grants per 100 ms")
    rows[-1].set_xlabel("seconds since the server died")
    survivor = next(picture for picture in pictures if picture["lock"] == "survivor")
    plain = next(picture for picture in pictures if picture["lock"] == "reentrant")
    wait = gap_of(survivor)
    message = (f"survivor waits {wait[1] - wait[0]:.0f} s after a failover, and nobody is granted what somebody else still has" if not survivor["double"]
               and plain["double"] else "A failover, as three locks live through it")
    style.title(figure, message, "real redis-servers and Sentinels, 8 clients on one key, lease 3 s; the holder stands still for 2.5 s when the server dies. "
                "One run each,\nscenarios/survivor/sentinels/: kill.toml (reentrant, survivor), restart.toml (redlock: another of its servers had been away)",
                ([Patch(color=style.BLUE), Patch(color=style.RED)], ["grants", "grants while somebody else has a valid claim"]))
    figure.savefig(target, metadata={"Software": None})
    plt.close(figure)
