"""From the rows of runs to figures: scores with intervals, costs, differences."""
