package chaos

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// growing is how long a run takes at least that is judged by what it has more and more of.
const growing = 20 * time.Minute

// amount names a number that must not grow in a long run.
type amount struct {
	what  string
	least float64 // a smaller difference is none
}

var amounts = []amount{
	{"bytes in the heaps of the processes", 4 << 20},
	{"goroutines of the processes", 40},
	{"connections of the processes", 8},
	{"bytes of the server", 1 << 20},
	{"keys of the server", 50},
}

// stock has each of the amounts after a round.
type stock []float64

// takeStock asks the processes and the server.
func (a *arena) takeStock(ctx context.Context) (stock, error) {
	s := make(stock, len(amounts))
	for i, u := range a.users {
		is := sized(u)
		s[0] += float64(is.heap)
		s[1] += float64(is.goroutines)
		s[2] += float64(len(a.proxies[i].Conns()))
	}
	info, err := a.raw.Do(ctx, a.raw.B().Info().Section("memory").Build()).ToString()
	if err != nil {
		return nil, err
	}
	_, rest, _ := strings.Cut(info, "used_memory:")
	text, _, _ := strings.Cut(rest, "\r\n")
	if s[3], err = strconv.ParseFloat(text, 64); err != nil {
		return nil, err
	}
	keys, err := a.raw.Do(ctx, a.raw.B().Dbsize().Build()).AsInt64()
	s[4] = float64(keys)
	return s, err
}

// forget deletes all keys of a round of data: what else they would grow to hides the rest. The keys of holds go by themselves, so the
// number of keys is that of holds.
func (a *arena) forget(ctx context.Context, o object) error {
	if o.acquire != nil {
		return nil
	}
	for cursor := uint64(0); ; {
		page, err := a.raw.Do(ctx, a.raw.B().Scan().Cursor(cursor).Match(fmt.Sprintf("*%s-%d-*", a.name, a.rounds)).Count(1000).Build()).AsScanEntry()
		if err == nil && len(page.Elements) > 0 {
			err = a.raw.Do(ctx, a.raw.B().Unlink().Key(page.Elements...).Build()).Error()
		}
		if err != nil || page.Cursor == 0 {
			return err
		}
		cursor = page.Cursor
	}
}

// grows notes the amounts after a round of a long run.
func (a *arena) grows(o object) {
	if *total < growing || a.at.name != onSingle {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), redistest.Soon)
	defer cancel()
	err := a.forget(ctx, o)
	var s stock
	if err == nil {
		s, err = a.takeStock(ctx)
	}
	if err != nil {
		a.unknown++
		a.t.Logf("the amounts after a round of %s are not known: %v", o.name, err)
		return
	}
	a.samples = append(a.samples, s)
}

// mostGrowth is by how much the last quarter of a run may have more than the second.
const mostGrowth = 1.1

// leastSamples is from how many on they are judged.
const leastSamples = 40

// growth returns what a long run has more and more of. It is a finding, too, that most samples are missing.
func (a *arena) growth() []string {
	switch n := len(a.samples); {
	case a.unknown > n:
		return []string{fmt.Sprintf("the amounts of %d rounds are not known, and those of %d are", a.unknown, n)}
	case n < leastSamples:
		if *total >= growing {
			a.t.Logf("%s %s: growth is not judged: there are %d samples", a.at.name, a.version, n)
		}
		return nil
	}
	return risen(a.samples)
}

// risen returns the amounts that have grown: the median of the last quarter of the samples is above that of the second.
func risen(all []stock) (found []string) {
	quarter := len(all) / 4
	for i, of := range amounts {
		middle := func(some []stock) float64 {
			var values []float64
			for _, s := range some {
				values = append(values, s[i])
			}
			slices.Sort(values)
			return values[len(values)/2]
		}
		was, is := middle(all[quarter:2*quarter]), middle(all[3*quarter:])
		if is > was*mostGrowth && is-was > of.least {
			found = append(found, fmt.Sprintf("%s: %.0f in the last quarter of the run, after %.0f in the second", of.what, is, was))
		}
	}
	return found
}

func TestTheOracleOfGrowth(t *testing.T) {
	t.Parallel()
	samples := func(of func(i int) float64) (all []stock) {
		for i := range leastSamples {
			all = append(all, slices.Repeat([]float64{of(i)}, len(amounts)))
		}
		return all
	}
	for name, c := range map[string]struct {
		of   func(i int) float64
		want int
	}{
		"nothing":                   {func(int) float64 { return 0 }, 0},
		"the same":                  {func(int) float64 { return 1e8 }, 0},
		"it grows at first":         {func(i int) float64 { return 1e8 * float64(min(i, 10)) }, 0},
		"it grows":                  {func(i int) float64 { return 1e8 * float64(10+i) }, len(amounts)},
		"it shrinks":                {func(i int) float64 { return 1e8 * float64(100-i) }, 0},
		"once in a while":           {func(i int) float64 { return 1e8 * float64(1+i%5/4) }, 0},
		"a little":                  {func(i int) float64 { return 1e8 * (1 + float64(i)/1000) }, 0},
		"a few, where few are none": {func(i int) float64 { return float64(i / 10) }, 0},
	} {
		require.Len(t, risen(samples(c.of)), c.want, name)
	}
}
