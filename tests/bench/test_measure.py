"""Rounds by turns, and warm-up until times are steady; time itself is a counter here."""

from onnxfix.bench.measure import Plan, measure, warm_up


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


class Runner:
    """Takes `times` in turn, the last for ever."""

    def __init__(self, clock, name, log, *times):
        self.clock, self.name, self.log, self.times = clock, name, log, list(times)

    def run(self):
        self.log.append(self.name)
        taken = self.times.pop(0) if len(self.times) > 1 else self.times[0]
        self.clock.now += taken
        return {"computeMs": taken * 1e3, "hostLatencyMs": taken * 1e3 + 1}


def turns(log):
    return "".join(name for index, name in enumerate(log) if not index or log[index - 1] != name)


def test_variants_take_turns_a_b_b_a_and_builds_take_the_rounds_in_turn():
    clock, log = Clock(), []
    first = [Runner(clock, "a", log, 0.25), Runner(clock, "A", log, 0.25)]
    second = [Runner(clock, "b", log, 0.125)]
    rounds = measure([first, second], Plan(rounds=4, duration=4.0, iterations=8), clock)
    assert turns(log) == "abAabA"
    assert [one.build for one in rounds[0]] == [0, 1, 0, 1]
    assert [one.build for one in rounds[1]] == [0, 0, 0, 0]
    assert [len(one.samples["computeMs"]) for one in rounds[0]] == [4, 4, 4, 4]  # one second each
    assert [len(one.samples["computeMs"]) for one in rounds[1]] == [8, 8, 8, 8]
    assert {one.seconds for one in rounds[0]} == {1.0}
    assert rounds[0][0].samples["hostLatencyMs"][0] == 251.0


def test_slow_variants_still_run_the_least_number_of_times():
    clock, log = Clock(), []
    rounds = measure([[Runner(clock, "a", log, 10.0)]], Plan(rounds=3, duration=1.0, iterations=7), clock)
    assert [len(one.samples["computeMs"]) for one in rounds[0]] == [3, 3, 3]


def test_warm_up_ends_when_times_are_steady():
    clock, log = Clock(), []
    falling = [1.0 - 0.01 * step for step in range(50)]
    assert warm_up(Runner(clock, "a", log, *falling), "computeMs", Plan(warm_up=20), clock)
    # 50 runs that fall, then ten windows of ten that do not.
    assert 100 <= len(log) <= 160


def test_warm_up_takes_its_least_time_and_ends_at_its_limit():
    clock, log = Clock(), []
    assert warm_up(Runner(clock, "a", log, 0.0001), "computeMs", Plan(warm_up=0.2), clock)
    assert clock.now >= 0.2
    clock, log = Clock(), []
    restless = [0.001 * (1 + step % 3) for step in range(100000)]
    noisy = Runner(clock, "a", log, *[value for step in restless for value in [step] * 10])
    assert not warm_up(noisy, "computeMs", Plan(warm_up=0.2), clock)
    assert 2 <= clock.now < 2.1
