#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-only
"""browser.py - shows a page in a real browser, and says what is wrong with it there.

usage: browser.py PROGRAM PAGE [FOLDER]    PROGRAM: chromium, or chromium-headless-shell; FOLDER: for screenshots and the PDF
IOT_WAYS="light print" looks in these ways alone.

Prints a line for each way of looking (light, dark, phone, print): "WAY: N figures, W pixels wide", and each fault: what the console
said, what was asked of a network, figures that are not to be seen, text that leaves the window or its picture. Exit status 1 with faults.
"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile

WAYS = {
    "light": dict(width=1280, height=900, features=[{"name": "prefers-color-scheme", "value": "light"}]),
    "dark": dict(width=1280, height=900, features=[{"name": "prefers-color-scheme", "value": "dark"}]),
    "phone": dict(width=390, height=844, features=[{"name": "prefers-color-scheme", "value": "light"}]),
    "print": dict(width=794, height=1123, media="print", features=[]),
}

# The visible part of each figure; text of pictures beyond their edge; and the contrast of the page's own text.
LOOK = """(() => {
  const faults = [], seen = e => { const r = e.getBoundingClientRect(); return r.width > 50 && r.height > 20; };
  let figures = 0;
  for (const f of document.querySelectorAll('figure')) {
    const shown = [...f.querySelectorAll('svg')].filter(seen);
    if (shown.length !== 1) faults.push(`figure in #${f.closest('section').id}: ${shown.length} pictures are seen`);
    else figures++;
    for (const s of shown) {
      const box = s.getBoundingClientRect();
      if (box.right > innerWidth + 1) faults.push(`picture in #${f.closest('section').id} is wider than the window`);
      for (const t of s.querySelectorAll('text')) {
        const r = t.getBoundingClientRect();
        if (t.textContent.trim() && (r.left < box.left - 1 || r.right > box.right + 1 || r.top < box.top - 1 || r.bottom > box.bottom + 1))
          faults.push(`'${t.textContent.trim()}' leaves the picture in #${f.closest('section').id}`);
      }
    }
    if (!f.querySelector('figcaption').textContent.includes('iot-analyze ')) faults.push('a figure without its command');
  }
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth + 1) {
    for (const e of document.querySelectorAll('main *'))
      if (e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll, svg')) { faults.push(`<${e.tagName}> '${e.textContent.trim().slice(0, 60)}' leaves the window`); break; }
    faults.push(`${wide} pixels wide in a window of ${innerWidth}`);
  }
  const level = c => { const v = c.match(/[\\d.]+/g).slice(0, 3).map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);
                       return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
  for (const e of document.querySelectorAll('h1, h2, p, dt, dd, td, th, caption, figcaption, code, a, summary')) {
    const a = level(getComputedStyle(e).color), b = level(ground(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) { faults.push(`<${e.tagName}> has a contrast of ${ratio.toFixed(1)}`); break; }
  }
  for (const t of document.querySelectorAll('table'))
    if (matchMedia('print').matches && t.getBoundingClientRect().right > document.querySelector('main').getBoundingClientRect().right + 1) faults.push(`on paper, '${t.caption?.textContent}' is cut off`);
  for (const d of document.querySelectorAll('details[open]'))
    if (matchMedia('print').matches && d.querySelector('table') && !seen(d.querySelector('table'))) faults.push(`on paper, numbers of #${d.closest('section').id} are not seen`);
  // numbers from the largest on, then from the smallest; text from A on
  let sorted = 0, unsorted = 0;
  for (const t of document.querySelectorAll('table')) {
    const rows = t.tBodies[0].rows;
    if (rows.length < 3 || !t.tHead) continue;
    for (const h of t.tHead.rows[0].cells) {
      const of = () => [...rows].map(r => r.cells[h.cellIndex]);
      if (!of().every(c => c.className === of()[0].className && (c.className !== 'n' || /^-?[0-9.]+(e[-+]?[0-9]+)?$/.test(c.textContent)))) continue;
      for (const click of [1, -1]) {
        h.click();
        const v = of().map(c => c.className === 'n' ? -parseFloat(c.textContent) : c.textContent);
        for (let i = 1; i < v.length; i++)
          if (click * (typeof v[0] === 'number' ? v[i] - v[i - 1] : v[i].localeCompare(v[i - 1])) < 0) { unsorted++ || faults.push(`'${t.caption?.textContent}' is not sorted by ${h.textContent}`); break; }
      }
      sorted++;
    }
  }
  if (!sorted) faults.push('no table sorts');
  return JSON.stringify({figures, wide, faults});
})()"""


class Browser:
    """Speaks the DevTools protocol over two pipes: no port, no library."""

    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self.out = os.pipe()
        self.into, to_write = os.pipe()

        def three_and_four():
            a, b = os.dup(to_read), os.dup(to_write)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--user-data-dir=" + self.profile.name, "about:blank"],
            preexec_fn=three_and_four, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.rest, self.events = 0, b"", []
        target = next(t for t in self.call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 20)
            if not more:
                sys.exit("the browser ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if getattr(self, "session", None):
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                if "error" in answer:
                    sys.exit(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        while not any(e.get("method") == method for e in self.events):
            self.events.append(self.message())

    def close(self):
        try:
            self.call("Browser.close")
        except SystemExit:
            pass
        self.process.wait(30)
        self.profile.cleanup()


def said(events, page):
    for e in events:
        p = e.get("params", {})
        if e.get("method") == "Runtime.consoleAPICalled":
            yield "console: " + " ".join(str(a.get("value")) for a in p["args"])
        elif e.get("method") == "Runtime.exceptionThrown":
            yield "exception: " + p["exceptionDetails"]["text"]
        elif e.get("method") == "Log.entryAdded":
            yield f"log: {p['entry']['level']}: {p['entry']['text']}"
        elif e.get("method") == "Network.requestWillBeSent" and p["request"]["url"] != page:
            yield "asked for: " + p["request"]["url"][:100]


def look(browser, page, way, how, folder):
    browser.call("Emulation.setDeviceMetricsOverride", width=how["width"], height=how["height"], deviceScaleFactor=1, mobile=way == "phone")
    browser.call("Emulation.setEmulatedMedia", media=how.get("media", "screen"), features=how["features"])
    browser.events.clear()
    browser.call("Page.navigate", url=page)
    browser.wait_for("Page.loadEventFired")
    seen = json.loads(browser.call("Runtime.evaluate", expression=LOOK)["result"]["value"])
    if folder:
        shot = browser.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        with open(os.path.join(folder, way + ".png"), "wb") as f:
            f.write(base64.b64decode(shot["data"]))
    if folder and way == "print":
        paper = base64.b64decode(browser.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)["data"])
        with open(os.path.join(folder, "page.pdf"), "wb") as f:
            f.write(paper)
        pages = len(re.findall(rb"/Type\s*/Page[^s]", paper))
        print(f"print: {pages} pages")
        if not 0 < pages <= 12:
            seen["faults"].append(f"{pages} pages")
    print(f"{way}: {seen['figures']} figures, {seen['wide']} pixels wide")
    return seen["faults"] + list(said(browser.events, page))


def main():
    program, page = sys.argv[1], "file://" + os.path.abspath(sys.argv[2])
    folder = sys.argv[3] if len(sys.argv) > 3 else None
    browser = Browser(program)
    faults = []
    try:
        for way, how in WAYS.items():
            if way not in os.environ.get("IOT_WAYS", way).split():
                continue
            faults += [f"{way}: {fault}" for fault in look(browser, page, way, how, folder)]
    finally:
        browser.close()
    print("\n".join(faults[:30]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
