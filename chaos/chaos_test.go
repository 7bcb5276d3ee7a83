package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

var (
	total  = flag.Duration("for", 0, "run rounds of 3 s for so long, in place of the short ones")
	only   = flag.String("only", "", "objects, nemeses and topologies, separated by commas")
	seeded = flag.Uint64("seed", 0, "repeat names, choices and the order of nemeses of a run; 0: others each time")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := known(*only); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	redistest.Main(m, redistest.Children{"user": user})
}

// known returns an error for words that are no object, no nemesis and no topology.
func known(words string) error {
	var all []string
	for _, o := range objects {
		all = append(all, o.name)
	}
	for _, n := range nemeses {
		all = append(all, n.name)
	}
	all = slices.AppendSeq(all, topologyNames)
	for _, word := range strings.Split(words, ",") {
		if word != "" && !slices.Contains(all, word) {
			return fmt.Errorf("chaos: %q is no object, no nemesis and no topology; there are: %s", word, strings.Join(all, ", "))
		}
	}
	return nil
}

// chosen reports whether -only leaves something out.
func chosen(name string, of func(yield func(string) bool)) bool {
	words := strings.Split(*only, ",")
	for other := range of {
		if slices.Contains(words, other) {
			return slices.Contains(words, name)
		}
	}
	return true
}

func objectNames(yield func(string) bool) {
	for _, o := range objects {
		if !yield(o.name) {
			return
		}
	}
}

func nemesisNames(yield func(string) bool) {
	for _, n := range nemeses {
		if !yield(n.name) {
			return
		}
	}
}

func seedOf(t *testing.T) uint64 {
	seed := *seeded
	for seed == 0 {
		seed = rand.Uint64N(1_000_000)
	}
	t.Logf("repeat with: go test ./chaos -run '^%s$' -args -seed %d", t.Name(), seed)
	return seed
}

// short is the length of a short round. An object that had no chance in its rounds has some again, so often at most.
var short = redistest.Scaled(time.Second)

const mostTries = 5

// versions are the servers of a run: the lanes of a short one have the first two.
var versions = redistest.Versions

// lanes is how many servers with processes of their own work at the same time.
const lanes = 2

// work has the objects of a short run that no lane has taken yet.
type work struct {
	mu   sync.Mutex
	left []object
}

// take returns the next object that the server of a lane has.
func (w *work) take(version string) (o object, is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.left, func(o object) bool { return o.on(version) })
	if i < 0 {
		return object{}, false
	}
	o = w.left[i]
	w.left = slices.Delete(w.left, i, i+1)
	return o, true
}

// TestNobodyHoldsWhatAnotherHolds runs short rounds: for each hold one of each group of nemeses, for each other object one of one group.
// With -for it runs all objects under all nemeses.
func TestNobodyHoldsWhatAnotherHolds(t *testing.T) {
	t.Parallel()
	seed := seedOf(t)
	if *total > 0 {
		began := time.Now()
		t.Run("storm", func(t *testing.T) {
			all := stages(seed)
			for i, stage := range all {
				t.Run(fmt.Sprint("stage ", i+1), func(t *testing.T) {
					for j, l := range stage {
						t.Run(l.at.name+" "+l.version, func(t *testing.T) {
							t.Parallel()
							a := newArenaOn(t, l.at, l.version)
							a.storm(t, rand.New(rand.NewPCG(seed, uint64(i*len(versions)+j))), *total/time.Duration(len(all)))
							a.left(t)
						})
					}
				})
			}
		})
		if *pagePath != "" && *only == "" { // else most cells would be empty
			require.NoError(t, shown.write(*pagePath, time.Since(began), seed))
		}
		if *only == "" {
			require.Empty(t, shown.without(), "nothing could have shown")
		}
		return
	}
	of := map[string]*work{}
	for _, at := range topologies {
		of[at.name] = &work{left: slices.DeleteFunc(slices.Clone(objects), func(o object) bool { return !at.has(o) || !chosen(o.name, objectNames) })}
	}
	for i, l := range shortLanes(seed) {
		t.Run(fmt.Sprint("lane ", i), func(t *testing.T) {
			t.Parallel()
			a, all := newArenaOn(t, l.at, l.version), of[l.at.name]
			for o, is := all.take(a.version); is; o, is = all.take(a.version) {
				a.short(t, o, rand.New(rand.NewPCG(seed, uint64(indexOf(o.name)))))
			}
			a.left(t)
		})
	}
}

