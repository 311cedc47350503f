"""A second look at files to be shared, which takes nothing from the game: cells are read as whoever gets them would."""
