"""A load on leased and synced rules, and the log of what was admitted."""

import http.client
import threading
import time

from redis_nodes import eventually

RATE, BURST, TOLERANCE, NODES, LOOPS = 150, 400, 60, 3, 2
CREDIT = TOLERANCE // (NODES * LOOPS)  # of one event loop
LIFE_S = BURST / RATE / 10  # of a slice
RULES = "version: 1\nrules:\n" + "".join(
    f"  - {{id: {kind}, match: {{kind: {kind}}}, per: [tenant], limit: {RATE}, window: 1s, burst: {BURST}, consistency: {kind}, {more}on_store_failure: deny}}\n"
    for kind, more in (("leased", ""), ("synced", f"tolerance: {TOLERANCE}, "))
)


class Load:
    """Clients of every node that ask without a pause and log each call that was admitted: when it was sent, and when its answer came."""

    def __init__(self, nodes):
        self.nodes = nodes  # by place; a test may exchange one
        self.admitted = {"leased": [], "synced": []}
        self.by_place = [{kind: [] for kind in self.admitted} for _ in nodes]
        self.sources = set()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.ask, args=(place, kind)) for place in range(len(nodes)) for kind in self.admitted for _ in range(2)]
        for thread in self.threads:
            thread.start()

    def ask(self, place, kind):
        node, caller = None, None
        while not self.over.is_set():
            if node is not self.nodes[place]:
                node, caller = self.nodes[place], self.nodes[place].caller()
                caller.link.timeout = 3
            began = time.monotonic()
            try:
                status, answer = caller.check(kind)
            except (OSError, http.client.HTTPException, ValueError):
                node = None
                time.sleep(0.01)
                continue
            if status == 200:
                self.admitted[kind].append((began, time.monotonic()))
                self.by_place[place][kind].append((began, time.monotonic()))
                self.sources.add(answer["source"])

    def go_on(self, more=RATE, places=range(NODES)):
        """Waits until these nodes have admitted so many more calls of each rule, and each node at least one."""

        def counts():
            return [[len(self.by_place[place][kind]) for place in places] for kind in self.admitted]

        before = counts()

        def went_on():
            grown = [[now - then for now, then in zip(*pair)] for pair in zip(counts(), before)]
            return all(sum(rule) >= more and min(rule) > 0 for rule in grown)

        eventually(f"{more} more calls of each rule are admitted", went_on)

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


def between(calls, begins, ends):
    return [call for call in calls if call[0] >= begins and call[1] <= ends]