// short runs rounds of an object until one had a chance.
func (a *arena) short(t *testing.T, o object, rnd *rand.Rand) {
	t.Helper()
	if len(a.aimed(o, rnd)) == 0 {
		t.Logf("what -only names has no meaning for %s, %s", o.name, a.at.name)
		return
	}
	chances := 0
	for tries := 0; chances == 0; {
		require.Less(t, tries, mostTries, "%s had no chance to fail", o.name)
		tries++
		for _, n := range a.aimed(o, rnd) {
			v := a.judged(t, o, n, short, rnd.Uint64())
			if chances += v.chances; v.unjudged > 0 {
				tries = 0
			}
		}
	}
}

// aimed returns a nemesis of each group of short rounds, for holds one that is aimed at what it breaks. For what is no hold it is one of
// one group, unless -only has chosen something. With a nemesis or a
// topology of -only it may be of any group.
func (a *arena) aimed(o object, rnd *rand.Rand) (some []nemesis) {
	anyGroup := a.at.name != onSingle || slices.ContainsFunc(nemeses, func(n nemesis) bool { return !chosen(n.name, nemesisNames) })
	from := []string{"network", "clients", "refusals"}
	if anyGroup {
		from = groups
	} else if o.do != nil && *only == "" {
		from = from[rnd.IntN(len(from)):][:1]
	}
	for _, group := range from {
		var of []nemesis
		for _, n := range nemeses {
			if n.group == group && (n.quick() || anyGroup) && a.fits(o, n) && chosen(n.name, nemesisNames) && (n.holdOn || o.do != nil || *only != "") {
				of = append(of, n)
			}
		}
		if len(of) > 0 {
			some = append(some, of[rnd.IntN(len(of))])
		}
	}
	return some
}

// storm runs all objects under all nemeses that have a meaning here, in any order, until the time is over.
func (a *arena) storm(t *testing.T, rnd *rand.Rand, d time.Duration) {
	t.Helper()
	end := time.Now().Add(d)
	a.each(t, rnd, end)
	type pair struct {
		o object
		n nemesis
	}
	var all []pair
	for _, o := range objects {
		for _, n := range nemeses {
			if chosen(o.name, objectNames) && chosen(n.name, nemesisNames) && a.fits(o, n) {
				all = append(all, pair{o, n})
			}
		}
	}
	for len(all) > 0 && time.Now().Before(end) {
		for _, i := range rnd.Perm(len(all)) {
			if !time.Now().Before(end) {
				return
			}
			a.judged(t, all[i].o, all[i].n, 3*time.Second, rnd.Uint64())
		}
	}
}

// each runs rounds until each object had a chance under each group of nemeses that needs one, or the time is over. The lanes of a
// topology share the work.
func (a *arena) each(t *testing.T, rnd *rand.Rand, end time.Time) {
	t.Helper()
	needs := a.at.needs
	for _, i := range rnd.Perm(len(objects) * len(needs)) {
		o, g := objects[i%len(objects)], needs[i/len(objects)]
		var of []nemesis
		for _, n := range nemeses {
			if n.group == g && n.quick() && a.fits(o, n) && chosen(n.name, nemesisNames) && (n.holdOn || o.do != nil) {
				of = append(of, n)
			}
		}
		for len(of) > 0 && chosen(o.name, objectNames) && shown.chances(a.at.placed(o), g) == 0 && time.Now().Before(end) {
			a.judged(t, o, of[rnd.IntN(len(of))], 3*time.Second, rnd.Uint64())
		}
	}
}

// judged runs a round, and fails the test if an oracle found something.
func (a *arena) judged(t *testing.T, o object, n nemesis, d time.Duration, seed uint64) verdict {
	t.Helper()
	v := a.round(o, n, d, seed)
	t.Logf("%-10s %-26s %5d calls, %5d done, %3d faults, %4d chances, slowest %v", o.name, n.name, v.calls, v.holds+v.done, v.faults, v.chances, v.slowest.Round(time.Millisecond))
	if len(v.counted) > 0 {
		first, _, _ := strings.Cut(v.counted[0], "\n")
		t.Logf("%s under %s: %d findings that are not promised, such as: %s", o.name, n.name, len(v.counted), first)
	}
	shown.add(a.at.placed(o), n, v)
	for _, found := range v.violations {
		t.Errorf("%s under %s: %s", o.name, n.name, found)
	}
	if v.holds+v.done == 0 && v.still > d/4 {
		t.Logf("%s under %s is not judged: a process stood still for %v", o.name, n.name, v.still)
		v.unjudged++
		return v
	}
	require.Positive(t, v.holds+v.done, "%s under %s: nothing was done", o.name, n.name)
	return v
}

// seed is a defect that is put into a script, and the round in which it has to be found.
type seed struct {
	name, old, new  string
	object, nemesis string
	says            string // what the oracle says that has to find it
}

