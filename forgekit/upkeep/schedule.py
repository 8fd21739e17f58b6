"""Units that run `forgekit maintain` once an hour: for systemd, launchd and cron."""

from __future__ import annotations

import shlex
import sys
from xml.sax.saxutils import escape

from forgekit.errors import UsageError
from forgekit.forge import Forge

_SYSTEMD = """\
# ~/.config/systemd/user/forgekit-maintain.service
[Unit]
Description=Maintain the notes of a forgekit registry

[Service]
Type=oneshot
Nice=10
ExecStart={command}

# ~/.config/systemd/user/forgekit-maintain.timer
[Unit]
Description=Maintain the notes of a forgekit registry every hour

[Timer]
OnCalendar=hourly
Persistent=true

[Install]
WantedBy=timers.target

# then: systemctl --user enable --now forgekit-maintain.timer
"""
_LAUNCHD = """\
<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ~/Library/LaunchAgents/forgekit.maintain.plist; then: launchctl load that file -->
<plist version="1.0">
<dict>
  <key>Label</key><string>forgekit.maintain</string>
  <key>ProgramArguments</key>
  <array>
{command}
  </array>
  <key>StartInterval</key><integer>3600</integer>
  <key>LowPriorityIO</key><true/>
</dict>
</plist>
"""


def schedule(forge: Forge, *, system: str) -> str:
    """Return the unit of a scheduler, one of `systemd`, `launchd`, `cron`.

    Raises UsageError for a folder whose name no unit can hold.
    """
    words = [sys.executable, "-m", "forgekit", "-C", str(forge.root), "maintain"]
    if not all(word.isprintable() for word in words):
        raise UsageError(f"the name of the folder {str(forge.root)!r} cannot stand in a unit; rename it")
    if system == "launchd":
        return _LAUNCHD.format(command="\n".join(f"    <string>{escape(word)}</string>" for word in words))
    if system == "cron":
        return "7 * * * * " + shlex.join(words).replace("%", "\\%") + "\n"
    quoted = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    command = " ".join(f'"{word}"' for word in quoted).replace("%", "%%").replace("$", "$$")
    return _SYSTEMD.format(command=command)
