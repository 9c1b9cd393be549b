#!/usr/bin/env python3
"""Writes docs/configuration.md from the program's own table of settings (`weir serve --print-config`).

    scripts/configuration_page.py build/bin/weir > docs/configuration.md
"""

import re
import subprocess
import sys

INTRODUCTION = """# Configuration

Every setting of `weir serve`. A setting can be given in three ways:

| way | example |
|---|---|
| flag | `weir serve --listen-http 127.0.0.1:8000` |
| environment variable | `WEIR_LISTEN_HTTP=127.0.0.1:8000 weir serve` |
| configuration file | `weir serve --config weir.yaml`, with `listen: {http: 127.0.0.1:8000}` |

A flag takes precedence over a variable, and a variable over the file. `WEIR_CONFIG` names the file too. Paths in the file are relative to the file. `weir serve --print-config` prints a file with every setting, its default and these explanations; it is also in the repository: [deploy/weir.yaml](../deploy/weir.yaml).

| value | written as |
|---|---|
| duration | `500ms`, `20s`, `5m`, `1h`, `1d` |
| size | `16KiB`, `256MiB`, `1GiB`, or bytes |
| list | in the file `[a, b]`; as a flag or variable `a,b` |
| pairs | in the file `{name: value}`; as a flag or variable `name=value,name=value` |

An unknown setting in the file, an unknown flag or a bad value stops the start with an error that says what is wrong, where, and what is expected.
"""
TITLES = {
    "": ("General", ""),
    "listen": ("Listeners: `listen`", "What listens beyond loopback is reachable by others: see [operating.md](operating.md)."),
    "tls": ("TLS: `tls`", "Details: [operating.md](operating.md#tls)."),
    "rules": ("Rules: `rules`", "The fields of a rules file: [rules.md](rules.md)."),
    "memory": ("The embedded store: `memory`", "Used when `store` is `memory`."),
    "redis": ("Redis: `redis`", "Used when `store` is a Redis URL: [redis.md](redis.md), [failure.md](failure.md)."),
    "resp": ("The Redis protocol: `resp`", "Commands: [redis-protocol.md](redis-protocol.md)."),
    "http": ("HTTP: `http`", "The API: [http.md](http.md)."),
    "grpc": ("gRPC: `grpc`", "The services: [grpc.md](grpc.md)."),
    "admin": ("The admin listener: `admin`", "What it serves: [operating.md](operating.md)."),
    "log": ("Logs: `log`", "Events: [operating.md](operating.md)."),
    "identity": ("Identity: `identity`", "How callers are identified: [identity.md](identity.md)."),
}


def read_settings(text):
    """[(section, name, default, meaning)], in the order of the reference configuration."""
    settings, section, comment = [], "", []
    for line in text.splitlines():
        if not line.strip():
            comment = []
        elif line.strip().startswith("#"):
            comment.append(line.strip().lstrip("# "))
        elif found := re.fullmatch(r"(\w+):", line):
            section, comment = found.group(1), []
        else:
            indent, name, default = re.fullmatch(r"( *)(\w+): (.*)", line).groups()
            settings.append((section if indent else "", name, default, " ".join(comment)))
            comment = []
    return settings


def flag_of(section, name):
    words = section if (section, name) == ("rules", "path") else f"{section}_{name}".strip("_")
    return words.replace("_", "-")


def shown(default):
    """The default as a value in a table, not as YAML text."""
    return "" if default in ('""', "[]", "{}") else f"`{default}`".replace("|", "\\|")


def page(text):
    settings = read_settings(text)
    sections = ["", *dict.fromkeys(section for section, *_ in settings if section)]
    out = [INTRODUCTION]
    for section in sections:
        title, note = TITLES.get(section, (f"`{section}`", ""))
        out.append(f"\n## {title}\n")
        if note:
            out.append(note + "\n\n")
        out.append("| setting | flag | variable | default | meaning |\n|---|---|---|---|---|\n")
        for found, name, default, meaning in settings:
            if found == section:
                flag = flag_of(section, name)
                variable = "WEIR_" + flag.upper().replace("-", "_")
                setting = f"{section}.{name}".strip(".")
                meaning = meaning.replace("|", "\\|")
                out.append(f"| `{setting}` | `--{flag}` | `{variable}` | {shown(default)} | {meaning} |\n")
    out.append("\nThis page is generated: `scripts/configuration_page.py build/bin/weir > docs/configuration.md`. A test compares it with the program.\n")
    return "".join(out)


if __name__ == "__main__":
    sys.stdout.write(page(subprocess.run([sys.argv[1], "serve", "--print-config"], capture_output=True, text=True, check=True).stdout))
