"""What the tools under scripts/, tests/ and bench/ share: places, the screen, arguments, reports, programs with limits."""
