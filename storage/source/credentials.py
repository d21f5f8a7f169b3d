"""Credentials in URLs: never shown, never stored."""

import re

# A password may contain `/`, as secret keys of AWS do; what follows a host and `:` may also be a port.
USER_INFO = re.compile(r"(?<=://)(?:[^/:@\s]*:(?!\d+(?:/|$))[^@\s]*|[^/@\s]*)@(?:[^/@\s]*@)*")
SECRETS = re.compile(
    r"([?&][\w.-]*(?:token|signature|sig|secret|password|passwd|pwd|credential|key)[\w.-]*=)[^&#\s]+", re.IGNORECASE
)


def without_credentials(text: str) -> str:
    """Return a URL, or a text with URLs, without user names and passwords, and with `***` for secret parameters."""
    if "://" not in text:
        return text
    return SECRETS.sub(r"\1***", USER_INFO.sub("", text))
