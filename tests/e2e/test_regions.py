"""Two and three regions, each with its own Redis and two nodes, behind cables that are slow and pulled. What they admit
together is judged by the bound of each mode. Standard library and pytest only."""

import collections
import shutil
import subprocess
import threading

import pytest
from fault_tools import may_make_networks
from postgres_node import PROGRAMS
from redis_nodes import QUIET, WEIR, eventually
from region_tools import World, admin_get, hammer, most_beyond, state_of, use_up

pytestmark = [
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="needs redis-server"),
    pytest.mark.skipif(not (PROGRAMS / "postgres").exists(), reason="needs PostgreSQL"),
    pytest.mark.skipif(not may_make_networks(), reason="needs the right to make network namespaces"),
]

RATE, BURST, LIMIT, TOLERANCE = 200, 400, 1000, 50
RULES = f"""version: 1
rules:
  - {{id: slices, match: {{kind: slices}}, per: [tenant], limit: {RATE}, window: 1s, burst: {BURST}, region: slices, on_store_failure: deny}}
  - {{id: units, match: {{kind: units}}, per: [tenant], algorithm: fixed-window, limit: {LIMIT}, window: 3650d, region: slices, on_store_failure: deny}}
  - {{id: hold, match: {{kind: hold}}, per: [tenant], algorithm: fixed-window, limit: {LIMIT}, window: 3650d, region: reconcile, on_store_failure: deny}}
  - {{id: continue, match: {{kind: continue}}, per: [tenant], algorithm: fixed-window, limit: {LIMIT}, window: 3650d, region: reconcile, on_partition: continue, on_store_failure: deny}}
"""


def admitted(answers):
    return sum(status == 200 for _, _, status, _ in answers)


