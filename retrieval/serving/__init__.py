"""What the servers share: listening, connections and bodies with bounds, JSON, counts. Needs the extra `serve`."""
