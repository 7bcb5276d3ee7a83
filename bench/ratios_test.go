package bench

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/bench/internal/figures"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var (
	full   = flag.Bool("ratios", false, "TestRatios: measure; without it, only see that it works")
	rounds = flag.Int("rounds", sure, "TestRatios: slices of each side")
	slice  = flag.Duration("slice", 150*time.Millisecond, "TestRatios: length of a slice")
	only   = flag.String("only", "", "TestRatios: only rows whose name contains this")
	docs   = flag.String("docs", "", "TestRatios: folder of speed.json and speed.md, into which the rows are written")
	load   = flag.String("load", "", "TestRatios: what else the machine does, as the rows' notes tell")
)

// sure is how many slices of each side a row has that is open with fewer.
const sure = 31

// measure runs for about d and returns one number.
type measure func(d time.Duration) (float64, error)

// row compares two sides, or one side with a bound.
type row struct {
	name    string
	unit    string
	goal    goal
	prepare func(t *testing.T, s *redistest.Server) sides
}

// sides are what a row compares. Without a base, ours is compared with the goal
// itself.
type sides struct {
	ours, base measure
	note       func() string             // what else there is to say, afterwards
	long       bool                      // its slices are turns times as long, and fewer
	peer       bool                      // the base is another library: what it fails in, or does not end, is told and fails no test
	lost       func() (ours, base int64) // changes of what the locks guard that are lost, nil where none are counted
}

// goal bounds ours / base from above or from below; a zero bound only reports. A note of the row tells why the bound is
// what it is.
type goal struct {
	atMost, atLeast float64
	why             string
}

func (g goal) String() string {
	switch {
	case g.atMost > 0:
		return fmt.Sprintf("<= %g", g.atMost)
	case g.atLeast > 0:
		return fmt.Sprintf(">= %g", g.atLeast)
	}
	return "-"
}

// verdict says whether a result meets the goal. It is open where the middle half of the ratios contains the goal.
func (g goal) verdict(r figures.Result) string {
	bound, x := cmp.Or(g.atMost, g.atLeast), r.Ours
	if r.Base != 0 {
		x = r.Ratio
	}
	switch {
	case bound == 0:
		return ""
	case r.Low < bound && bound < r.High:
		return open
	case g.atMost > 0 && x > g.atMost, x < g.atLeast:
		return missed
	}
	return met
}

// Verdicts.
const met, missed, open = "met", "missed", "open"

// TestRatios prints how ours compares with the floors. Without -ratios it runs
// each comparison for a moment, several at the same time, so that they do not rot.
func TestRatios(t *testing.T) {
	if !*full {
		*rounds, *slice = 1, 50*time.Millisecond
	}
	results := map[string]figures.Result{}
	for _, r := range allRows() {
		if !strings.Contains(r.name, *only) || r.optional() {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			if !*full {
				t.Parallel()
				r.run(t, redistest.Start(t))
				return
			}
			results[r.name] = r.run(t, redistest.Start(t))
		})
	}
	if !*full {
		return
	}
	t.Log("ours and base: medians of all slices; ratio: the median of those of neighbouring slices, and their middle half\n" + aligned(cells(allRows(), results)))
	if *docs != "" && !t.Failed() {
		require.NoError(t, keep(*docs, results))
	}
}

// heading is a part of the page, and its rows.
type heading struct {
	name string
	rows []row
}

// headings are the parts of the page.
func headings() []heading {
	return []heading{
		{"Locks", slices.Concat(rows, clusterRows, startupRows, courtesyRows)},
		{"Several locks at once", severalRows},
		{"Fenced locks", fencedRows},
		{"Fair locks", fairRows},
		{"Elections", electionRows},
		{"Read-write locks", rwRows},
		{"Rate limiters", limiterRows},
		{"Semaphores", semaphoreRows},
		{"Permits", permitRows},
		{"Maps", mapRows},
		{"Values", slices.Concat(bucketRows, setRows, sortedSetRows, placeRows, seriesRows, bitsetRows, keyRows, gatheredRows)},
		{"Caches", cacheRows},
		{"Near caches", nearRows},
		{"Loaders and writers", loadingRows},
		{"Counters", counterRows},
		{"Bloom filters", bloomRows},
		{"Queues", slices.Concat(queueRows, manyNameRows, delayedRows, mixedRows())},
		{"Reliable queues", slices.Concat(reliableRows, transferRows)},
		{"Latches and barriers", latchRows},
		{"Topics", topicRows},
		{"Other libraries", peerRows},
		{"Redisson", redissonRows},
	}
}

func allRows() (all []row) {
	for _, h := range headings() {
		all = append(all, h.rows...)
	}
	return all
}

