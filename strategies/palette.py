"""Colours of series, and of paper and text, for the charts of pages, figures and PNGs.

Eight colours stay apart for people without red cones or without green cones too, on white and on dark paper.
"""

from __future__ import annotations

SERIES = ("#1144aa", "#dd5599", "#226655", "#775500", "#7777ff", "#552211", "#bb7755", "#442244")
SERIES_ON_DARK = ("#2266ee", "#dd2277", "#009999", "#ddee44", "#ccaaff", "#777700", "#ee9988", "#00ffdd")
# Text, axes and grid on white paper, by the names that the page's style has for them.
ON_WHITE = {"paper": "#ffffff", "soft": "#555e69", "line": "#d9dde2", "grid": "#e9ecef"}
