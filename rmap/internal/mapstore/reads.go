package mapstore

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/hashscan"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
)

// getAsk is one Get. Those of one map that come while others are under way go
// out together.
type getAsk struct {
	key  string
	size *paging.Size // of a value of the map
}

type getCall = combine.Call[getAsk, Value]

// What goes out together is bounded: the server does nothing else meanwhile,
// and the first of them waits for the last.
const (
	MostGets  = 256
	FirstGets = 10
	MostRead  = 256 << 10 // bytes, by what the values of the map were so far
)

// Cut returns how many waiting reads go out together. They are few while the sizes of the map's
// values are not known.
func Cut(waiting int, size *paging.Size) int {
	n := min(waiting, MostGets)
	if size := size.Load(); size > 0 {
		return min(n, max(1, int(MostRead/size)))
	}
	return min(n, FirstGets)
}

func (p *Plain) Get(ctx context.Context, key string) (Value, error) {
	return p.Hub.gets.Do(ctx, p.Key, getAsk{key, p.Hub.sizes.Of(p.Key)})
}

// sendGets reads the entries of a batch: one by HGET, several by HMGET.
func (h *Hub) sendGets(name string, _ int, batch []*getCall) (err error) {
	if err = h.Engine.Open(); err != nil {
		return err
	}
	size := batch[0].Ask.size
	if len(batch) == 1 {
		batch[0].Answer, err = found(h.Engine.Run(context.Background(), send.Expect(readOne, size.Load()), []string{name}, []string{batch[0].Ask.key}))
	} else {
		fields := make([]string, len(batch))
		for i, c := range batch {
			fields[i] = c.Ask.key
		}
		var got []Value
		got, err = values(h.Engine.Run(context.Background(), readMany, []string{name}, fields))
		for i := range got {
			batch[i].Answer = got[i]
		}
	}
	if err == nil {
		measure(size, batch)
	}
	return err
}

// measure takes the values of a batch into the size of the values of a map.
func measure[A any](size *paging.Size, batch []*combine.Call[A, Value]) {
	sum, there := 0, 0
	for _, c := range batch {
		if c.Answer.There {
			sum, there = sum+len(c.Answer.Text), there+1
		}
	}
	size.Saw(sum, there)
}

// MostInOne bounds what one command takes.
const MostInOne = 5000

func (p *Plain) GetMany(ctx context.Context, keys []string) ([]Value, error) {
	return p.ReadSome(ctx, keys, MostInOne, func(some []string) ([]Value, error) {
		return values(p.Hub.Engine.Run(ctx, send.Expect(readMany, p.expects(len(some))), []string{p.Key}, some))
	})
}

// ReadSome reads values. It asks for as many at once as an answer takes, judged by the map's
// values so far. While none is known it asks for one, and then for four times as many.
func (s *Sender) ReadSome(ctx context.Context, names []string, most int, read func(some []string) ([]Value, error)) ([]Value, error) {
	all, size := make([]Value, 0, len(names)), s.Hub.sizes.Of(s.Key)
	upTo := most
	if size.Load() == 0 {
		upTo = 1
	}
	for ; len(names) > 0; upTo = min(most, upTo*hashscan.MostGrowth) {
		if ctx.Err() != nil {
			return nil, core.ContextError(ctx)
		}
		if err := s.Hub.Engine.Open(); err != nil {
			return nil, err
		}
		n := min(upTo, len(names))
		if size := size.Load(); size > 0 {
			n = min(n, int(max(hashscan.MostBytes/size, 1)))
		}
		got, err := read(names[:n])
		if err != nil {
			return nil, err
		}
		bytes, there := 0, 0
		for _, v := range got {
			if v.There {
				bytes, there = bytes+len(v.Text), there+1
			}
		}
		size.Saw(bytes, there)
		all, names = append(all, got...), names[n:]
	}
	return all, nil
}

// expects returns how many bytes so many values of the map have, as far as is known.
func (s *Sender) expects(n int) int64 { return int64(n) * s.Hub.sizes.Of(s.Key).Load() }

// MostWritten bounds the bytes of one command of several entries: the server
// does nothing else meanwhile.
const MostWritten = 1 << 20

// CutPairs returns how much of pairs goes out as one.
func CutPairs(pairs []string) int {
	size := 0
	for i := 0; i < len(pairs); i += 2 {
		size += len(pairs[i]) + len(pairs[i+1])
		if i > 0 && (size > MostWritten || i+2 > MostInOne) {
			return i
		}
	}
	return len(pairs)
}
