"""From a question to a plan: asked, searched, bought and explained."""
