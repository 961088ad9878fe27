"""What sources of measurements call things and leave open, put into planopt's words."""
