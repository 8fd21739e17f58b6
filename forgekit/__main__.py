"""`python -m forgekit`."""

from forgekit.cli.main import main

raise SystemExit(main())