def cut_later(place, seconds):
    timer = threading.Timer(seconds, place.cut)
    timer.start()
    return timer


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Three regions that have come to know their coordinator. Tests count different tenants, and join what they cut."""
    with World(tmp_path_factory.mktemp("three"), RULES, "eu", "us", "ap") as world:
        world.places[1].delay(20)
        world.start()
        world.learned()
        yield world


@pytest.fixture
def world(three):
    yield three
    three.places[1].join()
    eventually("the coordinator answers again", lambda: all(state_of(node)["connected"] for node in three.nodes()))


def test_slices_admit_what_one_bucket_would_also_while_a_region_is_cut_off(world):
    eu, us, _ = (region.nodes for region in world.regions)
    # One region alone soon gets most of the limit.
    alone = hammer(eu, "slices", 4)
    assert most_beyond(alone, RATE, BURST) <= 0
    late = [status for began, _, status, _ in alone if began > alone[0][0] + 2]
    assert late.count(200) > 0.5 * RATE * 2, "its share has grown"
    assert {answer["source"] for _, _, status, answer in alone if status == 200} == {"region"}
    # Then all of them, one of which is cut off: it goes on with its lease, then with its floor.
    cut = cut_later(world.places[1], 1)
    together = hammer(world.nodes(), "slices", 5, pause=0.005)
    cut.join()
    assert most_beyond(alone + together, RATE, BURST) <= 0
    assert not state_of(us[0])["connected"]
    status, metrics = admin_get(eu[0], "/metrics")
    assert status == 200 and 'weir_region_share_ratio{rule="slices"}' in metrics


def test_regions_that_reconcile_admit_no_more_than_the_tolerance_beyond_the_limit(world):
    eu, us, _ = (region.nodes for region in world.regions)
    first = admitted(hammer(world.nodes(), "hold", 1, pause=0.002))
    world.places[1].cut()
    cut = hammer(us, "hold", 1, pause=0.002)
    assert admitted(cut) <= TOLERANCE // 3, "its part of the tolerance, or what it has not used of that"
    assert cut[-1][2] == 429
    shown = cut[-1][3]
    assert shown["rules"][0]["tolerance"] == TOLERANCE
    world.places[1].join()
    spent = first + admitted(cut)
    spent += use_up(world.nodes(), "hold", LIMIT - TOLERANCE - spent)
    assert LIMIT - TOLERANCE <= spent <= LIMIT + TOLERANCE
    assert spent + admitted(hammer(world.nodes(), "hold", 0.5)) <= LIMIT + TOLERANCE


def test_regions_that_continue_admit_the_limit_each_at_most(world):
    us = world.regions[1].nodes
    world.places[1].cut()
    parted = collections.Counter()
    for region in world.regions:
        parted[region.name] = admitted(hammer(region.nodes, "continue", 1.5))
    assert max(parted.values()) <= LIMIT and sum(parted.values()) <= 3 * LIMIT
    assert parted["us"] > TOLERANCE, "it does not wait to be heard"
    assert not state_of(us[0])["connected"]


def test_a_window_in_slices_is_used_up_and_never_exceeded(world):
    first = admitted(hammer(world.nodes(), "units", 1, pause=0.005))
    world.places[1].cut()
    cut = admitted(hammer(world.regions[1].nodes, "units", 1))
    world.places[1].join()
    spent = first + cut
    spent += use_up(world.nodes(), "units", 0.8 * LIMIT - spent)
    assert 0.8 * LIMIT <= spent <= LIMIT


def test_a_lost_region_and_a_lost_coordinator_admit_nothing_more(tmp_path):
    with World(tmp_path, RULES, "eu", "us") as world:
        world.start()
        world.learned()
        eu, us = world.regions
        answers = hammer(world.nodes(), "slices", 2, pause=0.005)
        world.postgres.lose_rows()
        answers += hammer(world.nodes(), "slices", 2, pause=0.005)
        us.close()  # kill -9 of its nodes and its Redis
        after = hammer(eu.nodes, "slices", 6, pause=0.002)
        assert most_beyond(answers + after, RATE, BURST) <= 0
        last = [status for began, _, status, _ in after if began > after[0][0] + 4.5]
        assert last.count(200) > 0.6 * RATE * 1.5, "the region that is left has its share"


# What it had given of a window is used until that ends, also by a region that does not ask again.
def test_a_coordinator_that_has_lost_its_rows_gives_nothing_more_of_a_window(tmp_path):
    with World(tmp_path, RULES, "eu", "us") as world:
        world.start()
        world.learned()
        eu, us = world.regions
        units = use_up(eu.nodes, "units", 0.6 * LIMIT)
        held = use_up(eu.nodes, "hold", 0.6 * LIMIT)
        world.postgres.lose_rows()
        # Longer than a lease, after which shares are given again.
        units += admitted(hammer(us.nodes, "units", 3, pause=0.002))
        held += admitted(hammer(us.nodes, "hold", 1, pause=0.002))
        assert 0.6 * LIMIT < units <= LIMIT
        assert 0.6 * LIMIT < held <= LIMIT + TOLERANCE


def test_a_rule_that_this_server_cannot_share_stops_the_start_and_says_why(tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("version: 1\nrules:\n  - {id: shared, limit: 5, window: 1s, region: slices, on_store_failure: deny}\n")
    ran = subprocess.run([WEIR, "serve", "--rules", str(rules), "--listen-http", "127.0.0.1:0", "--listen-admin", "off"],
                         capture_output=True, text=True, env=QUIET, timeout=20)
    assert ran.returncode != 0
    assert "rule shared: region: shares its limit with other regions, and this server has no coordinator" in ran.stderr


def test_rules_validate_refuses_what_makes_no_sense(tmp_path):
    rules = tmp_path / "rules.yaml"

    def fault(fields):
        rules.write_text(f"version: 1\nrules:\n  - {{id: shared, limit: 5, window: 10s, on_store_failure: deny, {fields}}}\n")
        ran = subprocess.run([WEIR, "rules", "validate", str(rules)], capture_output=True, text=True, env=QUIET, timeout=20)
        assert ran.returncode != 0, fields
        return ran.stdout + ran.stderr

    assert "expected algorithm token-bucket, gcra or fixed-window" in fault("algorithm: sliding-log, region: slices")
    assert "expected algorithm fixed-window" in fault("region: reconcile")
    assert "consistency: leased keeps units on a node" in fault("region: slices, consistency: leased")
    assert "needs home" in fault("region: central")
    assert "only a rule with region: reconcile can" in fault("on_partition: continue")
    assert "only a rule with region: central can have" in fault("home: eu")


CENTRAL = f"""version: 1
rules:
  - {{id: central, match: {{kind: central}}, per: [tenant], algorithm: fixed-window, limit: 300, window: 3650d, region: central, home: eu, on_store_failure: deny}}
  - {{id: own, match: {{kind: own}}, per: [tenant], algorithm: fixed-window, limit: 100, window: 3650d, on_store_failure: deny}}
"""


def test_a_central_rule_is_counted_at_its_home_and_its_policy_decides_when_that_is_cut_off(tmp_path):
    with World(tmp_path, CENTRAL, "us") as world:
        home = world.mainland("eu")
        world.names = ("eu", "us")
        far = world.regions[0]
        url = home.url_from(far.place)
        for region in (home, far):
            for _ in range(2):
                region.start("--region-homes", f"eu={url}", "--region-deadline", "2s")
        far.place.delay(20)
        answers = hammer(home.nodes + far.nodes, "central", 4)
        assert admitted(answers) == 300
        assert {answer["source"] for _, _, status, answer in answers if status == 200} == {"region"}
        # Floods on what is exhausted stay here: the prefilter answers, without a round trip.
        assert sum(node_metric(node, "weir_prefilter_hits_total") for node in far.nodes) > 0
        far.place.cut()
        status, answer = far.nodes[0].caller().check("central", "another")
        assert (status, answer["reason"]) == (503, "store_unavailable")
        assert far.nodes[0].caller().check("own")[0] == 200
        assert home.nodes[0].caller().check("central", "another")[0] == 200
        far.place.join()


def node_metric(node, name):
    for line in admin_get(node, "/metrics")[1].splitlines():
        if line.startswith(name + " "):
            return float(line.split()[-1])
    raise AssertionError(f"no {name}")