// optional says whether a run leaves the row out: it needs a JVM.
func (r row) optional() bool {
	return !*withRedisson && slices.ContainsFunc(redissonRows, func(o row) bool { return o.name == r.name })
}

func (r row) run(t *testing.T, s *redistest.Server) figures.Result {
	two := r.prepare(t, s)
	got := two.measured(t, *rounds)
	got.Row, got.Unit, got.Day = r.name, r.unit, time.Now().Format(time.DateOnly)
	if *full && *rounds < sure && r.goal.verdict(got) == open {
		more := two.measured(t, sure)
		got.Ours, got.Base, got.Ratio, got.Low, got.High, got.Slices = more.Ours, more.Base, more.Ratio, more.Low, more.High, more.Slices
	}
	notes := []string{*load, got.Note}
	if two.lost != nil {
		ours, base := two.lost()
		got.Lost = &[2]int64{ours, base}
		require.Zero(t, ours, "%s: changes that the lock guards are lost", r.name)
	}
	if two.note != nil {
		notes = append(notes, two.note())
	}
	got.Note = joined(notes...)
	return got
}

// measured measures both sides, or the one that there is.
func (two sides) measured(t *testing.T, n int) figures.Result {
	if two.base == nil {
		return figures.Result{Ours: rounded(median(take(t, n, two.ours)), 4), Slices: n}
	}
	a, b, err := two.interleave(t, n)
	if err != nil {
		return figures.Result{Ours: rounded(median(take(t, n, two.ours)), 4), Slices: n, Note: "the other library failed: " + err.Error()}
	}
	ratios := neighbours(a, b)
	return figures.Result{
		Ours: rounded(median(a), 4), Base: rounded(median(b), 4), Slices: len(a),
		Ratio: rounded(median(ratios), 3), Low: rounded(ratios[len(ratios)/4], 3), High: rounded(ratios[len(ratios)*3/4], 3),
	}
}

// rounded returns x with so many digits.
func rounded(x float64, digits int) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		panic(err) // of what FormatFloat has just written
	}
	return short
}

// neighbours are the ratios of slices that were measured next to each other: a
// machine that gets slower for a while slows both.
func neighbours(a, b []float64) []float64 {
	each := make([]float64, len(a))
	for i := range a {
		each[i] = a[i] / b[i]
	}
	slices.Sort(each)
	return each
}

// turns is how much longer a long slice is: each of several processes needs
// some turns in it.
const turns = 6

// interleave measures A B B A A B …, after one slice of each that does not
// count: whoever comes second in a slice does so as often as first. An error is that of another library.
func (two sides) interleave(t *testing.T, n int) (a, b []float64, err error) {
	ours, base := two.ours, two.base
	if two.long {
		n = max(1, n*2/turns)
		ours, base = stretched(ours), stretched(base)
	}
	first := func() { a = append(a, take(t, 1, ours)...) }
	second := func() {
		if !two.peer {
			b = append(b, take(t, 1, base)...)
		} else if x, failed := limited(base)(*slice); failed == nil {
			b = append(b, x)
		} else {
			err = failed
		}
	}
	first()
	second()
	a, b = nil, nil
	for i := 0; i < n && err == nil; i++ {
		if i%2 == 0 {
			first()
			second()
		} else {
			second()
			first()
		}
	}
	return a, b, err
}

// limited has a measure fail that does not end. What it does goes on.
func limited(m measure) measure {
	type answer struct {
		x   float64
		err error
	}
	return func(d time.Duration) (float64, error) {
		got := make(chan answer, 1)
		go func() {
			x, err := m(d)
			got <- answer{x, err}
		}()
		select {
		case a := <-got:
			return a.x, a.err
		case <-time.After(redistest.Soon):
			return 0, fmt.Errorf("no end within %v", redistest.Soon)
		}
	}
}

func stretched(m measure) measure {
	return func(d time.Duration) (float64, error) { return m(turns * d) }
}

func take(t *testing.T, n int, m measure) []float64 {
	t.Helper()
	var out []float64
	for range n {
		x, err := m(*slice)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, x)
	}
	return out
}

func median(x []float64) float64 {
	x = slices.Clone(x)
	slices.SortFunc(x, cmp.Compare[float64])
	if n := len(x); n%2 == 0 {
		return (x[n/2-1] + x[n/2]) / 2
	}
	return x[len(x)/2]
}

// microseconds turns pairs per second into the time of a pair.
func microseconds(m measure) measure {
	return func(d time.Duration) (float64, error) {
		perSecond, err := m(d)
		return 1e6 / perSecond, err
	}
}
