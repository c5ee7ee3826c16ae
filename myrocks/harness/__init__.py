"""Private MariaDB servers with MyRocks on ZenFS: what the demo, the tests and the measurements share."""
