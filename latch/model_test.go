package latch

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/send"
)

// world is a latch, a client of it whose requests are sent again, arrive late
// and lose their replies, and what the latch must be like if each of them counts
// once.
type world struct {
	t      testing.TB
	raw    rueidis.Client
	rnd    *rand.Rand
	of     *names
	bodies map[string]string

	count   int64
	armed   int64 // what the parties are counted against; 0: nobody has counted once
	parties map[string]bool
	opened  int64

	lanes     redistest.Lanes
	last      map[string]int64  // the last request of each lane that the server has run
	said      map[int64][]int64 // what became of those that ran
	settled   map[int64]bool    // those that never will
	late      redistest.Late[copied]
	unsettled []copied           //
	seen      map[string]int     // how often what happened
	did       map[int64]struct{} // count downs that were sent
}

// copied is one send.
type copied struct {
	script string
	lane   string
	flight int // of what settles the flight's own lane; -1: none
	number int64
	args   []string // behind the four that all have
	old    bool     // older than any opening, for all it knows
}

// scriptBodies are the scripts as they are sent.
func scriptBodies() map[string]string {
	return map[string]string{
		"down": downScript.Body(), "arm": trySetScript.Body(), "delete": deleteScript.Body(), "void": send.VoidScript.Body(),
	}
}

func newWorld(t testing.TB, seed uint64, bodies map[string]string) *world {
	w := &world{
		t: t, raw: redistest.Shared(t).Client(t), rnd: rand.New(rand.NewPCG(seed, 1)), bodies: bodies,
		of:      newNames("c", redistest.Name(t)),
		parties: map[string]bool{}, last: map[string]int64{}, said: map[int64][]int64{},
		settled: map[int64]bool{}, seen: map[string]int{}, did: map[int64]struct{}{},
	}
	w.lanes.Prefix = keys.Lane(w.of.key, "c")
	return w
}

// deliver has a send arrive, and compares what the server says with what it
// must say.
func (w *world) deliver(c copied) error {
	number := strconv.FormatInt(c.number, 10)
	on := map[string][]string{
		"down": {w.of.key, c.lane, w.of.opened, w.of.parties, w.of.armed}, "arm": {w.of.key, c.lane, w.of.parties, w.of.armed},
		"delete": {w.of.key, c.lane, w.of.opened, w.of.parties, w.of.armed}, "void": {c.lane},
	}[c.script]
	args := []string{number, memory, w.of.channel, "publish"}
	if c.script == "down" {
		args = append(args, map[bool]string{true: "1" + strings.Repeat("0", 17), false: "0"}[c.old])
	}
	args = append(args, c.args...)
	if c.script == "void" {
		args = args[:2]
	}
	msg, err := w.raw.Do(context.Background(),
		w.raw.B().Eval().Script(w.bodies[c.script]).Numkeys(int64(len(on))).Key(on...).Arg(args...).Build()).ToMessage()
	if err != nil {
		return err
	}
	if c.script == "void" {
		w.void(c)
		return nil
	}
	said, err := msg.AsIntSlice()
	if err != nil {
		return err
	}
	if must := w.must(c); !slices.Equal(said, must) {
		return fmt.Errorf("%s %d %q said %v, not %v", c.script, c.number, c.args, said, must)
	}
	return nil
}

// void is what it does.
func (w *world) void(c copied) {
	if w.last[c.lane] < c.number {
		w.last[c.lane] = c.number
		w.settled[c.number] = true
	}
}

// must is what a request does to a latch that it has not come to before.
func (w *world) must(c copied) []int64 {
	if said, ran := w.said[c.number]; ran && w.last[c.lane] == c.number {
		w.seen["again"]++
		return said
	}
	if w.last[c.lane] > c.number {
		w.seen["late"]++
		return []int64{-1}
	}
	if w.settled[c.number] {
		w.seen["void"]++
		return nil
	}
	w.last[c.lane] = c.number
	if c.old {
		w.seen["overdue"]++
		w.said[c.number] = make([]int64, len(c.args)/2)
		return w.said[c.number]
	}
	said := map[string]func([]string) []int64{"down": w.down, "arm": w.arm, "delete": w.delete}[c.script](c.args)
	w.said[c.number] = said
	return said
}

