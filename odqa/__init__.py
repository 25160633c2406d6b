"""The ground floor, below all rooms: what they share, and their front door. It knows no question and no passage."""
