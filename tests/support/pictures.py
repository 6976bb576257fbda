"""Whether two pictures look alike: pixels up to what another version of matplotlib moves.

A pixel is explained by another picture if some pixel near the same place has its colour, or its
colour lies between those near there, as it does at the edges of lines and letters. A line that is
in one picture alone, or that has another colour, is explained by none.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image
from scipy.ndimage import maximum_filter, minimum_filter

__all__ = ["UNLIKE", "look_alike", "pixels", "unlike"]

#: Share of pixels that may stay unexplained. Six figures drawn by matplotlib 3.10.0 and by 3.11.2
#: differ in at most 0.0004; one of four lines in another colour makes 0.006, and three of its
#: fourteen means moved by 0.03 make 0.0008.
UNLIKE = 0.0006
_NEAR = 0.008  # of the width: how far apart pixels may lie
_TOLERANCE = 24  # of 255
_SIZES = 0.03  # by how much widths and heights may differ


def pixels(picture: bytes | str | Path) -> np.ndarray:
    """Return a picture as red, green and blue on white: of a PNG's bytes, or a file."""
    if isinstance(picture, str | Path):
        picture = Path(picture).read_bytes()
    if picture.lstrip()[:5] in (b"<?xml", b"<svg "):
        return _svg_pixels(picture)
    image = Image.open(io.BytesIO(picture)).convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    return np.asarray(Image.alpha_composite(white, image).convert("RGB"))


def unlike(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of pixels of either picture that the other does not explain."""
    if any(abs(a / b - 1) > _SIZES for a, b in zip(one.shape[:2], other.shape[:2], strict=True)):
        return 1.0
    if one.shape != other.shape:
        height, width = one.shape[:2]
        other = np.asarray(Image.fromarray(other).resize((width, height), Image.Resampling.BOX))
    reach = 2 * max(1, round(_NEAR * one.shape[1])) + 1
    size = (reach, reach, 1)

    def unexplained(a: np.ndarray, b: np.ndarray) -> float:
        low, high = minimum_filter(b, size).astype(int), maximum_filter(b, size).astype(int)
        return float(((a < low - _TOLERANCE) | (a > high + _TOLERANCE)).any(axis=2).mean())

    return max(unexplained(one, other), unexplained(other, one))


def look_alike(one: bytes | str | Path, other: bytes | str | Path) -> bool:
    """Return whether two pictures look alike."""
    return unlike(pixels(one), pixels(other)) <= UNLIKE


# -- SVG as matplotlib writes it: paths, copies of paths and images; text is left to text --------


def _svg_pixels(text: bytes) -> np.ndarray:
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.transforms import Affine2D

    root = ElementTree.fromstring(text)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    figure = Figure((width / 72, height / 72), dpi=100)
    canvas = FigureCanvasAgg(figure)
    with mpl.rc_context({"path.simplify": True}):
        ax = figure.add_axes((0, 0, 1, 1))
        ax.set(xlim=(0, width), ylim=(height, 0))
        ax.set_axis_off()
        known = {f"#{one.attrib['id']}": one for one in root.iter() if "id" in one.attrib}
        _draw(ax, root, known, Affine2D(), {})
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3].copy()


def _draw(ax, element, known, transform, style) -> None:
    from matplotlib.transforms import Affine2D

    kind = element.tag.rpartition("}")[2]
    if kind in ("defs", "clipPath", "metadata", "style", "text"):
        return
    here = _transform(element.attrib.get("transform", "")) + transform
    style = {**style, **_style(element.attrib)}
    if kind == "path":
        _draw_path(ax, element.attrib["d"], here, style)
    elif kind == "use":
        moved = Affine2D().translate(*(float(element.attrib.get(name, 0)) for name in "xy")) + here
        (target,) = (value for name, value in element.attrib.items() if name.endswith("href"))
        if target in known:
            shape = known[target].attrib
            own = _transform(shape.get("transform", "")) + moved
            _draw_path(ax, shape.get("d", ""), own, {**_style(shape), **style})
    elif kind == "image":
        (data,) = (value for name, value in element.attrib.items() if name.endswith("href"))
        import base64

        image = Image.open(io.BytesIO(base64.b64decode(data.partition(",")[2]))).convert("RGBA")
        wide, high = (float(element.attrib[name]) for name in ("width", "height"))
        x, y = (float(element.attrib.get(name, 0)) for name in "xy")
        corners = here.transform([(x, y), (x + wide, y + high)])
        left, right = sorted(corners[:, 0])
        top, bottom = sorted(corners[:, 1])
        array = np.asarray(image)
        if corners[0, 1] > corners[1, 1]:
            array = array[::-1]
        ax.imshow(array, extent=(left, right, bottom, top), aspect="auto", zorder=1)
    for child in element:
        _draw(ax, child, known, here, style)


def _draw_path(ax, d: str, transform, style: dict[str, str]) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path as Outline

    codes, points = [], []
    kinds = {"M": (Outline.MOVETO,), "L": (Outline.LINETO,), "Q": (Outline.CURVE3,) * 2,
             "C": (Outline.CURVE4,) * 3}  # fmt: skip
    for kind, numbers in re.findall(r"([MLQCz])([^MLQCz]*)", d):
        if kind == "z":
            codes.append(Outline.CLOSEPOLY)
            points.append(points[-1])
            continue
        values = [float(number) for number in numbers.split()]
        codes += kinds[kind]
        points += list(zip(values[::2], values[1::2], strict=True))
    if not points:
        return
    opacity = float(style.get("opacity", 1))
    fill, stroke = style.get("fill", "#000000"), style.get("stroke", "none")
    if fill.startswith("url"):  # a hatch
        fill = "none"

    def colour(name: str, part: str):
        from matplotlib.colors import to_rgba

        alpha = opacity * float(style.get(f"{part}-opacity", 1))
        return "none" if name == "none" else to_rgba(name, alpha)

    dashes = [float(part) for part in re.findall(r"[\d.]+", style.get("stroke-dasharray", ""))]
    width = float(style.get("stroke-width", 1))
    patch = PathPatch(
        transform.transform_path(Outline(points, codes)), facecolor=colour(fill, "fill"),
        edgecolor=colour(stroke, "stroke"), linewidth=width if stroke != "none" else 0,
        linestyle=(0, [part / max(width, 0.1) for part in dashes]) if dashes else "-",
    )  # fmt: skip
    ax.add_patch(patch)
    patch.set_clip_on(False)


def _style(attributes: dict[str, str]) -> dict[str, str]:
    pairs = [part.partition(":") for part in attributes.get("style", "").split(";") if ":" in part]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _transform(text: str):
    from matplotlib.transforms import Affine2D

    made = Affine2D()
    for name, numbers in reversed(re.findall(r"(\w+)\(([^)]*)\)", text)):
        values = [float(number) for number in re.split(r"[ ,]+", numbers.strip())]
        if name == "translate":
            made = made.translate(*values, *[0] * (2 - len(values)))
        elif name == "scale":
            made = made.scale(*values)
        elif name == "rotate":
            made = made.rotate_deg(values[0])
        else:
            a, b, c, d, e, f = values
            made = made + Affine2D.from_values(a, b, c, d, e, f)
    return made
