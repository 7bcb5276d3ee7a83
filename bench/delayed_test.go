package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/queue"
)

// delayedRows: elements of 64 bytes that wait at the same time, and are due in the order of their offers, but for what
// many who offer at once do to that.
var delayedRows = []row{
	{"delayed queue, 1,000,000 elements due at 50,000/s, lateness p99", "ms", goal{atMost: 20}, millionDelayed((*delaying).lateness)},
	{"delayed queue, 1,000,000 elements due at 50,000/s, server for each that is moved", "us", goal{atMost: 3}, millionDelayed((*delaying).cost)},
}

// duePerSecond is how many are due in a second.
const duePerSecond = 50_000

// delaying is a run of it.
type delaying struct {
	late    []time.Duration
	scripts time.Duration // that the server spent in scripts meanwhile
	all     time.Duration // its CPU, with who takes
	largest int64         // how many waited
}

func (d *delaying) lateness() float64 {
	slices.Sort(d.late)
	return float64(d.late[len(d.late)*99/100].Microseconds()) / 1e3
}

func (d *delaying) cost() float64 {
	return float64(d.scripts.Nanoseconds()) / 1e3 / float64(len(d.late))
}

func (d *delaying) note() string {
	slices.Sort(d.late)
	return fmt.Sprintf("%d waited; late by %v in the middle, %v at most; %.2g us in the move for each, %.2g us of CPU with who takes it",
		d.largest, d.late[len(d.late)/2].Round(10*time.Microsecond), d.late[len(d.late)-1].Round(10*time.Microsecond),
		d.cost(), float64(d.all.Nanoseconds())/1e3/float64(len(d.late)))
}

func millionDelayed(figure func(*delaying) float64) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		var d delaying
		ours := func(time.Duration) (float64, error) {
			d = delaying{}
			if err := d.run(t, s); err != nil {
				return 0, err
			}
			return figure(&d), nil
		}
		return sides{ours: ours, note: d.note}
	}
}

// run lets elements wait, and takes them when they have been moved.
func (d *delaying) run(t *testing.T, s *redistest.Server) error {
	ctx, raw := t.Context(), s.Client(t)
	c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
	if err != nil {
		return err
	}
	defer func() { _ = c.Close(context.Background()) }()
	q := rueidisson.DelayedQueue[string](c, "million delayed")
	first := time.Now().Add(time.Duration(million())*20*time.Microsecond + time.Second)
	if err := fillDelayed(ctx, q, first); err != nil {
		return err
	}
	if d.largest, err = q.Len(ctx); err != nil {
		return err
	}
	if time.Now().After(first) {
		return errors.New("it took too long to fill it")
	}
	scripts, all, err := spent(ctx, raw)
	if err != nil {
		return err
	}
	for len(d.late) < million() {
		some, err := q.Queue().PollN(ctx, 1000)
		if errors.Is(err, queue.ErrEmpty) {
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			return err
		}
		now := time.Now()
		for _, v := range some {
			ms, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
			if err != nil {
				return err
			}
			d.late = append(d.late, now.Sub(time.UnixMilli(ms)))
		}
	}
	scriptsAfter, allAfter, err := spent(ctx, raw)
	d.scripts, d.all = scriptsAfter-scripts, allAfter-all
	return err
}

// fillDelayed offers elements that are due one after the other, from first on.
func fillDelayed(ctx context.Context, q *queue.DelayedQueue[string], first time.Time) error {
	const offering = 256
	var all sync.WaitGroup
	failed := make(chan error, offering)
	var next atomic.Int64
	for range offering {
		all.Go(func() {
			for i := next.Add(1) - 1; i < int64(million()); i = next.Add(1) - 1 {
				due := first.Add(time.Duration(i) * time.Second / duePerSecond)
				if _, err := q.Offer(ctx, fmt.Sprintf("%64d", due.UnixMilli()), time.Until(due)); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	close(failed)
	return <-failed
}

// spent is how long the server was in scripts, and its CPU.
func spent(ctx context.Context, raw rueidis.Client) (scripts, all time.Duration, err error) {
	text, err := raw.Do(ctx, raw.B().Info().Section("commandstats").Build()).ToString()
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(text) {
		if name, rest, _ := strings.Cut(strings.TrimSpace(line), ":"); name == "cmdstat_evalsha" || name == "cmdstat_eval" {
			_, usec, _ := strings.Cut(rest, "usec=")
			usec, _, _ = strings.Cut(usec, ",")
			n, err := strconv.ParseInt(usec, 10, 64)
			if err != nil {
				return 0, 0, err
			}
			scripts += time.Duration(n) * time.Microsecond
		}
	}
	all, err = usedCPU(raw)
	return scripts, all, err
}