func (w *world) down(args []string) (said []int64) {
	was, first := w.count, true
	if was == 0 {
		w.armed, w.parties = 0, map[string]bool{}
	}
	for i := 0; i < len(args); i += 2 {
		if args[i+1] == "" {
			k, _ := strconv.ParseInt(args[i], 10, 64)
			said, w.count = append(said, w.count), max(w.count-k, 0)
			continue
		}
		if w.count > 0 {
			if first && (w.armed == 0 || w.count+int64(len(w.parties)) > w.armed) {
				w.armed, w.parties = w.count, map[string]bool{}
			}
			first = false
			if !w.parties[args[i+1]] {
				w.parties[args[i+1]] = true
				w.count--
			}
		}
		said = append(said, w.count)
	}
	switch {
	case was > 0 && w.count == 0:
		w.open()
	case was == 0:
		w.armed, w.parties = 0, map[string]bool{}
	}
	return said
}

func (w *world) open() {
	w.seen["opened"]++
	w.count, w.armed, w.parties = 0, 0, map[string]bool{}
}

func (w *world) arm(args []string) []int64 {
	if w.count > 0 {
		return []int64{0}
	}
	w.count, _ = strconv.ParseInt(args[0], 10, 64)
	w.armed, w.parties = 0, map[string]bool{}
	return []int64{1}
}

func (w *world) delete([]string) []int64 {
	if w.count == 0 {
		w.armed, w.parties = 0, map[string]bool{}
		return []int64{0}
	}
	w.open()
	return []int64{1}
}

// step is one thing that happens.
func (w *world) step() error {
	switch p := w.rnd.IntN(100); {
	case p < 2:
		return w.java()
	case p < 20 && len(w.late) > 0:
		return w.deliver(w.late.Arrives(w.rnd))
	case p < 45 && len(w.unsettled) > 0:
		return w.settle(w.rnd.IntN(len(w.unsettled)))
	}
	return w.request()
}

// java opens the latch, or arms it, without a look at what is ours.
func (w *world) java() error {
	if w.count > 0 {
		w.count = 0
		return w.raw.Do(context.Background(), w.raw.B().Del().Key(w.of.key).Build()).Error()
	}
	w.count = 1 + w.rnd.Int64N(25)
	return w.raw.Do(context.Background(), w.raw.B().Set().Key(w.of.key).Value(decimal(w.count)).Build()).Error()
}

// settle says what is to be settled, perhaps more than once.
func (w *world) settle(i int) error {
	c := w.unsettled[i]
	if w.rnd.IntN(3) == 0 {
		w.late.Add(c)
	}
	if w.rnd.IntN(3) > 0 { // else its reply is lost: it is said again
		w.unsettled = slices.Delete(w.unsettled, i, i+1)
		w.lanes.Back(c.flight)
	}
	return w.deliver(c)
}

// request is one of a random flight: up to three sends, of which the last may be
// answered.
func (w *world) request() error {
	flight := w.rnd.IntN(3)
	lane, number := w.lanes.Next(flight)
	c := copied{lane: lane, flight: -1, number: number}
	switch p := w.rnd.IntN(10); {
	case p == 0:
		c.script = "delete"
	case p < 4:
		c.script, c.args = "arm", []string{decimal(1 + w.rnd.Int64N(20)), "0"}
	default:
		c.script = "down"
		w.did[c.number] = struct{}{}
		for range 1 + w.rnd.IntN(3) {
			if w.rnd.IntN(2) == 0 {
				c.args = append(c.args, decimal(1+w.rnd.Int64N(3)), "")
			} else {
				c.args = append(c.args, "1", string(rune('a'+w.rnd.IntN(6))))
			}
		}
	}
	return w.send(c, flight)
}

func (w *world) send(c copied, flight int) error {
	for sends := 1; ; sends++ {
		switch w.rnd.IntN(6) {
		case 0: // it is on its way still
			w.late.Add(c)
		case 1: // its reply is lost
			if w.rnd.IntN(2) == 0 {
				w.late.Add(c)
			}
			if err := w.deliver(c); err != nil {
				return err
			}
		default:
			return w.deliver(c)
		}
		if sends == 3 || w.rnd.IntN(2) == 0 {
			w.doubt(c, flight)
			return nil
		}
	}
}

// doubt is for a request that may have run, or may run yet.
func (w *world) doubt(c copied, flight int) {
	s := c
	if c.script != "down" {
		s.script = "void"
	}
	s.old = w.rnd.IntN(2) == 0
	s.flight = w.lanes.Leave(flight, c.lane)
	w.unsettled = append(w.unsettled, s)
}