var seeds = []seed{
	{"a release deletes the hash, whichever owner holds it", "redis.call('hdel', KEYS[1], ARGV[1]) == 0", "redis.call('del', KEYS[1]) == 0", "lock", "late-requests", "two or more trust"},
	{"a token does not rise", "local last = math.max(was, time[1] * 1000000 + time[2] - 1, tonumber(seen) or 0) + n",
		"local last = tonumber(n)", "fenced", "killed", "a token does not rise"},
	{"a guard accepts smaller tokens", "if less(ARGV[2], highest) or", "if false and", "fenced", "stopped", "order of tokens"},
	{"a Compute writes whatever is there", "if ARGV[3] == '1' and there ~= ARGV[4] or ARGV[3] == '0' and there or ARGV[3] == '2' then", "if ARGV[3] == '2' then",
		"compute", "cut", "two functions"},
	{"a grant takes half a token", "q = q + k * cost", "q = q + k * cost / 2", "limiter", "cut", "grants in"},
	{"a give that is sent again gives again", "if known then\n\treturn known < 0 and {-1} or {0, known}", "if false then\n\treturn {-1}", "semaphore", "lost-replies", "permits are free"},
	{"a release of a permit counts each time", "elseif held == 0 then\n\treturn -1", "elseif held == 2 then\n\treturn -1", "permits", "lost-replies", "permits are free"},
	{"a poll of a bounded queue frees a slot too many", "redis.call('incrby', KEYS[2], #got)", "redis.call('incrby', KEYS[2], #got + 1)", "bounded", "cut", "free slots"},
	{"a count down that is sent again counts again", "if answer then\n\treturn answer\nend\n-- First a write", "if false then\n\treturn answer\nend\n-- First a write",
		"latch", "lost-replies", "left, expected"},
	{"a message does not wait for its group", "if redis.call('hsetnx', head, group, id) == 1 or", "if true or", "jobs", "cut", "two or more trust"},
	{"a move takes elements that are not due", "redis.call('zrangebyscore', KEYS[5], '-inf', ARGV[1],", "redis.call('zrangebyscore', KEYS[5], '-inf', '+inf',", "delayed", "cut", "before it was due"},
	{"the last party has the number of the one before", "return {tonumber(gen), 1, n, -1}", "return {tonumber(gen), 1, n - 1, -1}", "barrier", "cut", "was given"},
	{"a topic counts too few messages that it drops", "redis.call('hincrby', KEYS[3], group.name, group.missed)", "redis.call('hincrby', KEYS[3], group.name, group.missed - 1)",
		"durable-topic", "cut", "were not heard"},
}

// TestSeedsAreFound: the oracles find each seed within 20 s of its nemesis.
func TestSeedsAreFound(t *testing.T) {
	if *total == 0 {
		t.Parallel() // else it comes before the storm, whose page tells of it
	}
	for lane := range lanes {
		t.Run(fmt.Sprint("lane ", lane), func(t *testing.T) {
			t.Parallel()
			a := newArena(t, "8.0")
			rnd := rand.New(rand.NewPCG(seedOf(t), 9))
			for i, s := range seeds {
				if i%lanes == lane && chosen(s.object, objectNames) {
					a.finds(t, s, rnd)
				}
			}
		})
	}
}

// finds has the proxies exchange the script, and runs rounds until an oracle finds it.
func (a *arena) finds(t *testing.T, s seed, rnd *rand.Rand) {
	t.Helper()
	a.server.FlushScripts() // so that the proxies see the bodies
	var exchanges []*redistest.Exchange
	for _, p := range append([]*redistest.Proxy{a.store}, a.proxies...) {
		exchanges = append(exchanges, p.Exchange(s.old, s.new))
	}
	n := nemeses[slices.IndexFunc(nemeses, func(n nemesis) bool { return n.name == s.nemesis })]
	ctx, cancel := context.WithTimeout(t.Context(), redistest.Scaled(20*time.Second))
	defer cancel()
	began := time.Now()
	for found := false; !found; {
		require.NoError(t, ctx.Err(), "no oracle has found it: %s", s.name)
		v := a.round(objects[indexOf(s.object)], n, short, rnd.Uint64())
		if found = slices.ContainsFunc(v.violations, func(x string) bool { return strings.Contains(x, s.says) }); found {
			shown.found(s.name, time.Since(began))
			t.Logf("%s: found after %v, with %d chances: %s", s.name, time.Since(began).Round(time.Millisecond), v.chances, v.violations[0])
		}
	}
	all := 0
	for _, x := range exchanges {
		n, err := x.Calls()
		require.NoError(t, err)
		all += n
		x.Cancel()
	}
	require.Positive(t, all, "no script contains %q", s.old)
}
