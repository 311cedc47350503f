"""Colours of figures, for grey print and colour-blind readers."""

# Okabe and Ito's palette without yellow, which is invisible on white.
BLACK, VERMILION, BLUE, GREEN, PURPLE, ORANGE, SKY_BLUE = (
    "#000000",
    "#D55E00",
    "#0072B2",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
)
GREY = "#808080"
