package chaos

import (
	"context"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/list"
)

// useList puts an element somewhere into a list, or removes that of an index.
func useList(ctx context.Context, w *worker, _ context.Context, name string) {
	l, v := list.New[int64](w.c, name), w.fresh(w.r.proc)
	switch w.rnd.IntN(6) {
	case 0:
		_ = w.operation(name, "offer", v, func() (int64, error) { _, err := l.Append(ctx, v); return v, err })
	case 1:
		_ = w.operation(name, "offer", v, func() (int64, error) { _, err := l.Prepend(ctx, v); return v, err })
	case 2:
		_ = w.operation(name, "offer", v, func() (int64, error) {
			did, err := l.Insert(ctx, 1, v)
			return v, happened(did, err)
		})
	default:
		i := int64(w.rnd.IntN(4)) - 2
		_ = w.operation(name, "poll", 0, func() (int64, error) {
			v, had, err := l.RemoveAt(ctx, i)
			return v, happened(had, err)
		})
	}
}

// checkList judges what was put and removed as it does elements of a queue.
func checkList(ctx context.Context, c *rueidisson.Client, name string, events []event) (found []string, chances int) {
	all := func(ctx context.Context) ([]int64, error) { return list.New[int64](c, name).Range(ctx, 0, -1) }
	_, found, chances = drained(ctx, all, name, events)
	return found, chances
}
