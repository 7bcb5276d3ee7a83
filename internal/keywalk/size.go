package keywalk

import (
	"context"

	"github.com/rueidisson/rueidisson/internal/locking"
)

// Size returns how many keys all masters say that they have. Who cannot say so now is asked again for as long as one send may
// last.
func Size(ctx context.Context, e *locking.Engine) (n int64, err error) {
	w := &walk{e: e}
	for began := e.Now().Mono; ; {
		n, err = w.size(ctx)
		if err == nil || !Passes(err) || e.Now().Mono-began > e.SendTimeout() {
			return n, err
		}
		e.Topo.MarkStale()
		if err := w.rest(ctx); err != nil {
			return 0, err
		}
	}
}

func (w *walk) size(ctx context.Context) (all int64, err error) {
	if err := w.usable(ctx); err != nil {
		return 0, err
	}
	bound, cancel := w.bounded(ctx)
	defer cancel()
	masters, err := w.e.Masters(bound)
	if err != nil {
		return 0, w.ended(ctx, err)
	}
	for _, node := range masters {
		n, err := node.Do(bound, node.B().Dbsize().Build()).AsInt64()
		if err != nil {
			return 0, w.ended(ctx, err)
		}
		all += n
	}
	return all, nil
}
