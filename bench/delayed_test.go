package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
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
	q := queue.NewDelayed[string](c, "million delayed")
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
func fillDelayed(ctx context.Context, q *queue.Delayed[string], first time.Time) error {
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

// mixedRows: elements of 64 bytes that wait with mixed delays, in the own format and in Redisson's, which has the server
// walk a list to each.
func mixedRows() (rows []row) {
	for _, n := range []int{1000, 10_000, 100_000} {
		waiting := fmt.Sprintf("delayed queue, %d with mixed delays, server for ", n)
		rows = append(rows,
			row{waiting + "a removal, by Redisson's format", "us", goal{}, mixedFormats(n, (*mixed).remove)},
			row{waiting + "each that is moved, by Redisson's format", "us", goal{}, mixedFormats(n, (*mixed).move)})
	}
	return rows
}

// mixedWork does something to a queue that is filled, and returns to how many elements.
type mixedWork func(m *mixed, ctx context.Context, q *queue.Delayed[string]) (int, error)

func mixedFormats(n int, does mixedWork) func(*testing.T, *redistest.Server) sides {
	return func(t *testing.T, s *redistest.Server) sides {
		m := mixed{n: min(n, million()/10)}
		return sides{
			ours: m.measured(t, s, does),
			base: m.measured(t, s, does, queue.WithRedissonFormat()),
			long: true,
		}
	}
}

// mixed is a delayed queue with mixed delays.
type mixed struct {
	n   int
	due time.Time // of those that are moved
}

const (
	mixedMoved   = 100
	mixedRemoved = 20
)

// measured returns the time that the server spends in scripts for each element.
func (m mixed) measured(t *testing.T, s *redistest.Server, does mixedWork, opts ...queue.Option) measure {
	return func(time.Duration) (float64, error) {
		m := m // is filled anew
		ctx, raw := t.Context(), s.Client(t)
		c, err := rueidisson.New(connection(s.Addr()), rueidisson.WithCodec(codec.Text))
		if err != nil {
			return 0, err
		}
		defer func() { _ = c.Close(context.Background()) }()
		q := queue.NewDelayed[string](c, "mixed delayed", opts...)
		defer func() { _, _ = q.Delete(context.Background()); _, _ = q.Queue().Delete(context.Background()) }()
		for lead := 200*time.Millisecond + time.Duration(m.n)*50*time.Microsecond; time.Until(m.due) < 0; lead *= 2 {
			if _, err := q.Delete(ctx); err != nil { // what was filled too slowly
				return 0, err
			}
			if _, err := q.Queue().Delete(ctx); err != nil {
				return 0, err
			}
			m.due = time.Now().Add(lead)
			if err := m.fill(ctx, q); err != nil {
				return 0, err
			}
		}
		before, _, err := spent(ctx, raw)
		if err != nil {
			return 0, err
		}
		did, err := does(&m, ctx, q)
		if err != nil {
			return 0, err
		}
		after, _, err := spent(ctx, raw)
		return float64((after - before).Nanoseconds()) / 1e3 / float64(did), err
	}
}

func mixedText(i int) string { return fmt.Sprintf("%64d", i) }

// fill offers elements that are due in one to two hours, and those that are moved, which are due soon and stand between them.
func (m *mixed) fill(ctx context.Context, q *queue.Delayed[string]) error {
	const offering = 256
	var all sync.WaitGroup
	failed := make(chan error, offering)
	var next atomic.Int64
	for range offering {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < m.n; i = int(next.Add(1)) - 1 {
				delay := time.Hour + rand.N(time.Hour)
				if i%(m.n/mixedMoved) == m.n/mixedMoved/2 {
					delay = max(0, time.Until(m.due)) // one that is over is filled anew
				}
				if _, err := q.Offer(ctx, mixedText(i), delay); err != nil {
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

func (m *mixed) remove(ctx context.Context, q *queue.Delayed[string]) (int, error) {
	for i := range mixedRemoved {
		if n, err := q.Remove(ctx, mixedText(i*(m.n/mixedRemoved)), 1); err != nil || n != 1 {
			return 0, fmt.Errorf("%d were removed: %w", n, err)
		}
	}
	return mixedRemoved, nil
}

// move waits until the client has moved what is due.
func (m *mixed) move(ctx context.Context, q *queue.Delayed[string]) (int, error) {
	time.Sleep(time.Until(m.due))
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		switch n, err := q.Queue().Len(ctx); {
		case err != nil || n == mixedMoved:
			return mixedMoved, err
		case time.Now().After(end):
			return 0, fmt.Errorf("%d of %d were moved in a minute", n, mixedMoved)
		}
	}
}