// check compares the latch with what it must be.
func (w *world) check() error {
	got := w.raw.DoMulti(context.Background(), w.raw.B().Get().Key(w.of.key).Build(), w.raw.B().Hgetall().Key(w.of.parties).Build(),
		w.raw.B().Get().Key(w.of.opened).Build())
	count, _ := got[0].AsInt64()
	parties, err := got[1].AsStrMap()
	require.NoError(w.t, err)
	delete(parties, "")
	opened, _ := got[2].AsInt64()
	switch rose := opened > w.opened; {
	case count != w.count:
		return fmt.Errorf("the count is %d, not %d", count, w.count)
	case !slices.Equal(slices.Sorted(maps.Keys(parties)), slices.Sorted(maps.Keys(w.parties))):
		return fmt.Errorf("the parties are %v, not %v", parties, w.parties)
	case rose != (w.seen["opened"] > w.seen["noted"]):
		return fmt.Errorf("it opened at %d, and now at %d, of %d times", w.opened, opened, w.seen["opened"])
	}
	w.opened, w.seen["noted"] = opened, w.seen["opened"]
	return nil
}

// run makes steps until something is wrong.
func (w *world) run(steps int) error {
	for i := range steps {
		err := w.step()
		if err == nil {
			err = w.check()
		}
		if err != nil {
			return fmt.Errorf("after %d steps: %w", i+1, err)
		}
	}
	for len(w.unsettled) > 0 {
		if err := w.settle(0); err != nil {
			return err
		}
	}
	for _, c := range w.late {
		if err := w.deliver(c); err != nil {
			return err
		}
	}
	for number := range w.did {
		if _, ran := w.said[number]; !ran {
			return fmt.Errorf("count down %d has not run", number)
		}
	}
	return w.check()
}

func TestEachCountDownCountsOnceWhateverArrivesTwiceOrLate(t *testing.T) {
	t.Parallel()
	redistest.EachSeed(t, func(t *testing.T, seed uint64, steps int) {
		w := newWorld(t, seed, scriptBodies())
		require.NoError(t, w.run(steps))
		for _, what := range []string{"again", "late", "void", "opened", "overdue"} {
			require.NotZero(t, w.seen[what], what)
		}
	})
}

// TestTheModelSeesWhatItIsThereFor: the check above would be worth nothing if it
// could not fail.
func TestTheModelSeesWhatItIsThereFor(t *testing.T) {
	t.Parallel()
	redistest.SeesMutations(t, scriptBodies, map[string]redistest.Mutation{
		"counts again at a second run": {"down", "local answer = known()\n", "local answer = nil\n"},
		"an old copy counts":           {"down", "return {-1}", "return nil"},
		"a party counts twice":         {"down", "'1') == 1", "'1') >= 0"},
		"parties of before":            {"down", "- 1 > set then", "- 1 > set + 100 then"},
		"one too few":                  {"down", "math.max(now - tonumber(ARGV[i]), 0)", "math.max(now - math.min(tonumber(ARGV[i]), 2), 0)"},
		"below zero":                   {"down", "math.max(now - tonumber(ARGV[i]), 0)", "now - tonumber(ARGV[i])"},
		"an opening that nobody sees":  {"down", "opened() + 1)", "0)), 'PX', 1) local _ = (opened()"},
		"counts in a later arming":     {"down", "if age > 0 then", "if false then"},
		"what Java left stays":         {"down", "redis.call('del', KEYS[4], KEYS[5]) -- which an", "-- which an"},
		"an old copy arms":             {"arm", "return {-1}", "return nil"},
		"arms what is armed":           {"arm", "elseif there then", "elseif false then"},
		"keeps the parties":            {"delete", "redis.call('del', KEYS[4], KEYS[5])\n\tredis", "redis"},
		"deletes twice":                {"delete", "local answer = known()\n", "local answer = nil\n"},
		"a void that leaves nothing":   {"void", "redis.call('set', KEYS[1], ARGV[1] .. ' 0 void', 'PX', ARGV[2])", ""},
	}, func(t *testing.T, seed uint64, bodies map[string]string, steps int) error {
		return newWorld(t, seed, bodies).run(steps)
	})
}
