#!/usr/bin/env python3
"""look.py FOLDER PAGE... - open pages from disk in one Chromium, one after the other, each as a page of its own.

For the n-th page, from 0 on, FOLDER gets n.dom (what the page became), n.said (complaints: messages of the console, violations
of its policy, errors) and n.asked (its requests that leave the disk). For all of them: net.json (the browser's log of the
network) and stderr. The resolver knows no name, so that a request for the network fails.

The browser is driven over two pipes, which takes nothing but Python: https://chromedevtools.github.io/devtools-protocol/
"""
import json
import os
import subprocess
import sys
import tempfile

LOCAL = ("file:", "data:", "chrome:", "devtools:", "chrome-extension:", "about:")


class Browser:
    def __init__(self, folder, profile):
        commands, self.out = os.pipe()
        self.into, answers = os.pipe()

        def as_chromium_wants():  # it reads from 3 and writes to 4
            kept = os.dup(commands), os.dup(answers)
            os.dup2(kept[0], 3), os.dup2(kept[1], 4)

        with open(folder + "/stderr", "wb") as said:
            self.process = subprocess.Popen(
                ["timeout", "300", "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
                 "--disable-extensions", "--no-default-browser-check", "--host-resolver-rules=MAP * ~NOTFOUND",
                 "--user-data-dir=" + profile, "--enable-logging=stderr", "--log-net-log=" + folder + "/net.json",
                 "--remote-debugging-pipe"],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, close_fds=False, preexec_fn=as_chromium_wants)
        os.close(commands)
        os.close(answers)
        self.n, self.rest, self.events = 0, b"", []

    def read(self):
        """The next message."""
        while b"\0" not in self.rest:
            more = os.read(self.into, 1 << 20)
            if not more:
                sys.exit("look.py: the browser ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, session=None, **params):
        """The answer to a command. Events that come before it are kept."""
        self.n += 1
        command = {"id": self.n, "method": method, "params": params, **({"sessionId": session} if session else {})}
        os.write(self.out, json.dumps(command).encode() + b"\0")
        while (message := self.read()).get("id") != self.n:
            self.events.append(message)
        if "error" in message:
            sys.exit(f"look.py: {method}: {message['error']['message']}")
        return message["result"]

    def wait_for(self, method, session):
        while not any(e.get("method") == method and e.get("sessionId") == session for e in self.events):
            self.events.append(self.read())


def complaint(method, of):
    if method == "Log.entryAdded":
        return of["entry"]["level"] + ": " + of["entry"]["text"]
    if method == "Runtime.consoleAPICalled":
        return of["type"] + ": " + " ".join(str(a.get("value", a.get("description"))) for a in of["args"])
    if method == "Runtime.exceptionThrown":
        return "exception: " + of["exceptionDetails"].get("exception", {}).get("description", of["exceptionDetails"]["text"])
    return None


def look(browser, path):
    """The rendered page, the messages about it, and its requests."""
    target = browser.ask("Target.createTarget", url="about:blank")["targetId"]
    session = browser.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    for domain in "Page", "Log", "Runtime", "Network":
        browser.ask(domain + ".enable", session)
    browser.ask("Page.navigate", session, url="file://" + path)
    browser.wait_for("Page.loadEventFired", session)
    # State of the page right after it has loaded.
    browser.ask("Runtime.evaluate", session, expression="new Promise(done => setTimeout(done, 100))", awaitPromise=True)
    dom = browser.ask("Runtime.evaluate", session, expression="document.documentElement.outerHTML")["result"]["value"]
    browser.ask("Target.closeTarget", targetId=target)
    own = [e for e in browser.events if e.get("sessionId") == session]
    browser.events.clear()
    said = [c for e in own if (c := complaint(e["method"], e["params"]))]
    urls = [e["params"]["request"]["url"] for e in own if e["method"] == "Network.requestWillBeSent"]
    return dom, said, [u for u in urls if not u.startswith(LOCAL)]


def main(folder, *paths):
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="profile.", ignore_cleanup_errors=True) as profile:
        browser = Browser(folder, profile)
        for n, path in enumerate(paths):
            dom, said, asked = look(browser, path)
            for ending, text in ("dom", dom), ("said", "\n".join(said)), ("asked", "\n".join(asked)):
                with open(f"{folder}/{n}.{ending}", "w", encoding="utf-8", errors="surrogatepass") as f:
                    f.write(text + "\n" if text else "")
        browser.ask("Browser.close")
        browser.process.wait(60)


if __name__ == "__main__":
    main(*sys.argv[1:])
