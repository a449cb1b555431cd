#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""page.py - is a page of HTML whole for a parser that is not ours, does it load nothing, and run only the script whose sum it names?

usage: page.py FILE      prints "FIGURES figures, TABLES tables"; exit status 1, and a line for each fault
"""
import base64
import hashlib
import html.parser
import re
import sys

VOID = {"meta", "br", "hr"}
FOREIGN = {"iframe", "object", "embed", "link", "img", "image", "use", "base", "form", "input", "video", "audio", "foreignobject", "a:href"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.faults, self.seen, self.targets = [], set(), [], {}, []

    def look(self, tag, attributes):
        self.seen[tag] = self.seen.get(tag, 0) + 1
        if tag in FOREIGN:
            self.faults.append(f"<{tag}>")
        for name, value in attributes:
            value = value or ""
            if name.startswith("on") or name in ("href", "src", "xlink:href") and not value.startswith("#") or "javascript:" in value:
                self.faults.append(f"<{tag} {name}={value!r}>")
            if name == "href":
                self.targets.append(value[1:])
            if name == "id":
                if value in self.ids:
                    self.faults.append(f"id {value} twice")
                self.ids.add(value)
            if "url(" in value and value[5:-1] and value.startswith("url(#"):
                self.targets.append(value[5:-1])
            elif "url(" in value:
                self.faults.append(f"<{tag} {name}={value!r}>")

    def handle_starttag(self, tag, attrs):
        self.look(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.look(tag, attrs)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")


def main():
    page = Page()
    text = open(sys.argv[1], encoding="utf-8").read()
    page.feed(text)
    page.close()
    scripts = re.findall(r"<script(.*?)>(.*?)</script", text, re.S | re.I)
    allowed = re.findall(r"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-([^']*)'\"", text)
    if page.seen.get("script", 0) != 1 or [s[0] for s in scripts] != [""]:
        page.faults.append("not one script without attributes")
    elif allowed != [base64.b64encode(hashlib.sha256(scripts[0][1].encode()).digest()).decode()]:
        page.faults.append("the script is not the one that the page allows")
    page.faults += [f"<{tag}> is not closed" for tag in page.open]
    page.faults += [f"#{target} is nowhere" for target in set(page.targets) - page.ids]
    if not text.startswith("<!DOCTYPE html>\n<html lang="):
        page.faults.append("no document type, or no language")
    if "@import" in text or "http://" in text.replace("http://www.w3.org/2000/svg", "") and page.seen.get("style", 0) != 1:
        page.faults.append("it loads something")
    print(f"{page.seen.get('figure', 0)} figures, {page.seen.get('table', 0)} tables")
    print("\n".join(page.faults[:20]), end="")
    return 1 if page.faults else 0


if __name__ == "__main__":
    sys.exit(main())
