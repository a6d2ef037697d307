"""Page for the browser: its installed files, its server on loopback, and the notebook widget."""
