package rmap

import (
	"context"
	"hash/maphash"
	"sync/atomic"

	"github.com/rueidisson/rueidisson/internal/combine"
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
	mostGets = 256
	mostRead = 256 << 10 // bytes, by what the values of the map were so far
)

func cutGets(waiting []*getCall) int { return cut(len(waiting), waiting[0].Ask.size) }

// cut is how many of those that wait go out together.
func cut(waiting int, size *atomic.Int64) int {
	n := min(waiting, mostGets)
	if size := size.Load(); size > 0 {
		n = min(n, max(1, int(mostRead/size)))
	}
	return n
}

// sendGets reads the entries of a batch.
func (h *hub) sendGets(name string, _ int, batch []*getCall) (err error) {
	if err := h.e.Open(); err != nil {
		return err
	}
	if len(batch) == 1 {
		batch[0].Answer, err = found(h.e.Run(context.Background(), hget, []string{name}, []string{batch[0].Ask.key}))
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
	got, err := h.e.Run(context.Background(), hmget, []string{name}, fields)
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
	sum := int64(0)
	for _, c := range batch {
		sum += int64(len(c.Answer.text))
	}
	old, now := size.Load(), sum/int64(len(batch))
	if now > old {
		size.Store(now) // a large batch is late at once
		return
	}
	size.Store(old - (old-now)/8)
}

// sizes is for how many maps the sizes of their values are kept apart. Others
// share them, as the memory of a process must not grow with every name.
const sizes = 256

func (h *hub) sizeOf(name string) *atomic.Int64 {
	return &h.sizes[maphash.String(h.seed, name)%sizes]
}
