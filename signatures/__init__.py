"""What an LM is asked, one file per act. A signature's docstring is sent to the LM; its source stands in a comment."""
