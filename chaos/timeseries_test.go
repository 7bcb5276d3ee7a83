package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/timeseries"
)

func seriesOf(c *rueidisson.Client, name string) *timeseries.Series[int64] {
	return timeseries.New[int64](c, name)
}

func seriesKeys(name string) []string { return []string{name, "redisson__ts_ttl:{" + name + "}"} }

// addOrPopTimed adds a number to a time series, at the time that it is, for ever or for a moment, or takes one, or looks for one that
// nobody has added.
func addOrPopTimed(ctx context.Context, w *worker, _ context.Context, name string) {
	s, v := seriesOf(w.c, name), w.fresh(w.r.proc)
	at := time.UnixMilli(v)
	switch w.rnd.IntN(7) {
	case 0, 1:
		w.exchange(name, "add", v, func() ([]int64, error) { return nil, s.Add(ctx, at, v, timeseries.WithLabel(fmt.Sprint(v))) })
	case 2:
		w.exchange(name, "brief", v, func() ([]int64, error) { return nil, s.Add(ctx, at, v, timeseries.WithTTL(50*time.Millisecond)) })
	case 3:
		w.exchange(name, "take", 0, func() ([]int64, error) { return wholeOnes(s.PopFirst(ctx, 1)) })
	case 4:
		w.exchange(name, "take", 0, func() ([]int64, error) { return wholeOnes(s.PopLast(ctx, 1)) })
	case 5:
		some, err := s.First(ctx, 1)
		if err != nil || len(some) == 0 {
			return
		}
		w.exchange(name, "take", some[0].Value, func() ([]int64, error) {
			was, err := s.Remove(ctx, some[0].Time)
			return []int64{some[0].Value}, happened(was, err)
		})
	case 6:
		w.exchange(name, "has", v, func() ([]int64, error) {
			_, there, err := s.Get(ctx, at)
			return nil, happened(there, err)
		})
	}
}

// wholeOnes returns the values of entries, each of which has its own time, and its own label or none.
func wholeOnes(all []timeseries.Entry[int64], err error) (vs []int64, _ error) {
	for _, e := range all {
		if e.Time.UnixMilli() != e.Value || e.Label != "" && e.Label != fmt.Sprint(e.Value) {
			return vs, fmt.Errorf("the entry %x has the time %x and the label %s", e.Value, e.Time.UnixMilli(), e.Label)
		}
		vs = append(vs, e.Value)
	}
	return vs, err
}

// poppedTimed judges what is left of a time series.
func poppedTimed(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	s := seriesOf(c, name)
	var all []timeseries.Entry[int64]
	for e, err := range s.All(ctx) {
		if err != nil {
			return []string{err.Error()}, 0
		}
		if len(all) > 0 && e.Time.Before(all[len(all)-1].Time) {
			found = append(found, fmt.Sprintf("%x comes after %x", e.Value, all[len(all)-1].Value))
		}
		all = append(all, e)
	}
	left, err := wholeOnes(all, nil)
	if err != nil {
		return []string{err.Error()}, 0
	}
	more, chances := setHistory(operations(events, name, ""), left)
	return append(found, more...), chances
}
