package redistest

import (
	"context"
	"sync/atomic"

	"github.com/redis/rueidis"
)

// Weighed is a client that knows how many bytes the largest answer had, and all of them together.
type Weighed struct {
	rueidis.Client
	Most atomic.Int64
	All  atomic.Int64
}

func (w *Weighed) note(res rueidis.RedisResult) {
	msg, _ := res.ToMessage()
	n := weight(&msg)
	w.All.Add(n)
	for old := w.Most.Load(); n > old && !w.Most.CompareAndSwap(old, n); old = w.Most.Load() {
	}
}

func weight(m *rueidis.RedisMessage) (n int64) {
	if parts, err := m.ToArray(); err == nil {
		for i := range parts {
			n += weight(&parts[i])
		}
	}
	text, _ := m.ToString()
	return n + int64(len(text))
}

// Do returns that of the client.
func (w *Weighed) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	res := w.Client.Do(ctx, cmd)
	w.note(res)
	return res
}

// DoMulti returns that of the client.
func (w *Weighed) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	all := w.Client.DoMulti(ctx, cmds...)
	for _, res := range all {
		w.note(res)
	}
	return all
}
