"""Colours of figures, which survive grey print and colour blindness."""

# Okabe and Ito's palette without yellow, which vanishes on white.
BLACK, VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY_BLUE = (
    "#000000", "#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
)  # fmt: skip
GREY = "#808080"
