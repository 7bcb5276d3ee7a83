package rmap

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/send"
)

// getAsk is one Get. Those of one map that come while others are under way go
// out together.
type getAsk struct {
	key  string
	size *atomic.Int64 // of a value of the map, about
}

type getCall = combine.Call[getAsk, value]

// What goes out together is bounded: the server does nothing else meanwhile,
// and the first of them waits for the last.
const (
	mostGets  = 256
	firstGets = 10
	mostRead  = 256 << 10 // bytes, by what the values of the map were so far
)

func cutGets(waiting []*getCall) int { return cut(len(waiting), waiting[0].Ask.size) }

// cut returns how many of those that wait go out together. Of a map of which nothing is known
// they are few.
func cut(waiting int, size *atomic.Int64) int {
	n := min(waiting, mostGets)
	if size := size.Load(); size > 0 {
		return min(n, max(1, int(mostRead/size)))
	}
	return min(n, firstGets)
}

// sendGets reads the entries of a batch.
func (h *hub) sendGets(name string, _ int, batch []*getCall) (err error) {
	if err := h.e.Open(); err != nil {
		return err
	}
	if len(batch) == 1 {
		batch[0].Answer, err = found(h.e.Run(context.Background(), send.Expect(readOne, batch[0].Ask.size.Load()), []string{name}, []string{batch[0].Ask.key}))
	} else {
		err = h.sendMany(name, batch)
	}
	if err == nil {
		measure(batch[0].Ask.size, batch)
	}
	return err
}

func (h *hub) sendMany(name string, batch []*getCall) error {
	fields := make([]string, len(batch))
	for i, c := range batch {
		fields[i] = c.Ask.key
	}
	got, err := h.e.Run(context.Background(), readMany, []string{name}, fields)
	if err != nil {
		return err
	}
	all, err := got.ToArray()
	if err != nil {
		return err
	}
	for i := range all {
		if batch[i].Answer, err = element(&all[i]); err != nil {
			return err
		}
	}
	return nil
}

// measure smooths the size of the values of a map. Flights that land at the same
// time may lose one of their measures, which does no harm.
func measure[A any](size *atomic.Int64, batch []*combine.Call[A, value]) {
	sum, there := 0, 0
	for _, c := range batch {
		if c.Answer.there {
			sum, there = sum+len(c.Answer.text), there+1
		}
	}
	smooth(size, sum, there)
}

// smooth takes n values of so many bytes into their size.
func smooth(size *atomic.Int64, bytes, n int) {
	if n == 0 {
		return
	}
	old, now := size.Load(), int64(max(bytes/n, 1))
	if now > old {
		size.Store(now) // a large batch is late at once
		return
	}
	size.Store(old - (old-now)/8)
}

// readSome reads values, as many at once as an answer takes by what the values of the
// map were so far. Of a map of which nothing is known it is one, and then four times as
// many.
func (s *sender) readSome(ctx context.Context, names []string, most int, read func(some []string) ([]value, error)) ([]value, error) {
	all, size := make([]value, 0, len(names)), s.h.sizeOf(s.key)
	upTo := most
	if size.Load() == 0 {
		upTo = 1
	}
	for ; len(names) > 0; upTo = min(most, upTo*mostGrowth) {
		if ctx.Err() != nil {
			return nil, core.ContextError(ctx)
		}
		if err := s.h.e.Open(); err != nil {
			return nil, err
		}
		n := min(upTo, len(names))
		if size := size.Load(); size > 0 {
			n = min(n, int(max(mostPageBytes/size, 1)))
		}
		got, err := read(names[:n])
		if err != nil {
			return nil, err
		}
		bytes, there := 0, 0
		for _, v := range got {
			if v.there {
				bytes, there = bytes+len(v.text), there+1
			}
		}
		smooth(size, bytes, there)
		all, names = append(all, got...), names[n:]
	}
	return all, nil
}

// sizes is for how many maps the sizes of their values are kept apart. Others
// share them, as the memory of a process must not grow with every name.
const sizes = 256

func (h *hub) sizeOf(name string) *atomic.Int64 {
	return &h.sizes[maphash.String(h.seed, name)%sizes]
}

// expects returns how many bytes so many values of the map have, as far as is known.
func (s *sender) expects(n int) int64 { return int64(n) * s.h.sizeOf(s.key).Load() }
