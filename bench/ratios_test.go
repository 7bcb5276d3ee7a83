package bench

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/page"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var (
	full   = flag.Bool("ratios", false, "TestRatios: measure; without it, only see that it works")
	rounds = flag.Int("rounds", 31, "TestRatios: slices of each side")
	slice  = flag.Duration("slice", 150*time.Millisecond, "TestRatios: length of a slice")
	only   = flag.String("only", "", "TestRatios: only rows whose name contains this")
	into   = flag.String("page", "", "TestRatios: file to write the table into")
)

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
	note       func() string // what else there is to say, afterwards
	long       bool          // its slices are turns times as long, and fewer
}

// goal bounds ours / base from above or from below; a zero bound only reports.
type goal struct{ atMost, atLeast float64 }

func (g goal) String() string {
	switch {
	case g.atMost > 0:
		return fmt.Sprintf("<= %g", g.atMost)
	case g.atLeast > 0:
		return fmt.Sprintf(">= %g", g.atLeast)
	}
	return "-"
}

func (g goal) met(x float64) string {
	switch {
	case g.atMost == 0 && g.atLeast == 0:
		return ""
	case g.atMost > 0 && x > g.atMost, x < g.atLeast:
		return "MISSED"
	}
	return "yes"
}

// TestRatios prints how ours compares with the floors. Without -ratios it runs
// each comparison for a moment, several at the same time, so that they do not rot.
func TestRatios(t *testing.T) {
	if !*full {
		*rounds, *slice = 1, 50*time.Millisecond
	}
	table := [][]string{columns}
	for _, r := range allRows() {
		if !strings.Contains(r.name, *only) {
			continue
		}
		t.Run(r.name, func(t *testing.T) {
			if !*full {
				t.Parallel()
				r.run(t, redistest.Start(t))
				return
			}
			table = append(table, r.run(t, redistest.Start(t)))
		})
	}
	if !*full {
		return
	}
	t.Log("ours and base: medians of all slices; ratio: the median of those of neighbouring slices, and their middle half\n" + aligned(table))
	if *into != "" && !t.Failed() {
		if err := page.Write(*into, part, markdown(table)); err != nil {
			t.Fatal(err)
		}
	}
}

func allRows() []row {
	return slices.Concat(rows, clusterRows, startupRows, courtesyRows, severalRows, fencedRows, fairRows, electionRows, rwRows, limiterRows, semaphoreRows, permitRows, mapRows, cacheRows, nearRows, loadingRows, queueRows, manyNameRows, delayedRows, mixedRows(), reliableRows, latchRows, topicRows)
}

// columns are the heads of what run returns.
var columns = []string{"what", "unit", "ours", "base", "ratio", "middle half", "goal", "met", "note"}

func (r row) run(t *testing.T, s *redistest.Server) (cells []string) {
	two := r.prepare(t, s)
	if two.base == nil {
		x := median(take(t, *rounds, two.ours))
		cells = []string{r.name, r.unit, digits(x), "", "", "", r.goal.String(), r.goal.met(x), ""}
	} else {
		a, b := two.interleave(t)
		ratios := neighbours(a, b)
		ratio := median(ratios)
		cells = []string{r.name, r.unit, digits(median(a)), digits(median(b)), fmt.Sprintf("%.3g", ratio),
			middleHalf(ratios), r.goal.String(), r.goal.met(ratio), ""}
	}
	if two.note != nil {
		cells[len(cells)-1] = two.note()
	}
	return cells
}

func digits(x float64) string { return fmt.Sprintf("%.4g", x) }

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

func middleHalf(sorted []float64) string {
	n := len(sorted)
	return fmt.Sprintf("%.3g..%.3g", sorted[n/4], sorted[n*3/4])
}

// turns is how much longer a long slice is: each of several processes needs
// some turns in it.
const turns = 6

// interleave measures A B B A A B …, after one slice of each that does not
// count: whoever comes second in a slice does so as often as first.
func (two sides) interleave(t *testing.T) (a, b []float64) {
	n, ours, base := *rounds, two.ours, two.base
	if two.long {
		n = max(1, n*2/turns)
		ours, base = stretched(ours), stretched(base)
	}
	take(t, 1, ours)
	take(t, 1, base)
	for i := range n {
		if i%2 == 0 {
			a = append(a, take(t, 1, ours)...)
			b = append(b, take(t, 1, base)...)
		} else {
			b = append(b, take(t, 1, base)...)
			a = append(a, take(t, 1, ours)...)
		}
	}
	return a, b
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
